import { openReadOnly } from './database.ts';
import { migrations, refuseNewer, schemaVersion } from './migrate.ts';

/** What a look at a database file finds. */
export interface DatabaseInspection {
  /** What SQLite finds wrong with the file, and rows that refer to nothing; empty when it is sound. */
  readonly problems: readonly string[];
  readonly schemaVersion: number;
  /** The newest schema that this program knows; an older database is brought up to date by the next `run`. */
  readonly newestSchema: number;
  readonly sqliteVersion: string;
  /** What the database is stamped with; null before it was. */
  readonly upstream: string | null;
}

/**
 * Reads a whole database and checks it, beside a running worker or without one.
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_NEWER
 */
export function inspectDatabase(path: string): DatabaseInspection {
  const database = openReadOnly(path);
  try {
    refuseNewer(database);
    const integrity = database.prepare<[], string>('PRAGMA integrity_check(20)').pluck().all();
    const dangling = database
      .prepare<[], { table: string; rowid: number; parent: string }>('PRAGMA foreign_key_check')
      .all()
      .map(({ table, rowid, parent }) => `${table} row ${rowid} refers to a missing row of ${parent}`);
    return {
      problems: [...integrity.filter((line) => line !== 'ok'), ...dangling],
      schemaVersion: schemaVersion(database),
      newestSchema: migrations().length,
      sqliteVersion: String(database.prepare('SELECT sqlite_version()').pluck().get()),
      upstream: database.prepare<[], string>("SELECT value FROM meta WHERE name = 'upstream'").pluck().get() ?? null,
    };
  } finally {
    database.close();
  }
}
