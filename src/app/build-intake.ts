import type { Config } from '../config/config.ts';
import { assert, hasCode } from '../core/order-sync-error.ts';
import { FolderIntake } from '../intake/folder/folder-intake.ts';
import { WebhookIntake } from '../intake/http/webhook-intake.ts';
import type { DiskGuard } from '../ops/disk-guard.ts';
import { ReadBack } from '../storefronts/read-back/read-back.ts';
import type { Shop } from '../storefronts/settings.ts';
import type { ShopConnections } from '../storefronts/shop-connections.ts';
import { SkuFile } from '../storefronts/sku-file.ts';
import { type ShopHandler, StorefrontIntake } from '../storefronts/storefront-intake.ts';
import type { Store } from '../store/store.ts';
import type { CurrentStorefronts, PartDeps, WorkerDeps } from './worker-deps.ts';

/** Counts the lines that were accepted, by source, and wakes what works on them. */
const countAccepted =
  ({ metrics }: Partial<Pick<PartDeps, 'metrics'>>, notify: () => void) =>
  (lines: ReadonlyMap<string, number>): void => {
    metrics?.events.linesAccepted(lines);
    notify();
  };

/** Builds the intake of order files. It takes in nothing before its `start`. */
export function buildFolderIntakes(
  deps: PartDeps,
  store: Store,
  disk: DiskGuard,
  notify: () => void,
): FolderIntake[] {
  const { clock } = deps;
  return deps.config.intake.folders.map((config) => {
    const logger = deps.logger.child({ component: 'intake', folder: config.name });
    return new FolderIntake({
      store,
      clock,
      logger,
      config,
      openSkuMap: (path) => (path === null ? null : new SkuFile(path, clock, logger)),
      hasSpace: () => disk.hasSpace(),
      onAccepted: countAccepted(deps, notify),
      onFileEnded: (outcome) => deps.metrics.events.fileEnded(outcome),
    });
  });
}

/**
 * One that cannot be used does not stop the others. @throws OrderSyncError FOLDER_UNUSABLE when
 * none can be used
 */
export async function startFolders(folders: readonly FolderIntake[]): Promise<void> {
  const starts = await Promise.allSettled(folders.map((folder) => folder.start()));
  const failed = starts.filter((start) => start.status === 'rejected');
  const fatal = failed.find(
    ({ reason }) => failed.length === folders.length || !hasCode(reason, 'FOLDER_UNUSABLE'),
  );
  if (fatal !== undefined) throw fatal.reason;
}

/** Starts the intake over HTTP. Null when it is not configured. */
export async function startWebhook(
  deps: PartDeps,
  store: Store,
  shops: StorefrontIntake,
  notify: () => void,
  readBack: ReadBack,
): Promise<WebhookIntake | null> {
  const { clock, version } = deps;
  const config = deps.config.intake.webhook;
  if (config === null) return null;
  const logger = deps.logger.child({ component: 'webhook' });
  const onAccepted = countAccepted(deps, notify);
  return await WebhookIntake.start({
    store,
    clock,
    logger,
    config,
    openSkuMap: (path) => (path === null ? null : new SkuFile(path, clock, logger)),
    shops,
    version,
    readBack,
    onAccepted,
  });
}

/**
 * Builds the intake of the shops' orders. `onChanged`: the outbox has new lines, or lines were
 * taken back.
 */
export function buildStorefronts(
  deps: WorkerDeps & Partial<Pick<PartDeps, 'metrics'>>,
  store: Store,
  config: Config,
  onChanged: () => void,
): StorefrontIntake {
  const { clock } = deps;
  const logger = deps.logger.child({ component: 'webhook' });
  const intake = { shops: config.intake.shops, store: store.storefronts, clock, logger };
  return new StorefrontIntake({ ...intake, onChanged: countAccepted(deps, onChanged) });
}

/** Builds the reading of shops through their REST APIs. It reads nothing before its `start`. */
export function buildReadBack(
  deps: WorkerDeps & Partial<Pick<PartDeps, 'metrics'>>,
  store: Store,
  current: CurrentStorefronts,
  connections: ShopConnections,
): ReadBack {
  const { clock } = deps;
  const logger = deps.logger.child({ component: 'read-back' });
  const { shops } = deps.config.intake;
  const notRead = shops.filter(({ rest }) => rest === null).length;
  if (notRead > 0)
    logger.warn(
      { shops: notRead },
      'shops without a `rest` section: the worker misses orders whose webhook is lost',
    );
  const handlerOf = ({ platform, shop }: Shop): ShopHandler => {
    const handler = current.intake.handlerFor(platform, shop);
    assert(handler !== null, `a shop that is read back must have a webhook: ${platform} ${shop}`);
    return handler;
  };
  const onFound = (source: string): void => deps.metrics?.events.orderReadBack(source);
  return new ReadBack({
    shops,
    store: store.storefronts,
    clock,
    logger,
    connections,
    handlerOf,
    onFound,
  });
}
