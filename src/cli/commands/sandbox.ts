import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { createLogger } from '../../ops/logger.ts';
import { programVersion } from '../../ops/program-version.ts';
import { listenForStop } from '../../ops/signals.ts';
import { createSandbox, type Sandbox } from '../../sandbox/create-sandbox.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { readSandboxSection, type SandboxSection } from '../sandbox-section.ts';

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
    .description('run the sandbox alone: the Wholesale Ordering API on this machine, where nothing costs money')
    .option('--listen <host:port>', 'listen here instead of where the config says')
    .addOption(
      new Option('--port <number>', 'listen on this port of 127.0.0.1; 0 takes a free one')
        .argParser(portNumber)
        .conflicts('listen'),
    )
    .addOption(
      new Option('--seed <number>', 'what delays, faults and delivered codes follow from').argParser(wholeNumber),
    )
    .option('--reset', 'begin anew: forget all orders, money and faults of its database');
  addConfigOptions(command, 'config/sandbox.yaml').action(async (options: ConfigOptions & SandboxOptions) => {
    const { config } = configFrom(options);
    const section = readSandboxSection(config.sandbox, config.dataDir);
    const { level, format } = config.log;
    const logger = createLogger({ level, format, version: programVersion, instance: config.instance }, context.stdout);
    const stop = listenForStop();
    try {
      const listen = options.port === undefined ? (options.listen ?? section.listen) : `127.0.0.1:${options.port}`;
      const chosen = { ...section, listen, seed: options.seed ?? section.seed, reset: options.reset === true };
      const sandbox = await start(chosen, (line) => {
        const { level: severity, msg, ...details } = line;
        logger[severity](details, msg);
      });
      await aborted(stop.signal);
      await sandbox.close();
    } finally {
      stop.release();
    }
  });
}

async function start(
  section: SandboxSection & { reset: boolean },
  log: Parameters<typeof createSandbox>[0]['log'],
): Promise<Sandbox> {
  mkdirSync(dirname(section.database), { recursive: true });
  try {
    return await createSandbox({ ...section, ...(log === undefined ? {} : { log }) });
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') throw error;
    throw new OrderSyncError('LISTEN_FAILED', `Cannot listen on ${section.listen}: another program listens there`, {
      hint: 'change sandbox.listen, or pass --listen 127.0.0.1:0 for any free port',
      cause: error,
    });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
