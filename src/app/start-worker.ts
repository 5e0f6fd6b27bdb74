import { existsSync, mkdirSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Config, LoadedConfig } from '../config/config.ts';
import { readReferenceSecret } from '../config/reference-secret.ts';
import { shopIdentities } from '../config/shop-identities.ts';
import { isoTime, type Clock, type Random } from '../core/clock.ts';
import { isCalling, type CallingCommand, type CommandResult } from '../core/entry/operator-command.ts';
import { assert } from '../core/order-sync-error.ts';
import { usualTries } from '../core/decision/settlement.ts';
import { controlRoutes } from '../admin/control-routes.ts';
import { healthChecks } from '../admin/health-checks.ts';
import { ConfigReloader, type ReloadDeps } from './config-reloader.ts';
import type { ReloadReport } from '../config/reload.ts';
import { loggable, performInWorker, type CommandSettings } from '../admin/perform-command.ts';
import { readCatalogue, type CatalogueDeps } from '../submit/read-catalogue.ts';
import { createFolderIntake } from '../intake/folder/folder-intake.ts';
import type { StorefrontIntake } from '../storefronts/storefront-intake.ts';
import { startWebhookIntake, type WebhookIntake } from '../intake/http/webhook-intake.ts';
import { newControlToken } from '../admin/control-token.ts';
import { startHealthServer, type HealthCheck } from '../admin/health-server.ts';
import { Lifecycle } from '../ops/lifecycle.ts';
import { setLogLevel } from '../ops/logger.ts';
import { OpenCalls } from '../ops/open-calls.ts';
import { removeRunFile, writeRunFile } from '../ops/run-file.ts';
import { Reconcile } from '../storefronts/read-back/read-back.ts';
import type { TakeOrder } from '../storefronts/read-back/shop-reader.ts';
import { WriteBack } from '../results/write-back.ts';
import { openStore } from '../store/sqlite-store.ts';
import { watchDatabase } from '../store/sqlite/watch-database.ts';
import type { Store } from '../store/store.ts';
import type { AttemptDeps } from '../submit/attempt.ts';
import { BudgetGate } from '../submit/budget-gate.ts';
import { Dispatcher } from '../submit/dispatcher.ts';
import { LookupCheck } from '../submit/lookup-check.ts';
import { Pauses } from '../submit/pauses.ts';
import { createWholesaleClient, type WholesaleClient } from '../wholesale/client.ts';
import { readWire } from '../wholesale/connector/read-wire.ts';

export interface WorkerDeps {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly version: string;
  readonly pid: number;
  /** What `config` was read from, to read it again; without it, a reload is refused. */
  readonly reading?: { readonly digests: LoadedConfig['digests']; readonly load: () => LoadedConfig };
}

export interface RunningWorker {
  /** `host:port` of the health pages, as they really listen. */
  readonly adminAddress: string;
  /** `host:port` where orders are received over HTTP; null when that is not configured. */
  readonly webhookAddress: string | null;
  readonly store: Store;
  /** Rejects when the worker must not go on, for example because what it does cannot be recorded. Never resolves. */
  readonly failed: Promise<never>;
  /** Reads the configuration again; null when it was not read from anything. Rejects when the new one is refused. */
  readonly reload: ((asked: string) => Promise<ReloadReport>) | null;
  /** Drains and releases everything; may be called again. */
  stop(): Promise<void>;
}

/**
 * Opens the outbox of a configuration as its only writer: for the worker, or for one step of the command line while no
 * worker runs.
 * @param init whether a missing database, and a missing secret with it, may be made
 */
export function openOutbox(config: Config, init: Config['init']): Store {
  const mayInit = init === 'if-missing' && !existsSync(config.databasePath);
  if (mayInit) mkdirSync(config.dataDir, { recursive: true, mode: 0o750 });
  return openStore({
    path: config.databasePath,
    init,
    namespace: {
      instance: config.instance,
      prefix: config.reference.prefix,
      // A database without its secret is never given a new one: the same orders would get other references.
      secret: readReferenceSecret(config.reference.secretFile, mayInit),
    },
    upstream: config.wholesale.upstream,
    sinks: ['folder', ...(config.results.callback === null ? [] : ['callback'])],
  });
}

