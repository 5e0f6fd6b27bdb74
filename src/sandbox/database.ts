import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { schema, schemaVersion } from './schema.ts';

export type Database = Sqlite.Database;

/**
 * Opens the sandbox's database, creating it when it is missing.
 * synchronous=FULL is set and read back, because better-sqlite3 silently gives NORMAL in WAL mode, and then a power
 * cut could take an acknowledged order with it. Throws when the file was made by another version.
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
      throw new Error('SQLite did not accept the wanted synchronous mode, so commits would not be durable');
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

const tablesOfARun = [
  'calls',
  'movements',
  'codes',
  'esims',
  'orders',
  'refusals',
  'stock',
  'sale_overrides',
  'one_time_codes',
  'sessions',
  'key_addresses',
  'keys',
  'balances',
  'accounts',
  'meta',
];

/** Empties every table, and starts all numbers over, so that a run after a reset repeats the first one. */
export function emptyDatabase(database: Database): void {
  for (const table of tablesOfARun) database.exec(`DELETE FROM ${table}`);
  database.exec('DELETE FROM sqlite_sequence');
}
