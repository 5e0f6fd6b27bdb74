import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { OrderSyncError } from '../../core/order-sync-error.ts';

const failures = /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/;
/** On a full disk SQLite also fails to grow the memory that connections share, and to create a file. */
const failuresOfFullDisk = /^SQLITE_(IOERR_SHM|CANTOPEN)/;
const hardlyAnyBytes = 1_048_576;

/** The advice about a full disk. */
export const freeSpace = 'free some space on that disk: the worker resumes by itself';

/** Free space for an ordinary user on the disk of a folder, in bytes. */
export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

interface FileError extends Error {
  readonly code: string;
}

/** Whether the disk failed, rather than this one statement. By the code: a module that only reports errors loads no SQLite. */
export function isDiskFailure(error: unknown): error is FileError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && failures.test(error.code);
}

/** Whether the outbox at `path` had no space: then nothing of the step was written, and it can be repeated. */
function isFullDisk({ code }: FileError, path: string): boolean {
  if (code === 'SQLITE_FULL' || code === 'ENOSPC') return true;
  return failuresOfFullDisk.test(code) && freeBytesOf(dirname(path)) < hardlyAnyBytes;
}

/** Whether a file could not be written because the disk is full. */
export function isOutOfSpace(error: unknown): error is FileError {
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC';
}

/** The error of this worker for a disk failure of the outbox at `path`. */
export function diskError(error: FileError, path: string): OrderSyncError {
  if (isFullDisk(error, path)) {
    const message = `The disk of ${dirname(path)} is full: the outbox cannot be written (${error.code})`;
    return new OrderSyncError('DISK_FULL', message, { hint: freeSpace, cause: error });
  }
  return new OrderSyncError(
    'DATABASE_WRITE_FAILED',
    `The database could not be written (${error.code}): ${error.message}`,
    {
      cause: error,
      hint: 'check the disk; the worker stops sending, and resumes from the database when it is started again',
    },
  );
}

/**
 * Keeps space free on the disk of the outbox, because the calls and deliveries of known orders must be recorded. New orders are
 * refused before that space is used, whatever way they come. Requests about a known order are still accepted: they may take
 * something back.
 */
export class DiskReserve {
  readonly #folder: string;
  readonly #minFreeBytes: () => number;

  /** @param minFreeBytes how much must be free, as it is configured now */
  constructor(databasePath: string, minFreeBytes: () => number) {
    this.#folder = dirname(databasePath);
    this.#minFreeBytes = minFreeBytes;
  }

  /** @throws OrderSyncError DISK_FULL when there is no space for a new order */
  require(): void {
    const neededBytes = this.#minFreeBytes();
    if (neededBytes === 0) return;
    const freeBytes = freeBytesOf(this.#folder);
    if (freeBytes >= neededBytes) return;
    const message = `The disk of ${this.#folder} is nearly full, so no new orders are taken in: ${freeBytes} bytes are free, ${neededBytes} are needed (disk.min_free_bytes)`;
    throw new OrderSyncError('DISK_FULL', message, { hint: freeSpace });
  }
}
