import { openReadOnly } from './database.ts';
import { readMeta } from './meta.ts';
import { migrations, refuseNewer, schemaVersion } from './migrate.ts';

/** What `order-sync db check` finds. */
interface DatabaseInspection {
  /** Damage that SQLite finds in the file, and rows that refer to a missing row; empty when it is sound. */
  readonly problems: readonly string[];
  readonly schemaVersion: number;
  /** The newest schema that this program knows. The next `run` brings an older database up to date. */
  readonly newestSchema: number;
  readonly sqliteVersion: string;
  /** The upstream that the database is stamped with; null before the first run. */
  readonly upstream: string | null;
}

/**
 * Reads a whole database and checks it, also while a worker runs.
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
      upstream: readMeta(database, 'upstream') ?? null,
    };
  } finally {
    database.close();
  }
}
