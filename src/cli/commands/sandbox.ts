import type { Command } from 'commander';
import { codeOf, OrderSyncError } from '../../core/order-sync-error.ts';
import { listenForStop } from '../../ops/signals.ts';
import {
  createSandbox,
  type Sandbox,
  type SandboxOptions,
} from '../../../sandbox/create-sandbox.ts';
import { loggerFor } from '../command-logger.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { wholeNumber } from '../option-values.ts';
import { aborted } from '../run-worker.ts';
import { readSandboxSection, type SandboxSection } from '../sandbox-section.ts';

interface ServeOptions extends ConfigOptions {
  readonly listen?: string;
  readonly seed?: number;
  readonly reset?: boolean;
}

export function addSandbox(program: Command, context: CliContext): void {
  const command = program
    .command('sandbox')
    .option(
      '--listen <host:port>',
      'listen on this address instead of the one in the config; port 0 takes a free one',
    )
    .option(
      '--seed <number>',
      'the seed of delays, faults and delivered codes',
      wholeNumber(0, 999_999_999),
    )
    .option('--reset', 'start empty: delete all orders, balances and faults');
  addConfigOptions(command, 'config/sandbox.yaml').action(async (options: ServeOptions) => {
    const { config } = await configFrom(options);
    const section = readSandboxSection(config.sandbox, config.dataDir);
    const logger = loggerFor(config, context.stdout);
    const stop = listenForStop();
    try {
      const sandbox = await startSandbox({
        ...section,
        listen: options.listen ?? section.listen,
        seed: options.seed ?? section.seed,
        reset: options.reset === true,
        log({ level, msg, ...details }) {
          logger[level](details, msg);
        },
      });
      await aborted(stop.signal);
      await sandbox.close();
    } finally {
      stop.release();
    }
  });
}

/**
 * Starts a sandbox for a command.
 * @throws OrderSyncError LISTEN_FAILED when its address is taken; DATABASE_LOCKED when another
 * sandbox has its database;
 *   NOT_ALLOWED when the database is of another version, or of another program
 */
export async function startSandbox(
  options: SandboxSection & Pick<SandboxOptions, 'reset' | 'log'>,
): Promise<Sandbox> {
  const { listen, database } = options;
  try {
    return await createSandbox(options);
  } catch (cause) {
    switch (codeOf(cause)) {
      case 'EADDRINUSE':
        throw new OrderSyncError(
          'LISTEN_FAILED',
          `Cannot listen on ${listen}: another program listens there`,
          {
            hint: 'change sandbox.listen, or pass --listen 127.0.0.1:0 for any free port',
            cause,
          },
        );
      case 'SANDBOX_DATABASE_UNKNOWN':
        throw new OrderSyncError(
          'NOT_ALLOWED',
          `${database} is not a database of this version of the sandbox`,
          {
            hint: 'if an earlier version made it, delete it; else set sandbox.database to another file',
            cause,
          },
        );
      case 'SANDBOX_DATABASE_IN_USE':
        throw new OrderSyncError(
          'DATABASE_LOCKED',
          `Another sandbox uses the database ${database}`,
          {
            hint: 'stop that one first, or set sandbox.database to another file: two would sell above the limits',
            cause,
          },
        );
      default:
        throw cause;
    }
  }
}
