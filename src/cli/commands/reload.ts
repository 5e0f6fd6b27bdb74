import type { Command } from 'commander';
import { reloadedTexts } from '../../config/reload-plan.ts';
import { addAnswerOptions, dataDirOf, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { plainLines, writeAnswer, writeNotes } from '../output.ts';
import { reloadWorker } from '../worker-client.ts';

export function addReload(program: Command, context: CliContext): void {
  const command = program.command('reload');
  addAnswerOptions(command).action(async (options: ConfigOptions) => {
    const { needRestart, ...report } = await reloadWorker({ dataDir: await dataDirOf(options) });
    const notes = report.warnings.map((warning) => `warning: ${warning}`);
    writeNotes(context, options, notes);
    const texts = plainLines(reloadedTexts({ ...report, needRestart }));
    writeAnswer(context, options, { ...report, need_restart: needRestart }, texts);
  });
}
