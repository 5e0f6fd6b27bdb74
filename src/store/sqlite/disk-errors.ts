import { Buffer } from 'node:buffer';
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname } from 'node:path';
import { codeOf, OrderSyncError } from '../../core/order-sync-error.ts';

const failures = /^SQLITE_(BUSY|FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/;
/** SQLite says so for a quota that is used up, and for some files that a full disk cannot hold. */
const failuresOfFullDisk = /^SQLITE_(IOERR|CANTOPEN)/;
const hardlyAnyBytes = 1_048_576;

export const freeSpace =
  'free some space on that disk, or raise its quota: the worker resumes by itself';

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
  return failures.test(codeOf(error) ?? '');
}

/**
 * Whether a file could not be written because the disk is full, or the quota of this user, for which
 * Node has no code of its own.
 */
export function isOutOfSpace(error: unknown): error is FileError {
  if (!(error instanceof Error)) return false;
  const { EDQUOT } = constants.errno;
  return codeOf(error) === 'ENOSPC' || ('errno' in error && error.errno === -EDQUOT);
}

/** Whether another program holds a lock on the database. */
export const isBusy = (error: unknown): boolean =>
  isDiskFailure(error) && error.code.startsWith('SQLITE_BUSY');

/** Only the system says why SQLite could not write: to a file of our own in the same folder. */
function isFullBeside(path: string): boolean {
  const probe = `${path}-probe`;
  try {
    const file = openSync(probe, 'w', 0o600);
    try {
      const bytes = Buffer.alloc(hardlyAnyBytes);
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return false;
  } catch (error) {
    return isOutOfSpace(error);
  } finally {
    rmSync(probe, { force: true });
  }
}

/** Who holds a write lock on one of these files, as far as the system tells. */
export function lockHolder(...paths: readonly string[]): string {
  try {
    const inodes = paths.map((path) => statSync(path, { throwIfNoEntry: false })?.ino);
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [, pid = '0', inode] = / WRITE (\d+) \S+:(\d+) /.exec(line) ?? [];
      if (pid === '0' || line.includes('->') || !inodes.includes(Number(inode))) continue;
      const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return `the process ${pid} (${basename(program)})`;
    }
  } catch {
    // Other systems do not tell, nor does this one about processes of other users.
  }
  return 'another program';
}

/** The error of this worker for a disk failure of the outbox at `path`. */
export function diskError(error: FileError, path: string): OrderSyncError {
  const { code, message: reason } = error;
  // In these two cases nothing of the step was written, and it can be repeated.
  if (isBusy(error)) {
    const holder = lockHolder(`${path}-shm`, path);
    const message = `The database ${path} is locked by ${holder}`;
    const hint =
      'end the transaction of that program, or end the program: the worker waits, and resumes by itself';
    return new OrderSyncError('DATABASE_BUSY', message, { hint, cause: error });
  }
  const isFull = code === 'SQLITE_FULL' || isOutOfSpace(error);
  if (isFull || (failuresOfFullDisk.test(code) && isFullBeside(path))) {
    const message = `The disk of ${dirname(path)} is full: the outbox cannot be written (${code})`;
    return new OrderSyncError('DISK_FULL', message, { hint: freeSpace, cause: error });
  }
  const message = `The database could not be written (${code}): ${reason}`;
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
  const message = `The disk of ${folder} is nearly full, so no new orders are accepted: ${freeBytes} bytes are free, ${neededBytes} are needed (disk.min_free_bytes)`;
  throw new OrderSyncError('DISK_FULL', message, { hint: freeSpace });
}
