import type { Command } from 'commander';
import { stringify } from 'yaml';
import { readWire } from '../../wholesale/connector/wire.ts';
import { addAnswerOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { writeAnswer } from '../output.ts';
import { addWireTest } from './wire-test.ts';

export function addWire(program: Command, context: CliContext): void {
  const command = program.command('wire');
  addWireTest(command, context);
  addAnswerOptions(command).action(async (options: ConfigOptions) => {
    const wire = readWire((await configFrom(options)).config.wholesale.wire);
    // As a section of the config file, to copy and change there.
    writeAnswer(context, options, wire, stringify({ wholesale: { wire } }, { lineWidth: 120 }));
  });
}
