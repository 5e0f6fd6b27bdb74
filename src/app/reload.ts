import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import {
  planReload,
  readUntilStable,
  type ConfigInUse,
  type ReloadReport,
} from '../config/reload-plan.ts';
import type { Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import { connectorHash, readWire } from '../wholesale/connector/wire.ts';
import { shopIdentities } from '../config/shop-identities.ts';
import { setLogLevel } from '../ops/logger.ts';
import { writeBackName } from '../storefronts/write-back.ts';
import type { Shop } from '../storefronts/settings.ts';
import { buildStorefronts } from './build-intake.ts';
import { resultSinks, writtenShops } from './open-outbox.ts';
import type { CurrentConfig, PartDeps, WorkerDeps, WorkerParts } from './worker-deps.ts';

/**
 * Null when the configuration cannot be read again. `onUse` is called when the new one takes
 * effect.
 */
export function buildReloader(
  deps: PartDeps,
  parts: WorkerParts,
  current: CurrentConfig,
  onUse: (next: Config) => void,
): ConfigReloader | null {
  if (deps.reading === undefined) return null;
  return new ConfigReloader(deps, deps.reading, (next) =>
    prepareConfig(deps, parts, current, next, onUse),
  );
}

/**
 * Prepares everything that can fail, without any change. Returns the function that puts the new
 * configuration to use.
 */
type Prepare = (next: Config) => () => Promise<void>;

function prepareConfig(
  deps: PartDeps,
  parts: WorkerParts,
  current: CurrentConfig,
  next: Config,
  onUse: (next: Config) => void,
): ReturnType<Prepare> {
  const { logger, clock } = deps;
  const {
    store,
    submission,
    dispatcher,
    folders,
    webhook,
    storefronts,
    readBack,
    results,
    notify,
  } = parts;
  const nextWebhook = next.intake.webhook;
  const wire = readWire(next.wholesale.wire);
  const useFolders = next.intake.folders.map((settings, index) =>
    folders[index]?.prepare(settings),
  );
  // Endpoints that stay the same keep their counts of requests, and the last good version of a
  // broken SKU map.
  const isSame =
    nextWebhook === null || isDeepStrictEqual(endpointsOf(next), endpointsOf(current.config));
  const intake = isSame ? storefronts.intake : buildStorefronts(deps, store, next, notify);
  const useEndpoints = isSame ? null : webhook?.prepare(nextWebhook, intake);
  // Last, because it opens connections, and nothing closes them when a later preparation fails.
  const useShops = readBack.prepare(next.intake.shops);
  return async () => {
    const { keys, limits } = next.wholesale;
    const shops = shopIdentities(next);
    const adopted = { keys, shops, sinks: resultSinks(next), nowMs: clock.wallMs() };
    const { givenUp: given_up, replaced } = await store.adoptConfig(adopted);
    if (given_up > 0)
      logger.warn({ given_up }, 'gave up deliveries to a sink that is no longer configured');
    const before = current.config.intake.shops;
    const useWire = (): void => submission.wholesale.useWire(wire);
    await submission.steps.adoptConnector(connectorHash(wire), clock.wallMs(), useWire);
    // From here to the dispatcher there is no wait and no failure, so every call sees the whole
    // change.
    current.config = next;
    const names = keys.map((key) => key.name);
    submission.gate.reload(names, limits, replaced);
    storefronts.intake = intake;
    useEndpoints?.();
    useShops();
    onUse(next);
    for (const use of useFolders) use?.();
    results.deliveries.use(results.sinksOf(next));
    setLogLevel(logger, next.log.level);
    await dispatcher.reload({ ...next.submit, spending: next.spend });
    await readBack.flagStranded();
    await resumeChangedShops(store, before, next.intake.shops);
    notify();
  };
}

/** Writes results into the shops whose access has changed: another key may write what was refused. */
async function resumeChangedShops(
  store: Store,
  before: readonly Shop[],
  after: readonly Shop[],
): Promise<void> {
  const known = before.map(({ rest }) => JSON.stringify(rest));
  for (const shop of writtenShops(after).filter(
    ({ rest }) => !known.includes(JSON.stringify(rest)),
  ))
    await store.results.resumeSink(writeBackName(shop), true);
}

/**
 * What the endpoints of webhooks depend on. How shops are read and written does not matter to them.
 */
const endpointsOf = ({ intake }: Config) => [
  intake.webhook,
  intake.shops.map((shop) => ({ ...shop, rest: null, writeBack: null })),
];

/**
 * Reads the configuration again while the worker runs. A change is applied as a whole or not at
 * all: an invalid configuration is refused with the messages of `check-config`, and the one in use
 * stays.
 */
export class ConfigReloader {
  readonly #load: NonNullable<WorkerDeps['reading']>['load'];
  readonly #prepare: Prepare;
  readonly #logger: Logger;
  readonly #clock: Clock;
  #inUse: ConfigInUse;
  #refused = false;
  #succeededAtMs: number;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    { config, clock, logger }: WorkerDeps,
    { load, ...reading }: NonNullable<WorkerDeps['reading']>,
    prepare: Prepare,
  ) {
    this.#load = load;
    this.#prepare = prepare;
    this.#logger = logger.child({ component: 'config' });
    this.#clock = clock;
    this.#inUse = { ...reading, config };
    this.#succeededAtMs = clock.wallMs();
  }

  /**
   * Whether the last reload succeeded, and when one did last; at first, when the worker started.
   */
  last(): { readonly succeeded: boolean; readonly succeededAtMs: number } {
    return { succeeded: !this.#refused, succeededAtMs: this.#succeededAtMs };
  }

  /** `warn` after a refused reload, until the next reload succeeds. */
  health(): 'pass' | 'warn' {
    return this.#refused ? 'warn' : 'pass';
  }

  get inUse(): ConfigInUse {
    return this.#inUse;
  }

  /**
   * Waits for one that is under way. @throws OrderSyncError CONFIG_INVALID when the new
   * configuration is refused
   */
  reload(asked: string): Promise<ReloadReport> {
    const turn = this.#turn.then(() => this.#reload(asked));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #reload(asked: string): Promise<ReloadReport> {
    const logger = this.#logger;
    try {
      const next = readUntilStable(this.#load);
      const plan = planReload(this.#inUse, next);
      const { applied, needRestart } = plan;
      if (applied.length > 0) await this.#prepare(plan.config)();
      this.#inUse = plan;
      this.#refused = false;
      this.#succeededAtMs = this.#clock.wallMs();
      for (const warning of next.warnings) logger.warn(warning);
      const line = { asked, applied, need_restart: needRestart };
      if (needRestart.length === 0)
        logger.info(line, applied.length === 0 ? 'reloaded: nothing changed' : 'reloaded');
      else logger.warn(line, 'reloaded; the keys in need_restart take effect after a restart');
      return { applied, needRestart, warnings: next.warnings };
    } catch (error) {
      this.#refused = true;
      logger.error({ asked, err: error }, 'reload refused; the configuration in use stays');
      throw error;
    }
  }
}
