import { closeSync, openSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { isBusy, lockHolder } from './disk-errors.ts';

/**
 * Proves that no other worker writes to this outbox: it holds an exclusive transaction on a small
 * database beside it. The operating system ends the transaction with the process, so a killed
 * worker leaves no stale lock, unlike a PID file.
 */
export interface WriterLock {
  release(): void;
}

export const writerLockPath = (databasePath: string): string => `${databasePath}-lock`;

/** @throws OrderSyncError DATABASE_LOCKED when another process holds the lock */
export function takeWriterLock(databasePath: string): WriterLock {
  const path = writerLockPath(databasePath);
  // SQLite would let every user read it. Its journal gets the same mode.
  closeSync(openSync(path, 'a', 0o600));
  const side = new SqliteDatabase(path, { timeout: 0 });
  try {
    side.pragma('journal_mode = DELETE');
    side.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    side.close();
    if (isBusy(error)) {
      throw new OrderSyncError(
        'DATABASE_LOCKED',
        `Another worker holds the outbox at ${databasePath}: ${lockHolder(path)}`,
        {
          hint: 'one worker per database: stop the other one first, or give this one its own data_dir and instance',
          cause: error,
        },
      );
    }
    throw error;
  }
  return {
    release(): void {
      if (!side.open) return;
      side.exec('ROLLBACK');
      side.close();
    },
  };
}
