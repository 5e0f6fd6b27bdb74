import { existsSync, statSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { isThere } from '../store/sqlite/database.ts';

/**
 * The folders of the shop's side, with their keys, that are not there: mistyped, or on a volume
 * that is not mounted.
 */
export function missingFolders({ intake, results }: Config) {
  const inboxes = intake.folders.map(({ inbox }, index) => ({ key: inboxKey(index), path: inbox }));
  return [...inboxes, { key: 'results.folder', path: results.folder }].filter(
    ({ path }) => !isThere(path),
  );
}

/** The inboxes whose other folders are on another mount: no file can be renamed there. */
export function otherMounts({ intake }: Config) {
  return intake.folders.flatMap(({ inbox, work, archive, rejected }, index) => {
    const mount = statSync(inbox, { throwIfNoEntry: false })?.dev;
    const others = [work, archive, rejected].filter(
      (path) => existsSync(path) && statSync(path).dev !== mount,
    );
    if (mount === undefined || others.length === 0) return [];
    const problem = `is on another mount than ${others.join(', ')}: no file can be moved there; mount the common parent folder of both instead`;
    return [{ key: inboxKey(index), problem }];
  });
}

const inboxKey = (index: number): string => `intake.folders.${index}.inbox`;

/**
 * A mistyped inbox would be watched in silence. @param needsAll of the inboxes; else one. @throws
 * OrderSyncError FOLDER_UNUSABLE
 */
export function requireFolders(config: Config, needsAll: boolean): void {
  const missing = missingFolders(config);
  const hasOne =
    missing.length < config.intake.folders.length && missing.at(-1)?.key !== 'results.folder';
  if (missing.length === 0 || (hasOne && !needsAll)) return;
  const named = missing.map(({ key, path }) => `${path} (${key})`).join(', ');
  throw new OrderSyncError('FOLDER_UNUSABLE', `There is no folder ${named}`, {
    hint: 'correct the path, mount its volume, or make a new folder with `order-sync init`, which keeps existing folders',
  });
}
