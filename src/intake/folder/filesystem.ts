import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { howToOpen, letGroupIn, requireRealFolder, syncFolder } from '../../ops/files.ts';
import { DocumentError } from '../orders/document-error.ts';
import type { FolderSettings } from './settings.ts';

/**
 * Whether an error of the system concerns a file or a folder. Such errors may pass, so the intake
 * tries again later.
 */
export function isFilesystemError(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error &&
    'syscall' in error &&
    'code' in error &&
    typeof error.code === 'string' &&
    // A native module that cannot be loaded stays so until the next start.
    error.code !== 'ERR_DLOPEN_FAILED'
  );
}

export function hasErrno(error: unknown, ...codes: readonly string[]): boolean {
  return isFilesystemError(error) && codes.includes(error.code ?? '');
}

/**
 * Moves a file so that it is in its new place even after a power loss. Nothing else may use the
 * name `to`.
 */
export async function moveDurably(
  from: string | Buffer,
  fromFolder: string,
  to: string,
): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
  await syncFolder(fromFolder);
}

/** Identifies the content of a file: changes when the file is written to or replaced. */
export function signatureOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}`;
}

export async function signatureAt(path: string | Buffer): Promise<string | null> {
  try {
    return signatureOf(await lstat(path, { bigint: true }));
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * A link could point anywhere, and a FIFO would block: they throw DocumentError
 * `not_a_regular_file`.
 */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const seen = await lstat(path, { bigint: true });
  if (!seen.isFile()) throw notRegular();
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = await handle.stat({ bigint: true });
    if (!opened.isFile() || opened.ino !== seen.ino || opened.dev !== seen.dev) throw notRegular();
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function notRegular(): DocumentError {
  return new DocumentError(
    'not_a_regular_file',
    'This is a link, a pipe or a device, not a regular file.',
    {
      hint: 'Put the file itself into the inbox.',
    },
  );
}

const pieceBytes = 64 * 1024;

/**
 * Reads the first `size` bytes, and nothing that is appended meanwhile: the document was checked
 * without it.
 */
export async function* readPrefix(handle: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  let position = 0;
  while (position < size) {
    const length = Math.min(pieceBytes, size - position);
    const { bytesRead, buffer } = await handle.read(new Uint8Array(length), 0, length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The SHA-256 of a regular file, in hexadecimal; null when there is none. */
export async function contentHash(path: string): Promise<string | null> {
  try {
    const handle = await openRegularFile(path);
    try {
      const hash = createHash('sha256');
      for await (const piece of readPrefix(handle, Number.MAX_SAFE_INTEGER)) hash.update(piece);
      return hash.digest('hex');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * Creates missing folders, for this user and the group of the configuration, and renames a test
 * file between them: two mounts of one file system look alike, and still no file can be renamed
 * between them. Throws OrderSyncError FOLDER_UNUSABLE.
 */
export async function checkFolders(config: FolderSettings, probeId: string): Promise<void> {
  const { inbox, work, archive, rejected, gid, createsInbox } = config;
  const name = `.order-sync-probe-${probeId}`;
  let at = join(inbox, name);
  let place = inbox;
  let step = '';
  try {
    for (const folder of [inbox, work, archive, rejected]) {
      place = folder;
      step = `find ${folder}`;
      if (createsInbox || folder !== inbox) {
        step = `create ${folder}`;
        await mkdir(folder, { recursive: true, mode: 0o700 });
      }
      await requireRealFolder(folder);
      const mode = { [inbox]: 0o770, [rejected]: 0o750 }[folder];
      if (gid !== null && mode !== undefined) await letGroupIn(folder, { gid, mode });
    }
    place = inbox;
    step = `write in ${inbox}`;
    await writeFile(at, '', { flag: 'wx', mode: 0o600 });
    for (const folder of [work, archive, work, rejected]) {
      place = folder;
      const to = join(folder, name);
      step = `rename ${at} to ${to}`;
      await rename(at, to);
      at = to;
    }
  } catch (error) {
    throw unusable(step, place, error);
  } finally {
    await unlink(at).catch(() => undefined);
  }
}

function unusable(step: string, place: string, cause: unknown): unknown {
  if (!isFilesystemError(cause)) return cause;
  const hint = hasErrno(cause, 'EXDEV')
    ? 'inbox, work, archive and rejected must be on one mount: mount their common parent folder instead of each folder.'
    : hasErrno(cause, 'EACCES', 'EPERM', 'EROFS')
      ? howToOpen(place)
      : 'Check that the path is a folder, its volume mounted, and the disk not full.';
  return new OrderSyncError('FOLDER_UNUSABLE', `Cannot ${step}: ${cause.message}`, { hint, cause });
}
