import type { Command } from 'commander';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { askForReload } from '../worker-client.ts';
import { plainText } from '../output.ts';

export function addReload(program: Command, context: CliContext): void {
  const command = program
    .command('reload')
    .description('have the running worker read its configuration again, as SIGHUP does')
    .option('--json', 'print JSON');
  addConfigOptions(command).action(async (options: ConfigOptions & { json?: boolean }) => {
    const report = await askForReload(configFrom(options).config);
    if (options.json) {
      context.stdout.write(`${JSON.stringify(report)}\n`);
      return;
    }
    const { applied, need_restart: needRestart, warnings } = report;
    for (const warning of warnings) context.stderr.write(`warning: ${plainText(warning)}\n`);
    const lines = [
      applied.length === 0 ? 'nothing is in use that was not before' : `in use now: ${applied.join(', ')}`,
      ...(needRestart.length === 0 ? [] : [`in use after a restart only: ${needRestart.join(', ')}`]),
    ];
    context.stdout.write(lines.map((line) => `${plainText(line)}\n`).join(''));
  });
}
