import { Buffer } from 'node:buffer';
import { access, constants, link, readdir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { howToRead, syncFolder } from '../../ops/files.ts';
import type { OrderFiles } from '../../store/intake/files.ts';
import { markerSuffix, parseWorkName, workNameOf } from './file-names.ts';
import { contentHash, hasErrno, moveDurably, signatureAt } from './filesystem.ts';
import type { InboxFile } from './inbox.ts';
import { DocumentError } from '../orders/document-error.ts';
import type { FolderSettings } from './settings.ts';

/** A file in the work folder. Only this worker uses it; the outbox knows how far it was read. */
export interface ClaimedFile {
  readonly id: string;
  readonly name: string;
  readonly workName: string;
  /** Where it was in the inbox. Null: it is not put back there; absent: only its name is known. */
  readonly inboxPath?: string | Buffer | null;
}

const claimed = (id: string, name: string): ClaimedFile => ({
  id,
  name,
  workName: workNameOf(id, name),
});

/**
 * Claims a file by renaming it from the inbox to the work folder: exactly one of several workers
 * succeeds, and a crash leaves the file in one of the two folders. The marker is renamed first, so
 * a file in the work folder always has its marker. Null when another worker claimed it. Throws
 * errors of the file system, and OrderSyncError FOLDER_UNUSABLE for a file that must not be read.
 */
export async function claimFile(
  config: FolderSettings,
  file: InboxFile,
  id: string,
): Promise<ClaimedFile | null> {
  const claim = { ...claimed(id, file.name), inboxPath: file.isLong === true ? null : file.path };
  const workPath = join(config.work, claim.workName);
  try {
    if (file.kind === 'file')
      await access(file.path, constants.R_OK).catch((error: unknown) => {
        if (!hasErrno(error, 'EACCES')) throw error;
        throw new OrderSyncError('FOLDER_UNUSABLE', howToRead(join(config.inbox, file.name)));
      });
    if (config.ready === 'done_file') await claimWithMarker(config, file, workPath);
    else await moveDurably(file.path, config.inbox, workPath);
    return claim;
  } catch (error) {
    // The rename succeeded and only syncing the folders failed. If a power loss undoes the claim,
    // nothing is lost.
    if ((await signatureAt(workPath)) !== null) return claim;
    if (hasErrno(error, 'ENOENT') && (await signatureAt(file.path)) === null) return null;
    throw error;
  }
}

async function claimWithMarker(
  config: FolderSettings,
  file: InboxFile,
  workPath: string,
): Promise<void> {
  const marker = Buffer.concat([file.path, Buffer.from(markerSuffix)]);
  const claimedMarker = `${workPath}${markerSuffix}`;
  await rename(marker, claimedMarker);
  try {
    await moveDurably(file.path, config.inbox, workPath);
  } catch (error) {
    // Without its marker the file would wait forever.
    if ((await signatureAt(file.path)) !== null) await rename(claimedMarker, marker);
    throw error;
  }
}

/**
 * Claims a file again that was written to after it was read. It gets a new id, because it has
 * another content now.
 */
export async function reclaimFile(
  { work }: FolderSettings,
  file: { name: string; path: string },
  id: string,
): Promise<ClaimedFile> {
  const claim = claimed(id, file.name);
  await moveDurably(file.path, dirname(file.path), join(work, claim.workName));
  return claim;
}

/**
 * Puts a file back for its writer, unless the inbox has another of that name. After a crash it may
 * have both names.
 */
export async function returnFile(
  { inbox, work, ready }: FolderSettings,
  file: ClaimedFile,
): Promise<boolean> {
  const { inboxPath: to = null } = file;
  if (to === null || ready === 'done_file') return false;
  const path = join(work, file.workName);
  try {
    await link(path, to);
  } catch (error) {
    if (!hasErrno(error, 'EEXIST')) throw error;
    if ((await signatureAt(to)) !== (await signatureAt(path))) return false;
  }
  await syncFolder(inbox);
  await unlink(path);
  // A power loss must not bring this name back once the outbox says that the file was put back.
  await syncFolder(work);
  return true;
}

/**
 * Whether the file in the inbox waits for this marker, rather than for one that its sender has yet
 * to write.
 */
async function isWaiting(
  { inbox }: FolderSettings,
  files: OrderFiles,
  marker: { id: string; name: string },
) {
  const known = await files.find(marker.id);
  // Not all of its lines are in the outbox.
  if (known === null || known.state === 'claimed' || known.state === 'ingesting') return true;
  const path = join(inbox, marker.name.slice(0, -markerSuffix.length));
  try {
    return known.sha256 !== null && (await contentHash(path)) === known.sha256;
  } catch (error) {
    // Somebody put a link or a pipe there.
    if (error instanceof DocumentError) return false;
    throw error;
  }
}

/**
 * The files that an earlier run left in the work folder, oldest first, and the names there that it
 * did not write.
 */
export async function findUnfinishedFiles(
  config: FolderSettings,
  files: OrderFiles,
): Promise<{ unfinished: readonly ClaimedFile[]; foreign: readonly string[] }> {
  const names = (await readdir(config.work)).filter((name) => !name.startsWith('.')).toSorted();
  const present = new Set(names);
  const unfinished: ClaimedFile[] = [];
  const foreign: string[] = [];
  for (const workName of names) {
    const parsed = parseWorkName(workName);
    const isMarker = config.ready === 'done_file' && workName.endsWith(markerSuffix);
    if (parsed === null) foreign.push(workName);
    else if (!isMarker) unfinished.push({ ...parsed, workName });
    else if (!present.has(workName.slice(0, -markerSuffix.length)))
      await returnMarker(config, files, workName);
  }
  return { unfinished, foreign };
}

/**
 * A marker without its file: it was finished, or a crash or a power loss came between the two
 * renames.
 */
async function returnMarker(
  config: FolderSettings,
  files: OrderFiles,
  workName: string,
): Promise<void> {
  const parsed = parseWorkName(workName);
  const path = join(config.work, workName);
  if (parsed !== null && (await isWaiting(config, files, parsed))) {
    await link(path, join(config.inbox, parsed.name)).catch((error: unknown) => {
      // The inbox has a newer marker, which counts.
      if (!hasErrno(error, 'EEXIST')) throw error;
    });
    await syncFolder(config.inbox);
  }
  await unlink(path);
}
