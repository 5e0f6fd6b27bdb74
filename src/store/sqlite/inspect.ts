import { OrderSyncError } from '../../core/order-sync-error.ts';
import { checkFileSystem, isThere, openReadOnly, type Sqlite } from './database.ts';
import { freeBytesOf } from './disk-errors.ts';
import { wrongCounts } from './entry-counts.ts';
import { otherUpstream, readMeta, refuseOtherStamp, type Stamp } from './meta.ts';
import { checkSchema, migrations, schemaVersion } from './schema.ts';

/**
 * Reads a whole database and checks it, also while a worker runs.
 * @param isQuick whether the contents of the indexes are not compared with their tables, which
 * takes most of the time
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER
 */
export function inspectDatabase(path: string, isQuick = false) {
  const database = openReadOnly(path);
  try {
    const integrity = database
      .prepare<[], string>(`PRAGMA ${isQuick ? 'quick' : 'integrity'}_check(20)`)
      .pluck()
      .all();
    const dangling = database
      .prepare<[], { table: string; rowid: number; parent: string }>('PRAGMA foreign_key_check')
      .all()
      .map(
        ({ table, rowid, parent }) => `${table} row ${rowid} refers to a missing row of ${parent}`,
      );
    return {
      /**
       * Damage in the file, rows that refer to a missing row, and wrong counts. An older database
       * may keep no counts.
       */
      problems: [
        ...integrity.filter((line) => line !== 'ok'),
        ...dangling,
        ...(checkSchema(database) === 'current' ? wrongCounts(database) : []),
      ],
      schemaVersion: schemaVersion(database),
      isOlder: checkSchema(database) === 'older',
      /**
       * The newest schema that this program knows. The next `run` brings an older database up to
       * date.
       */
      newestSchema: migrations().length,
      sqliteVersion: String(database.prepare('SELECT sqlite_version()').pluck().get()),
      upstream: upstreamIn(database),
    };
  } finally {
    database.close();
  }
}

/**
 * The upstream that a database names, and whether it stays with it: see `otherUpstream`.
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER
 */
export function upstreamOf(
  path: string,
  wanted: string,
): { upstream: string | null; isOther: boolean } {
  const database = openReadOnly(path);
  try {
    const upstream = upstreamIn(database);
    return { upstream, isOther: upstream !== null && otherUpstream(database, wanted) !== null };
  } finally {
    database.close();
  }
}

/** Null before the first run. */
const upstreamIn = (database: Sqlite): string | null =>
  schemaVersion(database) === 0 ? null : (readMeta(database, 'upstream') ?? null);

/** Throws as `checkStamp`. */
export function checkStampAt(path: string, stamp: Stamp): void {
  const database = openReadOnly(path);
  try {
    if (schemaVersion(database) > 0) refuseOtherStamp(database, stamp);
  } finally {
    database.close();
  }
}

/**
 * The free space on the disk of a folder that is to hold the database, in bytes.
 * @throws OrderSyncError DATABASE_UNSAFE when the disk cannot hold one, FOLDER_UNUSABLE when there
 * is no such folder
 */
export function inspectDisk(folder: string): number {
  if (!isThere(folder)) {
    throw new OrderSyncError('FOLDER_UNUSABLE', `The folder ${folder} does not exist`, {
      hint: 'is the volume of data_dir mounted? for a new installation, run `order-sync init`',
    });
  }
  checkFileSystem(folder);
  return freeBytesOf(folder);
}
