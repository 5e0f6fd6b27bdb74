import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { schema, schemaVersion } from './schema.ts';

export type Database = Sqlite.Database;

/**
 * Opens the database of the sandbox and creates it when it is missing.
 * It sets synchronous=FULL and reads it back: better-sqlite3 uses NORMAL in WAL mode, with which a power cut can lose an
 * acknowledged order. Throws when the file has the tables of another version.
 */
export function openDatabase(path: string, durability: 'full' | 'relaxed'): Database {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true });
  const database = new Sqlite(path);
  try {
    database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'OFF'}`);
    database.pragma('foreign_keys = ON');
    database.pragma('busy_timeout = 5000');
    const wanted = durability === 'full' ? 2 : 0;
    if (database.pragma('synchronous', { simple: true }) !== wanted) {
      throw new Error('SQLite did not accept the synchronous mode, so commits would not be durable');
    }
    prepareTables(database, path);
  } catch (error) {
    database.close();
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
