import { healthChecks } from '../admin/health-checks.ts';
import type { HealthCheck } from '../admin/health-server.ts';
import type { Config } from '../config/config.ts';
import type { ReloadReport } from '../config/reload-plan.ts';
import { shopIdentities } from '../config/shop-identities.ts';
import { isoTime } from '../core/clock.ts';
import type { WebhookIntake } from '../intake/http/webhook-intake.ts';
import { ContinuousClock } from '../ops/continuous-clock.ts';
import { DiskGuard } from '../ops/disk-guard.ts';
import { Lifecycle } from '../ops/lifecycle.ts';
import { CommandCalls } from '../ops/command-calls.ts';
import { removeRunFile, writeRunFile } from '../ops/run-file.ts';
import { ApiClock } from '../submit/api-clock.ts';
import { ApiClockCheck } from '../submit/api-clock-check.ts';
import { removeOldResults } from '../results/old-results.ts';
import { watchDatabase } from '../store/sqlite/watch-database.ts';
import type { Store } from '../store/store.ts';
import { ShopConnections } from '../storefronts/shop-connections.ts';
import type { ReadBack } from '../storefronts/read-back/read-back.ts';
import type { Dispatcher } from '../submit/dispatcher.ts';
import { startAdmin } from './admin.ts';
import { startAlerts } from './build-alerts.ts';
import { buildFolderIntake, startWebhook } from './build-intake.ts';
import { type BuiltResults, buildResults } from './build-results.ts';
import { buildReadBack, buildStorefronts, recheckRule } from './build-storefronts.ts';
import { buildDispatcher, buildSubmission, buildWholesaleClient } from './build-submission.ts';
import { ClockFollower } from './clock-follower.ts';
import { shredOldCodes } from './code-shredder.ts';
import { NightlyJob } from './nightly-job.ts';
import { buildOlderCopyCheck, noticeOlderCopy } from './older-copy.ts';
import { requireFolders } from './installed-folders.ts';
import { openOutbox } from './open-outbox.ts';
import { buildMetrics, watchParts } from './metrics.ts';
import { buildReloader } from './reload.ts';
import { SealRotation } from './seal-rotation.ts';
import { startUpkeep } from './start-upkeep.ts';
import { failedForSpace, requireSpaceToStart, waitForSpace } from './wait-for-space.ts';
import type { CurrentConfig, PartDeps, WorkerDeps } from './worker-deps.ts';

