import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import type { RunningWorker } from '../../app/start-worker.ts';
import type { Config } from '../../config/config.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { createLogger } from '../../ops/logger.ts';
import { programVersion } from '../../ops/program-version.ts';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/create-sandbox.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import type { CliContext } from '../context.ts';
import { buyDemoEsims, dropSamples, samplesFolder } from '../demo-samples.ts';
import { banner, summary } from '../demo-text.ts';
import { runWorker } from '../run-worker.ts';
import { readSandboxSection } from '../sandbox-section.ts';

interface DemoOptions extends ConfigOptions {
  readonly samples: boolean;
  readonly once?: boolean;
}

const demoConfig = 'config/sandbox.yaml';

export function addDemo(program: Command, context: CliContext): void {
  const command = program
    .command('demo')
    .description('run the worker with an embedded sandbox of the API: everything on this machine, nothing costs money')
    .option('--no-samples', 'do not drop the sample orders into the inbox at the first start')
    .option('--once', 'end when everything that came in is done');
  addConfigOptions(command, demoConfig).action(async (options: DemoOptions) => {
    const { config } = configFrom(options);
    await demo(config, options, context);
  });
}

async function demo(config: Config, options: DemoOptions, context: CliContext): Promise<void> {
  if (config.wholesale.environment !== 'sandbox') {
    throw new OrderSyncError(
      'REFUSED',
      'The demo runs against its own sandbox only, but this config is for production',
      {
        hint: 'run the worker with `order-sync run`, or the demo without --config',
      },
    );
  }
  const { level, format } = config.log;
  const logger = createLogger({ level, format, version: programVersion, instance: config.instance }, context.stdout);
  const isFirstStart = !existsSync(config.databasePath);
  const sandbox = await startSandbox(config, (line) => {
    const { level: severity, msg, ...details } = line;
    // What the sandbox does is its own story; the worker's is the one to follow here.
    logger[severity === 'info' ? 'debug' : severity]({ component: 'sandbox', ...details }, msg);
  });
  try {
    const here: Config = { ...config, wholesale: { ...config.wholesale, baseUrl: sandbox.url } };
    await buyDemoEsims(here, context.clock);
    const dropped = isFirstStart && options.samples ? await dropSamples(config.intake.folder.inbox) : [];
    const whileRunning = async (worker: RunningWorker, stop: AbortSignal): Promise<'end' | 'go on'> => {
      context.stderr.write(banner({ config, sandboxUrl: sandbox.url, ...worker, dropped, samplesFolder }));
      if (dropped.length === 0 && options.once !== true) return 'go on';
      await settled(worker, config, context, stop);
      if (!stop.aborted) context.stderr.write(summary(worker.store.read, config));
      return options.once === true ? 'end' : 'go on';
    };
    await runWorker({ config: here, logger, whileRunning }, context);
  } finally {
    await sandbox.close();
  }
}

/** At the address of the config; on a free port when another program has it, because a demo should just run. */
async function startSandbox(config: Config, log: NonNullable<SandboxOptions['log']>): Promise<Sandbox> {
  const section = readSandboxSection(config.sandbox, config.dataDir);
  mkdirSync(dirname(section.database), { recursive: true, mode: 0o750 });
  try {
    return await createSandbox({ ...section, log });
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') throw error;
    return await createSandbox({ ...section, listen: '127.0.0.1:0', log });
  }
}

/** Resolves when nothing is waiting in the inbox, in the outbox, or to be written back. */
async function settled(worker: RunningWorker, config: Config, context: CliContext, stop: AbortSignal): Promise<void> {
  const folders = [config.intake.folder.inbox, config.intake.folder.work];
  let quietLooks = 0;
  while (quietLooks < 2 && !stop.aborted) {
    await context.clock.sleep(200, stop);
    const { open, dueDeliveries } = worker.store.read.backlog();
    const files = folders.flatMap((folder) => readdirSync(folder)).filter((name) => !name.startsWith('.'));
    const isQuiet = open === 0 && dueDeliveries === 0 && files.length === 0;
    quietLooks = isQuiet ? quietLooks + 1 : 0;
  }
}
