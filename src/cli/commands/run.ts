import type { Command } from 'commander';
import { checkedConfigFrom } from '../checked-config.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import { loggerFor } from '../command-logger.ts';
import type { CliContext } from '../context.ts';
import { runWorker } from '../run-worker.ts';

export function addRun(program: Command, context: CliContext): void {
  const command = program.command('run');
  addConfigOptions(command).action(async (options: ConfigOptions) => {
    const loaded = await configFrom(options);
    const { config, warnings } = loaded;
    const logger = loggerFor(config, context.stdout);
    for (const warning of warnings) logger.warn(warning);
    const reading = { ...loaded, load: () => checkedConfigFrom(options) };
    await runWorker({ config, logger, reading }, context);
  });
}
