import type { Buffer } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../../ops/atomic-file.ts';
import { DocumentError } from '../orders/document-error.ts';

/** Moves a file; when this resolves, a power loss finds it in its new place. `to` must be a name nobody else uses. */
export async function moveDurably(from: string | Buffer, fromFolder: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
  await syncFolder(fromFolder);
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
