import { healthChecks } from '../admin/health-checks.ts';
import type { HealthCheck } from '../admin/health-server.ts';
import type { ReloadReport } from '../config/reload-plan.ts';
import { shopIdentities } from '../config/shop-identities.ts';
import { isoTime } from '../core/clock.ts';
import { CommandCalls } from './commands.ts';
import { SteadyClock } from '../ops/system-clock.ts';
import { DiskGuard } from '../ops/disk-guard.ts';
import { Lifecycle } from '../ops/lifecycle.ts';
import { Loop } from '../ops/loop.ts';
import { removeRunFile, writeRunFile } from '../ops/run-file.ts';
import type { Store } from '../store/store.ts';
import { ShopConnections } from '../storefronts/shop-connections.ts';
import { ApiClock, apiClockCheck } from '../buying/proofs/api-clock.ts';
import { type Admin, startAdmin } from './admin.ts';
import {
  buildFolderIntakes,
  buildReadBack,
  buildStorefronts,
  startFolders,
  startWebhook,
} from './build-intake.ts';
import { buildAlerts, buildResults } from './build-results.ts';
import { priceWatch } from '../buying/spending/price-watch.ts';
import { buildDispatcher, buildSubmission, buildWholesaleClient } from './build-submission.ts';
import { requireFolders } from './installed-folders.ts';
import { buildMetrics, watchParts } from './metrics.ts';
import { nightlyJobs } from './nightly-jobs.ts';
import { countKeptCalls } from './doctor-calls.ts';
import { noticeOlderCopy } from './older-copy.ts';
import { openForWorker } from './open-outbox.ts';
import type { ProgressKeeper } from './progress-file.ts';
import { buildReloader, type ConfigReloader } from './reload.ts';
import { Upkeep } from './upkeep.ts';
import { blockOf, requireSpaceToStart, waitForSpace } from './wait-for-space.ts';
import type { CurrentConfig, MachineDeps, PartDeps, WorkerParts } from './worker-deps.ts';

export interface RunningWorker {
  /** `host:port` of the admin server, as it listens. */
  readonly adminAddress: string;
  /** `host:port` of the intake over HTTP, as it listens; null when it is not configured. */
  readonly webhookAddress: string | null;
  readonly store: Store;
  /**
   * Rejects when the worker must stop, for example because it cannot record what it does. Never
   * resolves.
   */
  readonly failed: Promise<never>;
  /**
   * Reads the configuration again. Rejects when it refuses the new one. Null: there is nothing to
   * read it from.
   */
  readonly reload: ((asked: string) => Promise<ReloadReport>) | null;
  /** Finishes what is under way and releases everything. May be called again. */
  stop(): Promise<void>;
}

/**
 * The parts in the order in which they stop: first who asks for work, then who takes it in, then
 * who does it, last the outbox.
 */
const stopOrder = [
  'run file',
  'alerts',
  'admin server',
  'upkeep',
  'nightly jobs',
  'API clock check',
  'steady time',
  // Aborts the runs of read-back that operators asked for: the operator calls wait for them.
  'read-back',
  'operator calls',
  'webhook',
  'folder intake',
  'dispatcher',
  'results',
  'wholesale client',
  'database watch',
  'progress file',
  'store',
] as const;

type Life = Lifecycle<(typeof stopOrder)[number]>;

const databaseCheckMs = 1000;

/**
 * Starts the worker, part by part: the outbox, what works on it, then the admin server. Each part
 * registers its stop before it starts, so a start that fails releases everything that had started.
 *
 * When this resolves, every part has taken up what an earlier run left open. It waits for space on
 * a full disk, and for the lock of another program.
 */
export async function startWorker(given: MachineDeps): Promise<RunningWorker> {
  for (;;) {
    try {
      requireSpaceToStart(given.config);
      const life: Life = new Lifecycle(stopOrder);
      return await life.start(() => startOnce(given, life));
    } catch (error) {
      const block = blockOf(error);
      if (block === null) throw error;
      await waitForSpace(given, block);
    }
  }
}

