import type { Command } from 'commander';
import { addAnswerOptions, dataDirOf, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { plainLines, writeAnswer, writeNotes } from '../output.ts';
import { reloadWorker } from '../worker-client.ts';

export function addReload(program: Command, context: CliContext): void {
  const command = program.command('reload');
  addAnswerOptions(command).action(async (options: ConfigOptions) => {
    const report = await reloadWorker({ dataDir: await dataDirOf(options) });
    const { applied, need_restart: needRestart, warnings } = report;
    writeNotes(
      context,
      options,
      warnings.map((warning) => `warning: ${warning}`),
    );
    const lines = [
      applied.length === 0 ? 'nothing has changed that can be used now' : `in use now: ${applied.join(', ')}`,
      ...(needRestart.length === 0 ? [] : [`in use after a restart: ${needRestart.join(', ')}`]),
    ];
    writeAnswer(context, options, report, plainLines(lines));
  });
}
