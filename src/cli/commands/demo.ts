import { existsSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import type { RunningWorker } from '../../app/start-worker.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { isLoopback } from '../../core/settings/schema-values.ts';
import { listen } from '../../ops/listen.ts';
import type { Sandbox, SandboxOptions } from '../../../sandbox/create-sandbox.ts';
import { stateCounts } from '../../store/read/list-orders.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';
import { createWholesaleClient } from '../../wholesale/client.ts';
import { readWire } from '../../wholesale/connector/wire.ts';
import { startSandbox } from './sandbox.ts';
import { addConfigOptions, configFrom, type ConfigOptions } from '../config-options.ts';
import { loggerFor } from '../command-logger.ts';
import type { CliContext } from '../context.ts';
import { plainText } from '../output.ts';
import { runWorker } from '../run-worker.ts';
import { readSandboxSection } from '../sandbox-section.ts';

interface DemoOptions extends ConfigOptions {
  readonly samples: boolean;
  readonly once?: boolean;
}

const samplesFolder = resolve(import.meta.dirname, '../../../data/samples');

export function addDemo(program: Command, context: CliContext): void {
  const command = program
    .command('demo')
    .option('--no-samples', 'leave the inbox empty at the first start, without sample orders')
    .option('--once', 'end when every order is done');
  addConfigOptions(command, 'config/sandbox.yaml').action(async (options: DemoOptions) => {
    await runDemo((await configFrom(options)).config, options, context);
  });
}

const whereOf = ({ config = '', set = {} }: ConfigOptions): string =>
  [`--config ${config}`, ...Object.entries(set).map((pair) => `--set ${pair.join('=')}`)].join(' ');

async function runDemo(config: Config, options: DemoOptions, context: CliContext): Promise<void> {
  if (config.wholesale.environment !== 'sandbox') {
    const message = 'The demo runs against its own sandbox only, but this config is for production';
    const hint = 'run the worker with `order-sync run`, or the demo without --config';
    throw new OrderSyncError('NOT_ALLOWED', message, { hint });
  }
  const logger = loggerFor(config, context.stdout);
  const isFirstStart = !existsSync(config.databasePath);
  const sandbox = await sandboxOf(config, ({ level, msg, ...details }) => {
    // The log shows the worker; the sandbox's own lines are details.
    logger[level === 'info' ? 'debug' : level]({ component: 'sandbox', ...details }, msg);
  });
  try {
    const demoConfig = await ownAddresses(config, sandbox.url);
    await buyDemoEsims(demoConfig, context.clock);
    const dropped =
      isFirstStart && options.samples ? await dropSamples(folderOf(config).inbox) : [];
    const whileRunning = async (
      worker: RunningWorker,
      stop: AbortSignal,
    ): Promise<'stop' | 'keep running'> => {
      context.stderr.write(banner(config, options, sandbox.url, worker, dropped.length));
      if (dropped.length === 0 && options.once !== true) return 'keep running';
      await allDone(worker, config, context, stop);
      if (!stop.aborted) context.stderr.write(summary(worker.store.read, config, options));
      return options.once === true ? 'stop' : 'keep running';
    };
    await runWorker({ config: demoConfig, logger, whileRunning }, context);
  } finally {
    await sandbox.close();
  }
}

function folderOf({ intake: { folders } }: Config) {
  if (folders[0] !== undefined) return folders[0];
  throw new OrderSyncError('NOT_ALLOWED', 'The demo needs a folder for its samples', {
    hint: 'list one in intake.folders',
  });
}

/**
 * Listens at the address of the config, or on a free port when another program has that address.
 */
async function sandboxOf(
  config: Config,
  log: NonNullable<SandboxOptions['log']>,
): Promise<Sandbox> {
  const section = readSandboxSection(config.sandbox, config.dataDir);
  try {
    return await startSandbox({ ...section, log });
  } catch (error) {
    if (!hasCode(error, 'LISTEN_FAILED')) throw error;
    return await startSandbox({ ...section, listen: '127.0.0.1:0', log });
  }
}

/**
 * The config with addresses that no other program has: a free port where one has that of the
 * config.
 */
async function ownAddresses(config: Config, baseUrl: string): Promise<Config> {
  const { admin, intake, wholesale } = config;
  const webhook = intake.webhook && {
    ...intake.webhook,
    listen: await freeAddress(intake.webhook.listen),
  };
  return {
    ...config,
    wholesale: { ...wholesale, baseUrl },
    admin: { ...admin, listen: await freeAddress(admin.listen) },
    intake: { ...intake, webhook },
  };
}

type ListenAddress = Config['admin']['listen'];

async function freeAddress(wanted: ListenAddress): Promise<ListenAddress> {
  const server = createServer();
  try {
    await listen(server, wanted, '');
    return wanted;
  } catch (error) {
    if (!hasCode(error, 'LISTEN_FAILED')) throw error;
    return { ...wanted, port: 0 };
  } finally {
    await new Promise((closed) => server.close(closed));
  }
}

/**
 * Copies the samples into the inbox, as a shop should: under a temporary name, then renamed.
 * Returns their names.
 */
async function dropSamples(inbox: string): Promise<readonly string[]> {
  await mkdir(inbox, { recursive: true, mode: 0o700 });
  const names = (await readdir(samplesFolder))
    .filter((name) => /\.(json|ndjson|csv)$/.test(name))
    .toSorted();
  for (const name of names) {
    const draft = join(inbox, `.${name}.tmp`);
    await copyFile(join(samplesFolder, name), draft);
    await rename(draft, join(inbox, name));
  }
  return names;
}

/**
 * Buys the two eSIMs that the samples top up and cancel. The reference is fixed: a second start
 * gets the same two (Spec 7, retry rule 1). In a new sandbox their ICCIDs are always those of the
 * samples.
 */
async function buyDemoEsims({ wholesale }: Config, clock: Clock): Promise<void> {
  const [key] = wholesale.keys;
  if (key === undefined) return;
  const client = createWholesaleClient({
    baseUrl: wholesale.baseUrl,
    wire: readWire(wholesale.wire),
    clock,
  });
  const operation = 'esim_order';
  const what = {
    variant: null,
    plan: 'test-plan-fixed',
    iccid: null,
    quantity: 2,
    days: null,
    currency: 'USD',
  };
  const order = { operation, reference: 'demo-esims-of-last-week', ...what } as const;
  try {
    const outcome = await client.submit({
      ...client.render(order),
      operation,
      keyValue: key.value,
      expect: order,
    });
    if (outcome.row !== 'accepted' && outcome.row !== 'rate_limited') {
      throw new OrderSyncError(
        'UNREACHABLE',
        `The embedded sandbox does not sell: ${outcome.message}`,
        {
          hint: 'remove the data folder to restart the demo empty',
        },
      );
    }
  } finally {
    await client.close();
  }
}

/** Resolves when the inbox is empty, every entry is settled and every result is written. */
async function allDone(
  worker: RunningWorker,
  config: Config,
  context: CliContext,
  stop: AbortSignal,
): Promise<void> {
  const folders = config.intake.folders.flatMap(({ inbox, work }) => [inbox, work]);
  // Twice in a row: a file may be between two folders.
  for (let idleLooks = 0; idleLooks < 2 && !stop.aborted; ) {
    await context.clock.sleep(200, stop);
    const { open, dueDeliveries } = worker.store.read.backlog();
    const files = folders
      .flatMap((folder) => readdirSync(folder))
      .filter((name) => !name.startsWith('.'));
    idleLooks = open === 0 && dueDeliveries === 0 && files.length === 0 ? idleLooks + 1 : 0;
  }
}

const shortPath = (path: string): string => relative('.', path) || '.';

/** Where another program has the port of the config, the one in use is another. */
function movedFrom(wanted: number, address: string): string {
  return wanted === 0 || address.endsWith(`:${wanted}`)
    ? ''
    : `   (another program has port ${wanted})`;
}

/** The first lines for a person: this is the sandbox, where things are, what to try next. */
function banner(
  config: Config,
  options: DemoOptions,
  sandboxUrl: string,
  worker: RunningWorker,
  dropped: number,
): string {
  const { adminAddress, webhookAddress } = worker;
  const { admin, intake, results } = config;
  const { webhook } = intake;
  const folder = folderOf(config);
  const samples = shortPath(samplesFolder);
  const own = admin.tokens.find(({ name }) => name === 'demo');
  const isShown = own !== undefined && isLoopback(admin.listen.host);
  const apiPort = Number(
    readSandboxSection(config.sandbox, config.dataDir).listen.split(':').at(-1),
  );
  return [
    '',
    '  order-sync DEMO: this is the SANDBOX. Nothing costs money, and no code is valid.',
    '',
    `  inbox     ${shortPath(folder.inbox)}/   drop .json, .ndjson or .csv orders here`,
    `  results   ${shortPath(results.folder)}/   one file for each order`,
    `  rejected  ${shortPath(folder.rejected)}/   files that could not be used, and why`,
    `  pages     http://${adminAddress}/${movedFrom(admin.listen.port, adminAddress)}`,
    ...(isShown ? [`            sign in with ${own.secrets[0]}`] : []),
    ...(webhook === null || webhookAddress === null
      ? []
      : [
          `  orders    http://${webhookAddress}/docs   over HTTP${movedFrom(webhook.listen.port, webhookAddress)}`,
        ]),
    `  sandbox   ${sandboxUrl}   the API${movedFrom(apiPort, sandboxUrl)}`,
    '',
    dropped > 0
      ? `  The ${dropped} samples of ${samples}/ were dropped into the inbox for you.`
      : `  Try a sample:   cp ${samples}/1-gift-cards.json ${shortPath(folder.inbox)}/`,
    `  Look inside:    npx order-sync orders list ${whereOf(options)}`,
    '  Ctrl-C ends the demo; the next start continues with open orders.',
    '',
    '',
  ].join('\n');
}

/** Every order with its states, once all of them are done. */
function summary(read: OutboxReader, config: Config, options: DemoOptions): string {
  const lines = read.listOrders({ limit: 50 }).map((order) => {
    return (
      `  ${plainText(order.source)}/${plainText(order.orderId)}`.padEnd(24) +
      stateCounts(order).join(', ')
    );
  });
  const results = `  The results are in ${shortPath(config.results.folder)}/`;
  const attention = `  What needs review:  npx order-sync orders list --attention ${whereOf(options)}`;
  return ['', '  Every order is done:', ...lines.toReversed(), '', results, attention, '', ''].join(
    '\n',
  );
}
