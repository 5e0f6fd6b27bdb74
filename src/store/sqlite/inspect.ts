import { existsSync } from 'node:fs';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { checkFileSystem, openReadOnly, type Sqlite } from './database.ts';
import { freeBytesOf } from './disk-errors.ts';
import { wrongCounts } from './entry-counts.ts';
import { readMeta } from './meta.ts';
import { checkSchema, migrations, schemaVersion } from './schema.ts';

/** What `order-sync db check` finds. */
interface DatabaseInspection {
  /** Damage that SQLite finds in the file, rows that refer to a missing row, and wrong counts; empty when it is sound. */
  readonly problems: readonly string[];
  readonly schemaVersion: number;
  /** The newest schema that this program knows. The next `run` brings an older database up to date. */
  readonly newestSchema: number;
  readonly sqliteVersion: string;
  /** The upstream that the database is stamped with; null before the first run. */
  readonly upstream: string | null;
  /** The fingerprint of instance, prefix and reference secret that it is stamped with; null before the first run. */
  readonly namespace: string | null;
}

/**
 * Reads a whole database and checks it, also while a worker runs.
 * @param isQuick whether the contents of the indexes are not compared with their tables, which takes most of the time
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER
 */
export function inspectDatabase(path: string, isQuick = false): DatabaseInspection {
  const database = openReadOnly(path);
  try {
    const integrity = database
      .prepare<[], string>(`PRAGMA ${isQuick ? 'quick' : 'integrity'}_check(20)`)
      .pluck()
      .all();
    const dangling = database
      .prepare<[], { table: string; rowid: number; parent: string }>('PRAGMA foreign_key_check')
      .all()
      .map(({ table, rowid, parent }) => `${table} row ${rowid} refers to a missing row of ${parent}`);
    return {
      // An older database may keep no counts.
      problems: [
        ...integrity.filter((line) => line !== 'ok'),
        ...dangling,
        ...(checkSchema(database) === 'current' ? wrongCounts(database) : []),
      ],
      schemaVersion: schemaVersion(database),
      newestSchema: migrations().length,
      sqliteVersion: String(database.prepare('SELECT sqlite_version()').pluck().get()),
      ...stampOf(database),
    };
  } finally {
    database.close();
  }
}

/**
 * The upstream that a database is stamped with; null before the first run.
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER
 */
export function upstreamOf(path: string): string | null {
  const database = openReadOnly(path);
  try {
    return stampOf(database).upstream;
  } finally {
    database.close();
  }
}

/** Before its first run, a database may have no table yet. */
function stampOf(database: Sqlite): Pick<DatabaseInspection, 'upstream' | 'namespace'> {
  if (schemaVersion(database) === 0) return { upstream: null, namespace: null };
  return { upstream: readMeta(database, 'upstream') ?? null, namespace: readMeta(database, 'namespace') ?? null };
}

/**
 * The free space on the disk of a folder that is to hold the database, in bytes.
 * @throws OrderSyncError DATABASE_UNSAFE when the disk cannot hold one, FOLDER_UNUSABLE when there is no such folder
 */
export function inspectDisk(folder: string): number {
  if (!existsSync(folder)) {
    throw new OrderSyncError('FOLDER_UNUSABLE', `The folder ${folder} does not exist`, {
      hint: 'is its volume mounted? for a new installation, run `order-sync init`',
    });
  }
  checkFileSystem(folder);
  return freeBytesOf(folder);
}
