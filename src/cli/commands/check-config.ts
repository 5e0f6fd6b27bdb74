import type { Command } from 'commander';
import type { ConfigValue } from '../../config/config.ts';
import { reloadedTexts } from '../../config/reload-plan.ts';
import { checkedConfigFrom, checkInstallation, checkSkuMaps } from '../checked-config.ts';
import { addAnswerOptions, dataDirOf, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { plainLines, writeAnswer, writeNotes } from '../output.ts';
import { renderTable } from '../table.ts';
import { reloadWorker } from '../worker-client.ts';

export function addCheckConfig(program: Command, context: CliContext): void {
  const command = program
    .command('check-config')
    .option('--explain', 'print every value and its source; secrets are masked')
    .option(
      '--reload',
      'make the running worker read, check and use the configuration, as SIGHUP does',
    );
  addAnswerOptions(command).action(
    async (options: ConfigOptions & { explain?: boolean; reload?: boolean }) => {
      if (options.reload === true) return await reload(options, context);
      const loaded = checkedConfigFrom(options);
      checkSkuMaps(loaded);
      checkInstallation(loaded);
      const { file, warnings, values } = loaded;
      const notes = warnings.map((warning) => `warning: ${warning}`);
      writeNotes(context, options, notes);
      const table = options.explain
        ? renderTable(['KEY', 'VALUE', 'SOURCE'], values.map(valueRow))
        : '';
      const report = { file, valid: true, warnings, ...(options.explain ? { values } : {}) };
      writeAnswer(context, options, report, `${table}${file} is valid\n`);
    },
  );
}

async function reload(options: ConfigOptions, context: CliContext): Promise<void> {
  const { needRestart, ...report } = await reloadWorker({ dataDir: await dataDirOf(options) });
  const notes = report.warnings.map((warning) => `warning: ${warning}`);
  writeNotes(context, options, notes);
  const texts = plainLines(reloadedTexts({ ...report, needRestart }));
  writeAnswer(context, options, { ...report, need_restart: needRestart }, texts);
}

function valueRow(value: ConfigValue): string[] {
  const shown = typeof value.value === 'string' ? value.value : JSON.stringify(value.value);
  return [value.path, shown, value.place === '' ? value.source : value.place];
}
