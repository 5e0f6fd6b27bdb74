import type { Command } from 'commander';
import { createLogger } from '../../ops/logger.ts';
import { programVersion } from '../../ops/program-version.ts';
import { addConfigOptions, checkedConfigFrom, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { runWorker } from '../run-worker.ts';

export function addRun(program: Command, context: CliContext): void {
  const command = program
    .command('run')
    .description('run the worker: take in orders, buy each exactly once, write the results back');
  addConfigOptions(command).action(async (options: ConfigOptions) => {
    const { config, warnings, digests } = configFrom(options);
    const { level, format } = config.log;
    const logger = createLogger({ level, format, version: programVersion, instance: config.instance }, context.stdout);
    for (const warning of warnings) logger.warn(warning);
    const reading = { digests, load: () => checkedConfigFrom(options) };
    await runWorker({ config, logger, reading }, context);
  });
}
