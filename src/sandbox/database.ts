import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { applicationId, schema, schemaVersion } from './schema.ts';

export type Database = Sqlite.Database;

/** Why a database cannot be opened. IN_USE: another connection has it open, mostly a second sandbox. */
export class SandboxDatabaseError extends Error {
  readonly code: 'SANDBOX_DATABASE_IN_USE' | 'SANDBOX_DATABASE_UNKNOWN';

  constructor(code: SandboxDatabaseError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/**
 * Opens the database of the sandbox and creates it when it is missing. Until it is closed, no other connection can read
 * or write it: two sandboxes on one database would each count only their own calls, and sell above the limits.
 * It sets synchronous=FULL and reads it back: better-sqlite3 uses NORMAL in WAL mode, with which a power cut can lose an
 * acknowledged order.
 * @throws SandboxDatabaseError
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
      const message = `${path} is in use by another program: stop that one (a sandbox?), or give this one another database`;
      throw new SandboxDatabaseError('SANDBOX_DATABASE_IN_USE', message, error);
    }
    throw error;
  }
  return database;
}

/** Makes the tables in an empty file. Any other file must be one of ours: a reset would empty also the outbox of a worker. */
function prepareTables(database: Database, path: string): void {
  const numberOf = (pragma: string): unknown => database.pragma(pragma, { simple: true });
  const [id, version] = [numberOf('application_id'), numberOf('user_version')];
  if (id === applicationId && version === schemaVersion) return;
  if (tablesOf(database).length > 0 || version !== 0) {
    const found = id === applicationId ? `version ${String(version)} of the tables` : 'the tables of another program';
    const message = `${path} holds ${found}, not version ${schemaVersion} of the sandbox's: name another file, or delete it if an earlier sandbox made it`;
    throw new SandboxDatabaseError('SANDBOX_DATABASE_UNKNOWN', message);
  }
  database.transaction(() => {
    database.exec(schema);
    database.pragma(`application_id = ${applicationId}`);
    database.pragma(`user_version = ${schemaVersion}`);
  })();
}

/** Empties every table and restarts the row numbers, so a run after a reset repeats the first one. In a transaction. */
export function emptyDatabase(database: Database): void {
  // Until the commit, rows may refer to accounts and keys that are deleted already.
  database.pragma('defer_foreign_keys = ON');
  for (const table of tablesOf(database)) database.exec(`DELETE FROM ${table}`);
}

function tablesOf(database: Database): string[] {
  return database.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
}
