import { type Command, InvalidArgumentError, Option } from 'commander';
import { listenForStop } from '../../ops/signals.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import { loggerFor } from '../command-logger.ts';
import type { CliContext } from '../context.ts';
import { aborted } from '../run-worker.ts';
import { addSandboxControl } from './sandbox-control.ts';
import { readSandboxSection } from '../sandbox-section.ts';
import { startSandbox } from '../start-sandbox.ts';

interface SandboxOptions {
  readonly listen?: string;
  readonly port?: number;
  readonly seed?: number;
  readonly reset?: boolean;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, not negative.');
  return Number(text);
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError('A port is at most 65535.');
  return port;
}

export function addSandbox(program: Command, context: CliContext): void {
  const command = program
    .command('sandbox')
    .description('run the sandbox alone: the Wholesale Ordering API on this machine; nothing costs money')
    .option('--listen <host:port>', 'listen on this address instead of the one in the config')
    .addOption(
      new Option('--port <number>', 'listen on this port of 127.0.0.1; 0 takes a free one')
        .argParser(portNumber)
        .conflicts('listen'),
    )
    .addOption(new Option('--seed <number>', 'the seed of delays, faults and delivered codes').argParser(wholeNumber))
    .option('--reset', 'start anew: forget all orders, money and faults of its database')
    .enablePositionalOptions();
  addSandboxControl(command, context);
  addConfigOptions(command, 'config/sandbox.yaml').action(async (options: ConfigOptions & SandboxOptions) => {
    const { config } = await configFrom(options);
    const section = readSandboxSection(config.sandbox, config.dataDir);
    const logger = loggerFor(config, context.stdout);
    const stop = listenForStop();
    try {
      const listen = options.port === undefined ? (options.listen ?? section.listen) : `127.0.0.1:${options.port}`;
      const sandbox = await startSandbox({
        ...section,
        listen,
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