async function startOnce(given: MachineDeps, life: Life): Promise<RunningWorker> {
  const clock = new SteadyClock(given.clock);
  const current: CurrentConfig = { config: given.config };
  const deps: PartDeps = { ...given, clock, metrics: buildMetrics(given, current) };

  const outbox = await startOutbox(deps, life, current);
  const parts = await startParts(deps, life, outbox, current);
  const background = await startBackground(deps, life, parts, current);
  const operatorCalls = new CommandCalls();
  await life.push('operator calls', () => operatorCalls.stop());
  await parts.readBack.start();

  const { admin, reloader } = await startAdminServer(deps, life, parts, operatorCalls, current);
  await announce(deps, life, admin);

  const { store, dispatcher, results, folders, webhook } = parts;
  const failing = [dispatcher, results.deliveries, ...folders, outbox.watch, ...background];
  if (webhook !== null) failing.push(webhook);
  const failed = Promise.race(failing.map((part) => part.failed));
  failed.catch(() => undefined);
  const addresses = { admin: admin.address, webhook: webhook?.address };
  const { upstream } = deps.config.wholesale;
  deps.logger.info({ upstream, ...addresses, ...store.read.backlog() }, 'worker started');
  return {
    adminAddress: admin.address,
    webhookAddress: webhook?.address ?? null,
    store,
    failed,
    reload: reloader === null ? null : (asked) => reloader.reload(asked),
    stop: () => life.stop(),
  };
}

interface OpenOutbox {
  readonly store: Store;
  readonly progress: ProgressKeeper;
  readonly watch: Loop;
  readonly disk: DiskGuard;
}

async function startOutbox(
  deps: PartDeps,
  life: Life,
  current: CurrentConfig,
): Promise<OpenOutbox> {
  const { config, logger, clock } = deps;
  const minFreeBytes = (): number => current.config.disk.minFreeBytes;
  const opened = await openForWorker(deps, minFreeBytes);
  const { store } = opened;
  await life.push('store', () => store.close());
  if (store.sealing.sealsWith === null && config.wholesale.environment === 'production')
    logger.warn(
      'delivered codes are stored unencrypted, because there is no sealing key; see docs/sealing.md',
    );
  if (config.init === 'never') requireFolders(config, false);
  await store.continueTime(clock);
  const { progress } = await noticeOlderCopy(deps, opened);
  await countKeptCalls(config.dataDir, store);
  progress.start();
  await life.push('progress file', () => progress.stop());
  let blockedBy: string | null = null;
  const checkDatabase = async (): Promise<number> => {
    const reason = (await store.checkHealth())?.message ?? null;
    if (reason !== null && reason !== blockedBy)
      logger.error({ reason }, 'the outbox cannot be written: the worker waits');
    if (reason === null && blockedBy !== null) logger.warn('the outbox can be written again');
    blockedBy = reason;
    return databaseCheckMs;
  };
  const watch = new Loop({ clock, round: checkDatabase });
  watch.start();
  await life.push('database watch', () => watch.stop());
  await store.storefronts.adoptShops({ shops: shopIdentities(config), nowMs: clock.wallMs() });
  const disk = new DiskGuard({
    freeBytes: () => store.freeBytes(),
    minFreeBytes,
    stopped: 'no new orders are taken in',
    clock,
    logger: logger.child({ component: 'intake' }),
  });
  return { store, progress, watch, disk };
}

/**
 * Builds what works on the outbox, then starts it, beginning with the results and ending with the
 * intake.
 */
async function startParts(
  deps: PartDeps,
  life: Life,
  { store, progress, disk }: OpenOutbox,
  current: CurrentConfig,
): Promise<WorkerParts> {
  const notified: { notify(): void }[] = [];
  const notify = (): void => {
    for (const part of notified) part.notify();
  };
  const apiClock = new ApiClock(deps.clock);
  const wholesale = buildWholesaleClient(deps, apiClock);
  await life.push('wholesale client', () => wholesale.close());
  const connections = new ShopConnections(deps);
  const results = buildResults(deps, store, current, connections);
  const storefronts = { intake: buildStorefronts(deps, store, deps.config, notify) };
  const readBack = buildReadBack(deps, store, storefronts, connections);
  await life.push('read-back', () => readBack.stop());
  const submission = await buildSubmission(deps, store, wholesale, apiClock, current);
  const dispatcher = buildDispatcher(deps, current, submission, readBack, notify);
  const folders = buildFolderIntakes(deps, store, disk, notify);
  notified.push(results.deliveries, dispatcher);

  await life.push('results', () => results.deliveries.stop());
  await results.deliveries.start();
  await life.push('dispatcher', () => dispatcher.stop());
  await dispatcher.start();
  await life.push(
    'folder intake',
    async () => void (await Promise.all(folders.map((folder) => folder.stop()))),
  );
  await startFolders(folders);
  const webhook = await startWebhook(deps, store, storefronts.intake, notify, readBack);
  if (webhook !== null) {
    // The dispatcher stops at the same time: to wait for requests first, then for calls to the API,
    // takes too long.
    await life.push('webhook', () => {
      dispatcher.stop().catch(() => undefined);
      return webhook.stop();
    });
  }
  const using = { store, progress, disk, submission, dispatcher };
  return { ...using, results, folders, webhook, storefronts, readBack, notify };
}

