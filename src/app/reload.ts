import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/config.ts';
import { shopIdentities } from '../config/shop-identities.ts';
import type { FolderIntake } from '../intake/folder/folder-intake.ts';
import type { WebhookIntake } from '../intake/http/webhook-intake.ts';
import { setLogLevel } from '../ops/logger.ts';
import type { Sink } from '../results/delivery-loop.ts';
import type { WriteBack } from '../results/write-back.ts';
import type { Store } from '../store/store.ts';
import type { ReadBack } from '../storefronts/read-back/read-back.ts';
import type { BudgetGate } from '../submit/budget-gate.ts';
import type { Dispatcher } from '../submit/dispatcher.ts';
import { buildStorefronts, type CurrentStorefronts } from './build-storefronts.ts';
import { ConfigReloader } from './config-reloader.ts';
import { resultSinks } from './result-sinks.ts';
import type { CurrentConfig, PartDeps } from './worker-deps.ts';

/** The parts that a reload changes. */
interface ReloadedParts {
  readonly store: Store;
  readonly gate: BudgetGate;
  readonly dispatcher: Dispatcher;
  readonly folder: FolderIntake;
  readonly webhook: WebhookIntake | null;
  readonly storefronts: CurrentStorefronts;
  readonly readBack: ReadBack;
  readonly results: WriteBack;
  readonly sinksOf: (config: Config) => readonly Sink[];
  /** Wakes every loop for which a new line in the outbox is work. */
  readonly notify: () => void;
  /** Called in the moment in which the new configuration takes effect. */
  readonly onUse: (next: Config) => void;
}

/** Builds the reload of the configuration. Null when the configuration cannot be read again. */
export function buildReloader(deps: PartDeps, parts: ReloadedParts, current: CurrentConfig): ConfigReloader | null {
  const { config, reading } = deps;
  if (reading === undefined) return null;
  return new ConfigReloader({
    inUse: { config, values: reading.values, digests: reading.digests },
    load: reading.load,
    prepare: async (next) => prepareConfig(deps, parts, current, next),
    logger: deps.logger.child({ component: 'config' }),
    nowMs: () => deps.clock.wallMs(),
  });
}

/** Prepares everything that can fail with the new configuration. Returns the function that puts it to use. */
function prepareConfig(
  deps: PartDeps,
  parts: ReloadedParts,
  current: CurrentConfig,
  next: Config,
): () => Promise<void> {
  const { logger, clock } = deps;
  const { store, gate, dispatcher, folder, webhook, storefronts, readBack, results, sinksOf, notify, onUse } = parts;
  const useFolder = folder.prepare(next.intake.folder);
  // Endpoints that stay the same keep their counts of requests, and the last good version of a broken SKU map.
  const isSame = next.intake.webhook === null || hasSameEndpoints(next, current.config);
  const intake = isSame ? storefronts.intake : buildStorefronts(deps, store, next, notify);
  const useEndpoints = isSame ? null : webhook?.prepare(next.intake.webhook, intake);
  // Last, because it opens connections, and nothing closes them when a later preparation fails.
  const useShops = readBack.prepare(next.intake.shops);
  return async () => {
    const { keys, limits } = next.wholesale;
    await store.storefronts.adoptShops({ shops: shopIdentities(next), nowMs: clock.wallMs() });
    const givenUp = await store.results.useSinks(resultSinks(next), clock.wallMs());
    if (givenUp > 0) logger.warn({ given_up: givenUp }, 'gave up deliveries to a sink that is no longer configured');
    const { replaced } = await store.submission.budget.adoptKeys({ keys, nowMs: clock.wallMs(), whileRunning: true });
    // From here to the dispatcher nothing waits and nothing fails: no call sees a part of the change only.
    current.config = next;
    gate.reload(
      keys.map((key) => key.name),
      limits,
      replaced,
    );
    storefronts.intake = intake;
    useEndpoints?.();
    useShops();
    onUse(next);
    useFolder();
    results.use(sinksOf(next));
    setLogLevel(logger, next.log.level);
    await dispatcher.reload(next.submit);
    await readBack.flagStranded();
  };
}

/** Whether webhooks arrive at the same endpoints with the same rules. How shops are read and written does not matter to them. */
function hasSameEndpoints(left: Config, right: Config): boolean {
  return isDeepStrictEqual(endpointsOf(left), endpointsOf(right));
}

function endpointsOf({ intake }: Config) {
  return [intake.webhook, intake.shops.map((shop) => ({ ...shop, rest: null, writeBack: null }))];
}