const keyNamesOf = (config: Config): string[] => config.wholesale.keys.map((key) => key.name);

function attemptDeps(
  deps: WorkerDeps,
  store: Store,
  wholesale: AttemptDeps['wholesale'],
  inUse: () => Config,
): AttemptDeps {
  const { config, clock, random, logger } = deps;
  const { limits } = config.wholesale;
  return {
    store,
    wholesale,
    gate: new BudgetGate(keyNamesOf(config), limits, clock),
    lookups: new LookupCheck(store),
    pauses: new Pauses({ store, clock, random, retryTimeScale: config.submit.retryTimeScale }),
    clock,
    random,
    logger: logger.child({ component: 'submit' }),
    limits,
    policy: { ...usualTries, ...config.submit },
    keyValue: (name) => inUse().wholesale.keys.find((key) => key.name === name)?.value ?? null,
  };
}

/** What a command needs to know of a configuration. */
export function commandSettings(config: Config): CommandSettings {
  const { lookup } = readWire(config.wholesale.wire);
  const families = ['gift_card', 'esim'] as const;
  return {
    keyNames: keyNamesOf(config),
    referenceExpiryMs: config.submit.referenceExpiryMs,
    lookupFamilies: families.filter((family) => lookup[family] !== 'off'),
  };
}

function clientOf({ config, clock, version }: WorkerDeps): WholesaleClient {
  const { timeouts, baseUrl, wire } = config.wholesale;
  return createWholesaleClient({ baseUrl, wire: readWire(wire), timeouts, clock, version });
}

/** What a command that calls others needs: in the worker, or beside the outbox while none runs. */
export interface Callers {
  readonly reconcile: Reconcile;
  readonly catalogue: CatalogueDeps;
  readonly signal: AbortSignal;
}

/** @throws OrderSyncError NOT_FOUND when no such shop is read back */
export async function performCalls(callers: Callers, command: CallingCommand): Promise<CommandResult> {
  if (command.action === 'read_catalogue') {
    const { variants, plans, withinMs } = command;
    const question = { variants, plans, withinMs, signal: callers.signal };
    return { kind: 'catalogue', ...(await readCatalogue(callers.catalogue, question)) };
  }
  const { shop, sinceMs } = command;
  return { kind: 'reconciled', shops: await callers.reconcile.run({ shop, sinceMs }) };
}

/** Does such a command while no worker runs, on the budget that the last one left. */
export async function performCallsHere(
  deps: WorkerDeps,
  store: Store,
  desk: StorefrontIntake,
  command: CallingCommand,
): Promise<CommandResult> {
  const { config, clock } = deps;
  const bootId = clock.bootId ?? null;
  const wholesale = clientOf(deps);
  const submission = attemptDeps(deps, store, wholesale, () => config);
  const { gate } = submission;
  await store.storefronts.adoptShops({ shops: shopIdentities(config), nowMs: clock.wallMs() });
  // A value that got another name since brings what is held of its budget along.
  await store.submission.budget.adoptKeys({ keys: config.wholesale.keys, nowMs: clock.wallMs(), whileRunning: false });
  gate.restore(await store.submission.budget.restoreSlots({ settledMono: gate.restartSettlesAtMs(), bootId }));
  gate.restoreBackOffs(await store.submission.budget.restoreBackOffs({ nowMono: clock.monoMs(), bootId }));
  const reconcile = createReconcile(deps, store, () => desk);
  const { signal } = new AbortController();
  try {
    return await performCalls({ reconcile, catalogue: { ...submission, wholesale }, signal }, command);
  } finally {
    await reconcile.stop();
    await wholesale.close();
  }
}

