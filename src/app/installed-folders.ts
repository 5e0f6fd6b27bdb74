import { existsSync, statSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';

/** The folders of the shop's side, with their keys, that are not there: mistyped, or on a volume that is not mounted. */
export function missingFolders({ intake, results }: Config) {
  const inbox = { key: 'intake.folder.inbox', path: intake.folder.inbox };
  return [inbox, { key: 'results.folder', path: results.folder }].filter(({ path }) => !existsSync(path));
}

/** Where order files are on another mount than the inbox, from which no file can be renamed there; null: nowhere. */
export function otherMount({ intake }: Config): string | null {
  const { inbox, work, archive, rejected } = intake.folder;
  const mount = statSync(inbox, { throwIfNoEntry: false })?.dev;
  const others = [work, archive, rejected].filter((path) => existsSync(path) && statSync(path).dev !== mount);
  if (mount === undefined || others.length === 0) return null;
  return `is on another mount than ${others.join(', ')}: no file can be renamed there; mount their common parent folder instead`;
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
