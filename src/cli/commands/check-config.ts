import type { Command } from 'commander';
import type { ConfigValue } from '../../config/config.ts';
import { checkedConfigFrom, checkInstallation, checkSkuMaps } from '../checked-config.ts';
import { addAnswerOptions, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { writeAnswer, writeNotes } from '../output.ts';
import { renderTable } from '../table.ts';

export function addCheckConfig(program: Command, context: CliContext): void {
  const command = program
    .command('check-config')
    .option('--explain', 'print every value and its source; secrets are masked');
  addAnswerOptions(command).action((options: ConfigOptions & { explain?: boolean }) => {
    const loaded = checkedConfigFrom(options);
    checkSkuMaps(loaded);
    checkInstallation(loaded);
    const { file, warnings, values } = loaded;
    const notes = warnings.map((warning) => `warning: ${warning}`);
    writeNotes(context, options, notes);
    const table = options.explain ? renderTable(['KEY', 'VALUE', 'SOURCE'], values.map(valueRow)) : '';
    const report = { file, valid: true, warnings, ...(options.explain ? { values } : {}) };
    writeAnswer(context, options, report, `${table}${file} is valid\n`);
  });
}

function valueRow(value: ConfigValue): string[] {
  const shown = typeof value.value === 'string' ? value.value : JSON.stringify(value.value);
  return [value.path, shown, value.place === '' ? value.source : value.place];
}