export interface RunningWorker {
  /** `host:port` of the admin server, as it listens. */
  readonly adminAddress: string;
  /** `host:port` of the intake over HTTP, as it listens; null when it is not configured. */
  readonly webhookAddress: string | null;
  readonly store: Store;
  /** Rejects when the worker must stop, for example because it cannot record what it does. Never resolves. */
  readonly failed: Promise<never>;
  /** Reads the configuration again. Rejects when it refuses the new one. Null: there is nothing to read it from. */
  readonly reload: ((asked: string) => Promise<ReloadReport>) | null;
  /** Finishes what is under way and releases everything. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts the worker, part by part: the outbox, what works on it, then the admin server. The parts stop in the opposite
 * order. Each registers its stop before it starts, so a start that fails releases everything that had started.
 *
 * When this resolves, every part has taken up what an earlier run left open. On a full disk it waits for space.
 */
export async function startWorker(given: WorkerDeps): Promise<RunningWorker> {
  for (;;) {
    try {
      await requireSpaceToStart(given.config);
      return await startOnce(given);
    } catch (error) {
      if (!failedForSpace(error)) throw error;
      await waitForSpace(given, error);
    }
  }
}

async function startOnce(given: WorkerDeps): Promise<RunningWorker> {
  const life = new Lifecycle();
  return await life.start(async () => {
    const clock = new ContinuousClock(given.clock);
    const current: CurrentConfig = { config: given.config };
    const deps: PartDeps = { ...given, clock, metrics: buildMetrics({ ...given, clock }, current) };
    const outbox = await startOutbox(deps, life, clock, current);
    const parts = await startParts(deps, life, outbox, current);
    const clocks = await startClocks(deps, life, clock, parts);
    const codes = await startCodeKeeping(deps, life, clock, parts);
    const { admin, reloader } = await startAdminServer(deps, life, parts, current);

    const { store, watch, results, csvResults, dispatcher, folder, webhook } = parts;
    const failing = [
      dispatcher,
      results,
      csvResults,
      folder,
      watch,
      ...codes,
      ...clocks,
      ...(webhook === null ? [] : [webhook]),
    ];
    const failed = Promise.race(failing.map((part) => part.failed));
    failed.catch(() => undefined);
    const addresses = { admin: admin.address, ...(webhook === null ? {} : { webhook: webhook.address }) };
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
  });
}

/** Starts to seal again what other keys sealed, to shred codes and to remove files that were kept for long enough. */
async function startCodeKeeping(
  deps: WorkerDeps,
  life: Lifecycle,
  clock: ContinuousClock,
  { store, apiClock, resultFolder }: Awaited<ReturnType<typeof startParts>>,
): Promise<readonly { readonly failed: Promise<never> }[]> {
  const { codesDays } = deps.config.retention;
  const { keepDays } = deps.config.results;
  const logger = deps.logger.child({ component: 'sealing' });
  const rotation = new SealRotation({ sealing: store.sealing, clock, logger });
  await life.push('seal rotation', () => rotation.stop());
  rotation.start();
  const jobs: NightlyJob[] = [];
  const startJob = async (name: string, run: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    const job = new NightlyJob(clock, run);
    jobs.push(job);
    await life.push(name, () => job.stop());
    job.start();
  };
  if (codesDays !== null) {
    const shredder = { store, clock, apiClock, logger, codesDays };
    await startJob('code shredder', (signal) => shredOldCodes(shredder, signal));
  }
  if (keepDays !== null) {
    const old = { store, clock, apiClock, logger: deps.logger.child({ component: 'results' }), folder: resultFolder };
    await startJob('old results', (signal) => removeOldResults({ ...old, keepDays }, signal));
  }
  return [rotation, ...jobs];
}

/** Opens the outbox as its only writer, and watches that its file is not replaced. */
async function startOutbox(deps: WorkerDeps, life: Lifecycle, clock: ContinuousClock, current: CurrentConfig) {
  const { config, version, logger } = deps;
  const minFreeBytes = (): number => current.config.disk.minFreeBytes;
  const opened = openOutbox(config, config.init, minFreeBytes);
  const { store } = opened;
  if (store.sealing.sealsWith === null && config.wholesale.environment === 'production')
    logger.warn('delivered codes are stored in clear: there is no sealing key, see docs/sealing.md');
  await life.push('store', () => store.close());
  if (config.init === 'never') requireFolders(config);
  await new ClockFollower({ store, clock, logger }).catchUp();
  const { progress } = await noticeOlderCopy(deps, opened);
  progress.start();
  await life.push('progress file', () => progress.stop());
  const bootId = clock.bootId ?? null;
  const incarnationId = await store.beginIncarnation({ bootId, version, nowMs: clock.wallMs() });
  await life.push('incarnation', () => store.endIncarnation(incarnationId, clock.wallMs()));
  const watch = watchDatabase(store, clock);
  await life.push('database watch', () => watch.stop());
  await store.storefronts.adoptShops({ shops: shopIdentities(config), nowMs: clock.wallMs() });
  const olderCopy = await buildOlderCopyCheck(deps, store, progress);
  const disk = new DiskGuard({
    freeBytes: () => store.freeBytes(),
    minFreeBytes,
    stopped: 'no new orders are taken in',
    clock,
    logger: logger.child({ component: 'intake' }),
  });
  return { store, progress, incarnationId, watch, olderCopy, disk, apiClock: new ApiClock(clock) };
}

/** Starts what works on the outbox, beginning with the results and ending with the intake. */
async function startParts(
  deps: PartDeps,
  life: Lifecycle,
  outbox: Awaited<ReturnType<typeof startOutbox>>,
  current: CurrentConfig,
) {
  const { store, apiClock, disk } = outbox;
  const wholesale = buildWholesaleClient(deps, apiClock);
  await life.push('wholesale client', () => wholesale.close());

  const connections = new ShopConnections(deps);
  const written = await startResults(deps, life, store, current, connections);
  const { results } = written;

  let webhook: WebhookIntake | null = null;
  const onSettled = (): void => {
    results.notify();
    webhook?.notify();
  };
  const submission = { ...(await buildSubmission(deps, store, wholesale, current)), apiClock };
  let readBack: ReadBack | null = null;
  // What waits before read-back has started is found on disk by its start.
  const rechecks = recheckRule(current, (source) => readBack?.notifyRecheck(source));
  const dispatcher = buildDispatcher(deps, current, submission, { ...outbox, rechecks }, onSettled);
  await life.push('dispatcher', () => dispatcher.stop());
  await dispatcher.start();

  const onAccepted = (): void => {
    dispatcher.notify();
    results.notify();
  };
  const folder = buildFolderIntake(deps, store, disk, onAccepted);
  await life.push('folder intake', () => folder.stop());
  await folder.start();

  const notify = (): void => {
    onAccepted();
    webhook?.notify();
  };
  const storefronts = { intake: buildStorefronts(deps, store, deps.config, notify) };
  readBack = buildReadBack(deps, store, storefronts, connections);
  webhook = await startWebhook(deps, store, storefronts.intake, onAccepted, readBack);
  if (webhook !== null) await pushWebhookStop(life, webhook, dispatcher);
  return {
    ...outbox,
    submission,
    wholesale,
    ...written,
    dispatcher,
    folder,
    webhook,
    storefronts,
    readBack,
    notify,
    operatorCalls: await startReadBack(life, readBack),
  };
}

/** Starts to write results back. */
async function startResults(
  deps: PartDeps,
  life: Lifecycle,
  store: Store,
  current: CurrentConfig,
  connections: ShopConnections,
): Promise<BuiltResults> {
  const built = buildResults(deps, store, current, connections);
  await life.push('results', () => built.results.stop());
  await built.results.start();
  await life.push('CSV results', () => built.csvResults.stop());
  built.csvResults.start();
  return built;
}

/** The dispatcher stops at the same time: to wait for HTTP callers first, then for calls to the API, takes too long. */
async function pushWebhookStop(life: Lifecycle, webhook: WebhookIntake, dispatcher: Dispatcher): Promise<void> {
  await life.push('webhook', async () => {
    dispatcher.stop().catch(() => undefined);
    await webhook.stop();
  });
}

/** Starts to move the stored times when the clock of this machine is set, and to compare it with that of the API. */
async function startClocks(
  { logger }: WorkerDeps,
  life: Lifecycle,
  clock: ContinuousClock,
  parts: Awaited<ReturnType<typeof startParts>>,
): Promise<readonly [ClockFollower, ApiClockCheck]> {
  const { store, dispatcher, apiClock, submission, notify } = parts;
  const onStep = async (stepMs: number): Promise<void> => {
    apiClock.stepped(stepMs);
    await dispatcher.pausesChanged();
    notify();
  };
  const follower = new ClockFollower({ store, clock, logger, onStep });
  await life.push('clock follower', () => follower.stop());
  follower.start();
  const check = new ApiClockCheck(submission);
  await life.push('API clock check', () => check.stop());
  check.start();
  return [follower, check];
}

/** Starts to read shops back. Returns the calls in which the commands of operators reach a shop or the API. */
async function startReadBack(life: Lifecycle, readBack: ReadBack): Promise<CommandCalls> {
  const operatorCalls = new CommandCalls();
  await life.push('operator calls', () => operatorCalls.stop());
  // Stops before the operator calls, because they wait for it: its stop aborts the runs that operators asked for.
  await life.push('read-back', () => readBack.stop());
  await readBack.start();
  return operatorCalls;
}

/** Starts the admin server, and announces it to the command line in the run file. */
async function startAdminServer(
  deps: PartDeps,
  life: Lifecycle,
  parts: Awaited<ReturnType<typeof startParts>>,
  current: CurrentConfig,
) {
  const { config, clock, version, pid } = deps;
  const { store, submission, wholesale, folder, webhook, readBack, apiClock } = parts;
  const { gate } = submission;
  const readBackCheck: HealthCheck = { name: 'read_back', readiness: false, check: () => readBack.health() };
  const checks: HealthCheck[] = [];
  const onUse = ({ intake }: Config): void => {
    if (intake.shops.some(({ rest }) => rest !== null) && !checks.includes(readBackCheck)) checks.push(readBackCheck);
  };
  const reloader = buildReloader(deps, { ...parts, gate, onUse }, current);
  const isSandbox = config.wholesale.environment === 'sandbox';
  const { disk, progress } = parts;
  const checked = { store, clock, disk, progress, intake: folder, webhook, reloader, apiClock, isSandbox };
  checks.push(...healthChecks(checked));
  onUse(config);
  const upkeep = await startUpkeep(deps, life, { store, checks });

  const admin = await startAdmin(
    deps,
    {
      ...parts,
      gate,
      callers: { readBack, catalogue: { ...submission, wholesale }, apiClock },
      calls: parts.operatorCalls,
      reloader,
      checks,
      draining: () => life.stopped,
    },
    current,
  );
  await life.push('admin server', () => admin.close());
  const refusedByAdmin = () => admin.refusedCallers;
  watchParts(deps.metrics, { ...parts, gate, reloader, checks, upkeep, refusedByAdmin }, deps, current);
  await startAlerts(deps, life, { store, checks });
  await writeRunFile(config.dataDir, {
    pid,
    started_at: isoTime(clock.wallMs()),
    version,
    admin_address: admin.address,
    control_token: admin.token,
  });
  await life.push('run file', () => removeRunFile(config.dataDir, pid));
  return { admin, reloader };
}