/** Reads shops back, into the same place that their webhooks lead to. */
function createReconcile(
  deps: Pick<WorkerDeps, 'config' | 'clock' | 'logger' | 'version'>,
  store: Store,
  desk: () => StorefrontIntake,
): Reconcile {
  const { clock, version } = deps;
  const logger = deps.logger.child({ component: 'reconcile' });
  const shops = deps.config.intake.readBack;
  const { woocommerce = [], shopify = [] } = deps.config.intake.webhook ?? {};
  const blind = woocommerce.length + shopify.length - shops.length;
  if (blind > 0)
    logger.warn({ shops: blind }, 'shops without a `rest` section: an order whose webhook is lost is lost');
  const take: TakeOrder = async ({ platform, shop }, value, refunds) => {
    const counter = desk().counter(platform, shop);
    assert(counter !== null, `a shop that is read back has a webhook: ${platform} ${shop}`);
    return await desk().take(counter, { value, isTest: false, refunds });
  };
  return new Reconcile({ shops, store, clock, logger, version, take });
}

async function startWebhook(
  deps: WorkerDeps,
  store: Store,
  onAccepted: () => void,
  readBack: Reconcile,
): Promise<WebhookIntake | null> {
  const { clock, version } = deps;
  const config = deps.config.intake.webhook;
  if (config === null) return null;
  const logger = deps.logger.child({ component: 'webhook' });
  return await startWebhookIntake({ store, clock, logger, config, version, onAccepted, readBack });
}

function writeBack(deps: WorkerDeps, store: Store, inUse: () => Config): WriteBack {
  const { config, clock, version } = deps;
  const { folder, callback } = config.results;
  return new WriteBack({
    store,
    clock,
    logger: deps.logger.child({ component: 'results' }),
    folder,
    // It neither comes nor goes with a reload, but where it leads to and what signs it may change.
    callback: callback === null ? null : () => inUse().results.callback ?? callback,
    version,
    retryTimeScale: config.submit.retryTimeScale,
  });
}

function configReloader(
  { config, reading, logger }: WorkerDeps,
  prepare: ReloadDeps['prepare'],
): ConfigReloader | null {
  if (reading === undefined) return null;
  const { digests, load } = reading;
  return new ConfigReloader({
    inUse: { config, digests },
    load,
    prepare,
    logger: logger.child({ component: 'config' }),
  });
}

/**
 * Builds the worker from a config and starts it; owns the order in which its parts stop. Before it resolves, what an
 * earlier run left open has been taken up. Throws the first failure, after everything that had started was released.
 */