/**
 * Starts what nobody waits for: it writes the time, watches the money, and seals, shreds and removes what was kept
 * for long enough.
 */
async function startBackground(
  deps: PartDeps,
  life: Life,
  parts: WorkerParts,
  current: CurrentConfig,
): Promise<readonly { readonly failed: Promise<never> }[]> {
  const { clock } = deps;
  const { store, submission, dispatcher } = parts;
  const round = async (): Promise<number> => {
    await store.writeTime();
    await submission.steps.watchMoney(current.config.spend, clock.wallMs());
    return 10_000;
  };
  const time = new Loop({ clock, round, endsWithRound: true });
  await life.push('steady time', () => time.stop());
  time.start();
  const check = apiClockCheck(submission);
  await life.push('API clock check', () => check.stop());
  check.start();
  const maps = new Loop({ clock, round: () => parts.storefronts.intake.followMaps() });
  const prices = priceWatch({
    ...submission,
    maxRisePercent: () => current.config.spend.maxRisePercent,
    onPaused: () => dispatcher.pausesChanged(),
  });
  const jobs = [...nightlyJobs(deps, parts), maps, prices];
  for (const job of jobs) {
    await life.push('nightly jobs', () => job.stop());
    job.start();
  }
  return [time, check, ...jobs];
}

/** Starts the admin server, the upkeep that its health shows, and the alerts. */
async function startAdminServer(
  deps: PartDeps,
  life: Life,
  parts: WorkerParts,
  calls: CommandCalls,
  current: CurrentConfig,
): Promise<{ readonly admin: Admin; readonly reloader: ConfigReloader | null }> {
  const { store, readBack } = parts;
  const readBackCheck: HealthCheck = {
    name: 'read_back',
    check: () => readBack.health(),
    details: () => readBack.details(),
  };
  const checks: HealthCheck[] = [];
  const showReadBack = ({ intake }: PartDeps['config']): void => {
    if (intake.shops.some(({ rest }) => rest !== null) && !checks.includes(readBackCheck))
      checks.push(readBackCheck);
  };
  const reloader = buildReloader(deps, parts, current, showReadBack);
  const upkeep = new Upkeep({ ...deps, store, logger: deps.logger.child({ component: 'upkeep' }) });
  const isSandbox = deps.config.wholesale.environment === 'sandbox';
  checks.push(...healthChecks(parts, reloader, { clock: deps.clock, isSandbox }));
  showReadBack(deps.config);
  checks.push(upkeep.healthCheck);
  await life.push('upkeep', () => upkeep.stop());
  await upkeep.start();

  const draining = (): boolean => life.stopped;
  const admin = await startAdmin(deps, parts, { calls, reloader, checks, draining }, current);
  await life.push('admin server', () => admin.close());
  watchParts(deps, parts, { reloader, checks, upkeep, admin }, current);
  for (const alert of await buildAlerts(deps, store, checks, current)) {
    await life.push('alerts', () => alert.stop());
    alert.start();
  }
  return { admin, reloader };
}

/** Tells the command line where the worker listens. */
async function announce(deps: PartDeps, life: Life, admin: Admin): Promise<void> {
  const { config, clock, version, pid } = deps;
  await writeRunFile(config.dataDir, {
    pid,
    started_at: isoTime(clock.wallMs()),
    version,
    admin_address: admin.address,
    control_token: admin.token,
  });
  await life.push('run file', () => removeRunFile(config.dataDir, pid));
}
