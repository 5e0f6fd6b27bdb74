import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { schema, schemaVersion } from './schema.ts';

export type Database = Sqlite.Database;

/** Another connection has the database open: mostly a second sandbox. */
export class DatabaseInUseError extends Error {
  readonly code = 'SANDBOX_DATABASE_IN_USE';

  constructor(path: string, cause: unknown) {
    super(`${path} is in use by another program: stop that one (a sandbox?), or give this one another database`, {
      cause,
    });
  }
}

/**
 * Opens the database of the sandbox and creates it when it is missing. Until it is closed, no other connection can read
 * or write it: two sandboxes on one database would each count only their own calls, and sell above the limits.
 * It sets synchronous=FULL and reads it back: better-sqlite3 uses NORMAL in WAL mode, with which a power cut can lose an
 * acknowledged order.
 * @throws DatabaseInUseError when another connection has the database open; Error when its tables are of another version
 */
export function openDatabase(path: string, durability: 'full' | 'relaxed'): Database {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite would let every user read it; its other files get the same mode.
    closeSync(openSync(path, 'a', 0o600));
  }
  // Two that start in the same moment can each keep the other from locking. Each tries again for so many milliseconds.
  const database = new Sqlite(path, { timeout: 500 });
  try {
    // The operating system ends this lock with the process, so a killed sandbox leaves none behind. It has to be set
    // before the first use of the write-ahead log.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'OFF'}`);
    database.pragma('foreign_keys = ON');
    const wanted = durability === 'full' ? 2 : 0;
    if (database.pragma('synchronous', { simple: true }) !== wanted) {
      throw new Error('SQLite did not accept the synchronous mode, so commits would not be durable');
    }
    prepareTables(database, path);
  } catch (error) {
    database.close();
    if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new DatabaseInUseError(path, error);
    }
    throw error;
  }
  return database;
}

function prepareTables(database: Database, path: string): void {
  const version = database.pragma('user_version', { simple: true });
  if (version === schemaVersion) return;
  if (version !== 0) {
    throw new Error(
      `${path} holds version ${String(version)} of the sandbox's tables, but this program knows ${schemaVersion}: start with an empty database`,
    );
  }
  database.transaction(() => {
    database.exec(schema);
    database.pragma(`user_version = ${schemaVersion}`);
  })();
}

/** Empties every table and restarts the row numbers, so a run after a reset repeats the first one. In a transaction. */
export function emptyDatabase(database: Database): void {
  const tables = database.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  // Until the commit, rows may refer to accounts and keys that are deleted already.
  database.pragma('defer_foreign_keys = ON');
  for (const table of tables) database.exec(`DELETE FROM ${table}`);
}