export async function startWorker(deps: WorkerDeps): Promise<RunningWorker> {
  const { config, clock, logger } = deps;
  const life = new Lifecycle();
  return await life.start(async () => {
    const store = openOutbox(config, config.init);
    await life.push('store', () => store.close());
    const incarnationId = await store.beginIncarnation({
      bootId: clock.bootId ?? null,
      version: deps.version,
      nowMs: clock.wallMs(),
    });
    await life.push('incarnation', () => store.endIncarnation(incarnationId, clock.wallMs()));
    const watch = watchDatabase(store, clock);
    await life.push('database watch', () => watch.stop());
    await store.storefronts.adoptShops({ shops: shopIdentities(config), nowMs: clock.wallMs() });

    const wholesale = clientOf(deps);
    await life.push('wholesale client', () => wholesale.close());

    mkdirSync(config.results.folder, { recursive: true, mode: 0o750 });
    // What a reload changes; everything else keeps the config of the start.
    let inUse = config;
    const deliveries = writeBack(deps, store, () => inUse);
    await life.push('deliveries', () => deliveries.stop());
    await deliveries.start();

    let webhook: WebhookIntake | null = null;
    const onSettled = (): void => {
      deliveries.notify();
      webhook?.notify();
    };
    const { budget } = store.submission;
    await budget.adoptKeys({ keys: config.wholesale.keys, nowMs: clock.wallMs(), whileRunning: false });
    const submission = attemptDeps(deps, store, wholesale, () => inUse);
    const dispatcher = new Dispatcher(
      { ...submission, onSettled },
      {
        incarnationId,
        concurrency: config.submit.concurrency,
        maxUnknownOutcomes: config.submit.maxUnknownOutcomes,
        graceMs: config.shutdown.graceMs,
      },
    );
    await life.push('dispatcher', () => dispatcher.stop());
    await dispatcher.start();

    const onAccepted = (): void => {
      dispatcher.notify();
      deliveries.notify();
    };
    const intake = createFolderIntake({
      store,
      clock,
      logger: logger.child({ component: 'intake' }),
      config: config.intake.folder,
      onAccepted,
    });
    await life.push('folder intake', () => intake.stop());
    await intake.start();

    const reconcile = createReconcile(deps, store, () => {
      assert(webhook !== null, 'shops are read back only where their webhooks are received');
      return webhook.desk;
    });
    webhook = await startWebhook(deps, store, onAccepted, reconcile);
    if (webhook !== null) {
      await life.push('webhook', async () => {
        // Callers and calls that hang are waited for together: one after the other would take longer than there is.
        dispatcher.stop().catch(() => undefined);
        await webhook?.stop();
      });
    }
    const catalogue = { ...submission, wholesale };
    const calls = new OpenCalls();
    await life.push('calls of people', () => calls.stop());
    // Stopped before them: it breaks off the runs that people asked for, which they wait for.
    await life.push('reconcile', () => reconcile.stop());
    await reconcile.start();
    const readBackCheck: HealthCheck = { name: 'reconcile', readiness: false, check: () => reconcile.health() };

    const prepare = async (next: Config): Promise<() => Promise<void>> => {
      const lanes = reconcile.prepare(next.intake.readBack);
      // Doors that stay as they are keep their count of who called how often, and a SKU map that waits to be repaired.
      const isSameDoor = isDeepStrictEqual(next.intake.webhook, inUse.intake.webhook);
      const doors = next.intake.webhook === null || isSameDoor ? null : webhook?.prepare(next.intake.webhook);
      return async () => {
        const { keys, limits } = next.wholesale;
        await store.storefronts.adoptShops({ shops: shopIdentities(next), nowMs: clock.wallMs() });
        const { replaced } = await budget.adoptKeys({ keys, nowMs: clock.wallMs(), whileRunning: true });
        // From here on nothing waits and nothing fails, so that no call sees one half of it.
        inUse = next;
        submission.gate.reload(keyNamesOf(next), limits, replaced);
        doors?.();
        lanes();
        if (next.intake.readBack.length > 0 && !checks.includes(readBackCheck)) checks.push(readBackCheck);
        intake.reload(next.intake.folder);
        setLogLevel(logger, next.log.level);
        await dispatcher.reload(next.submit);
        await reconcile.tellStranded();
      };
    };
    const desk = configReloader(deps, prepare);
    const checks = healthChecks({ store, intake, webhook, desk });
    if (config.intake.readBack.length > 0) checks.push(readBackCheck);
    const { host, port } = config.admin.listen;
    const draining = (): boolean => life.stopped;
    const token = newControlToken();
    const control = controlRoutes({
      token,
      host,
      draining,
      reload: desk === null ? null : () => desk.reload('command'),
      logger: logger.child({ component: 'control' }),
      perform: async (command) => {
        if (isCalling(command)) {
          return await calls.run((signal) => performCalls({ reconcile, catalogue, signal }, command));
        }
        const worker = {
          pausesChanged: () => dispatcher.pausesChanged(),
          notify: () => {
            onAccepted();
            webhook?.notify();
          },
        };
        const result = await performInWorker(worker, store, command, commandSettings(inUse), clock);
        logger.info(loggable(command), 'a person acted');
        return result;
      },
    });
    const health = await startHealthServer({ host, port, version: deps.version, checks, draining, more: control });
    await life.push('health server', () => health.close());
    await writeRunFile(config.dataDir, {
      pid: deps.pid,
      started_at: isoTime(clock.wallMs()),
      version: deps.version,
      admin_address: health.address,
      control_token: token,
    });
    await life.push('run file', () => removeRunFile(config.dataDir, deps.pid));

    const parts = [dispatcher, deliveries, intake, watch, ...(webhook === null ? [] : [webhook])];
    const failed = Promise.race(parts.map((part) => part.failed));
    failed.catch(() => undefined);
    logger.info(
      {
        upstream: config.wholesale.upstream,
        admin: health.address,
        ...(webhook === null ? {} : { webhook: webhook.address }),
        ...store.read.backlog(),
      },
      'worker started',
    );
    const webhookAddress = webhook?.address ?? null;
    const reload = desk === null ? null : (asked: string) => desk.reload(asked);
    return { adminAddress: health.address, webhookAddress, store, failed, reload, stop: () => life.stop() };
  });
}
