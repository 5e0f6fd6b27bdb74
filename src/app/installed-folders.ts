import { existsSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';

/** The folders of the shop's side, with their keys, that are not there: mistyped, or on a volume that is not mounted. */
export function missingFolders({ intake, results }: Config) {
  const inbox = { key: 'intake.folder.inbox', path: intake.folder.inbox };
  return [inbox, { key: 'results.folder', path: results.folder }].filter(({ path }) => !existsSync(path));
}

/** A mistyped inbox would be watched in silence. @throws OrderSyncError FOLDER_UNUSABLE */
export function requireFolders(config: Config): void {
  const missing = missingFolders(config);
  if (missing.length === 0) return;
  const named = missing.map(({ key, path }) => `${path} (${key})`).join(', ');
  throw new OrderSyncError('FOLDER_UNUSABLE', `There is no folder ${named}`, {
    hint: 'correct the path, mount its volume, or make a new folder with `order-sync init`, which keeps what exists',
  });
}
