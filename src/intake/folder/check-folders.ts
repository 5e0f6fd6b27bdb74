import { mkdir, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { requireRealFolder } from '../../ops/files.ts';
import { hasErrno, isFilesystemError } from './filesystem.ts';
import type { FolderSettings } from './settings.ts';

/**
 * Creates missing folders, for this user only, and renames a test file between them, as order files will be: two mounts of one file system
 * look alike, and still no file can be renamed between them. Throws OrderSyncError FOLDER_UNUSABLE.
 */
export async function checkFolders(config: FolderSettings, probeId: string): Promise<void> {
  const { inbox, work, archive, rejected } = config;
  const name = `.order-sync-probe-${probeId}`;
  let at = join(inbox, name);
  let step = '';
  try {
    for (const folder of [inbox, work, archive, rejected]) {
      step = `create ${folder}`;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await requireRealFolder(folder);
    }
    step = `write in ${inbox}`;
    await writeFile(at, '', { flag: 'wx', mode: 0o600 });
    for (const folder of [work, archive, work, rejected]) {
      const to = join(folder, name);
      step = `rename ${at} to ${to}`;
      await rename(at, to);
      at = to;
    }
  } catch (error) {
    throw unusable(step, error);
  } finally {
    await unlink(at).catch(() => undefined);
  }
}

function unusable(step: string, cause: unknown): unknown {
  if (!isFilesystemError(cause)) return cause;
  const hint = hasErrno(cause, 'EXDEV')
    ? 'inbox, work, archive and rejected must be on one mount: mount their common parent folder instead of each.'
    : hasErrno(cause, 'EACCES', 'EPERM', 'EROFS')
      ? 'The user that runs order-sync must be allowed to write to these folders; the mount must not be read-only.'
      : 'Check that the path is a folder and that the disk is not full.';
  return new OrderSyncError('FOLDER_UNUSABLE', `Cannot ${step}: ${cause.message}`, { hint, cause });
}
