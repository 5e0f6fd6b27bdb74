import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { OrderSyncError } from '../../core/order-sync-error.ts';

const failures = /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/;
/**
 * On a full disk SQLite also fails to grow the memory that connections share, and to create a file.
 */
const failuresOfFullDisk = /^SQLITE_(IOERR_SHM|CANTOPEN)/;
const hardlyAnyBytes = 1_048_576;

export const freeSpace = 'free some space on that disk: the worker resumes by itself';

/** Free space for an ordinary user on the disk of a folder, in bytes. */
export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** The size of a file, in bytes; 0 where there is none. */
export const sizeOf = (path: string): number =>
  statSync(path, { throwIfNoEntry: false })?.size ?? 0;

type FileError = Error & { readonly code: string };

/**
 * Whether the disk failed, rather than this one statement. By the code: a module that only reports
 * errors loads no SQLite.
 */
export function isDiskFailure(error: unknown): error is FileError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    failures.test(error.code)
  );
}

/** Whether a file could not be written because the disk is full. */
export function isOutOfSpace(error: unknown): error is FileError {
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC';
}

/** The error of this worker for a disk failure of the outbox at `path`. */
export function diskError(error: FileError, path: string): OrderSyncError {
  const { code } = error;
  const isFull = code === 'SQLITE_FULL' || code === 'ENOSPC';
  // Where it is full, nothing of the step was written, and it can be repeated.
  if (isFull || (failuresOfFullDisk.test(code) && freeBytesOf(dirname(path)) < hardlyAnyBytes)) {
    const message = `The disk of ${dirname(path)} is full: the outbox cannot be written (${code})`;
    return new OrderSyncError('DISK_FULL', message, { hint: freeSpace, cause: error });
  }
  const message = `The database could not be written (${error.code}): ${error.message}`;
  return new OrderSyncError('DATABASE_WRITE_FAILED', message, {
    cause: error,
    hint: 'check the disk; the worker stops sending, and resumes from the database when it is started again',
  });
}

/**
 * Keeps space free on the disk of the outbox, because the calls and deliveries of known orders must
 * be recorded: new orders are refused before that space is used. Requests about a known order are
 * still accepted: they may take something back.
 * @throws OrderSyncError DISK_FULL when there is no space for a new order
 */
export function requireReserve(databasePath: string, neededBytes: number): void {
  if (neededBytes === 0) return;
  const folder = dirname(databasePath);
  const freeBytes = freeBytesOf(folder);
  if (freeBytes >= neededBytes) return;
  const message = `The disk of ${folder} is nearly full, so no new orders are taken in: ${freeBytes} bytes are free, ${neededBytes} are needed (disk.min_free_bytes)`;
  throw new OrderSyncError('DISK_FULL', message, { hint: freeSpace });
}
