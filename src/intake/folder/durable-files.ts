import type { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DocumentError } from '../parse/document-error.ts';

/** Makes names in a folder durable: a rename is not on disk before its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Moves a file; when this resolves, a power loss finds it in its new place. `to` must be a name nobody else uses. */
export async function moveDurably(from: string | Buffer, fromFolder: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
  await syncFolder(fromFolder);
}

/** Writes a whole file or none: under a temporary name, synced, then renamed. An older one of the same name is replaced. */
export async function writeDurably(folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, `.${name}.${randomBytes(6).toString('hex')}.tmp`);
  const handle = await open(temporary, 'wx', 0o600);
  try {
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, join(folder, name));
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await syncFolder(folder);
}

/**
 * Opens a regular file for reading, and nothing else: a symlink could point anywhere, a FIFO would block for ever.
 * Throws DocumentError `not_a_regular_file`.
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
  return new DocumentError('not_a_regular_file', 'It is a link, a pipe or a device, not a file with content.', {
    hint: 'Put the file itself into the inbox.',
  });
}

const pieceBytes = 64 * 1024;

/** Reads the first `size` bytes: what is appended later is not part of what was looked at. */
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
