import { FolderIntake } from '../intake/folder/folder-intake.ts';
import { WebhookIntake } from '../intake/http/webhook-intake.ts';
import type { DiskGuard } from '../ops/disk-guard.ts';
import type { ReadBack } from '../storefronts/read-back/read-back.ts';
import { SkuFile } from '../storefronts/sku-file.ts';
import type { StorefrontIntake } from '../storefronts/storefront-intake.ts';
import type { Store } from '../store/store.ts';
import type { PartDeps } from './worker-deps.ts';

/** Builds the intake of order files. It takes in nothing before its `start`. */
export function buildFolderIntake(deps: PartDeps, store: Store, disk: DiskGuard, onAccepted: () => void): FolderIntake {
  const { config, clock } = deps;
  const { events } = deps.metrics;
  const logger = deps.logger.child({ component: 'intake' });
  const openSkuMap = (path: string): SkuFile => new SkuFile(path, clock, logger);
  return new FolderIntake({
    store,
    clock,
    logger,
    config: config.intake.folder,
    openSkuMap,
    hasSpace: () => disk.hasSpace(),
    onAccepted: (lines) => {
      events.linesAccepted(lines);
      onAccepted();
    },
    onFileEnded: (outcome) => events.fileEnded(outcome),
  });
}

/** Starts the intake over HTTP. Null when it is not configured. */
export async function startWebhook(
  deps: PartDeps,
  store: Store,
  shops: StorefrontIntake,
  onAccepted: () => void,
  readBack: ReadBack,
): Promise<WebhookIntake | null> {
  const { clock, version } = deps;
  const config = deps.config.intake.webhook;
  if (config === null) return null;
  const logger = deps.logger.child({ component: 'webhook' });
  return await WebhookIntake.start({
    store,
    clock,
    logger,
    config,
    shops,
    version,
    readBack,
    onAccepted: (lines) => {
      deps.metrics.events.linesAccepted(lines);
      onAccepted();
    },
  });
}
