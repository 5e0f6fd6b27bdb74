import type { Command } from 'commander';
import { stringify } from 'yaml';
import { readWire } from '../../wholesale/connector/wire.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';

export function addWire(program: Command, context: CliContext): void {
  const command = program
    .command('wire')
    .description('print the wire mapping that is used: paths and names that the specification does not show')
    .option('--json', 'print JSON');
  addConfigOptions(command).action((options: ConfigOptions & { json?: boolean }) => {
    const wire = readWire(configFrom(options).config.wholesale.wire);
    if (options.json) {
      context.stdout.write(`${JSON.stringify(wire)}\n`);
      return;
    }
    // As it would stand in the config file: what is printed can be copied, and changed there.
    context.stdout.write(stringify({ wholesale: { wire } }, { lineWidth: 120 }));
  });
}
