import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, OrderSyncError } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from './database.ts';

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

let known: readonly Migration[] | null = null;

/** The numbered files of `migrations/`, in order and without a gap. Listed once in a process. */
export function migrations(): readonly Migration[] {
  known ??= readMigrations();
  return known;
}

function readMigrations(): readonly Migration[] {
  const folder = join(import.meta.dirname, 'migrations');
  const found = readdirSync(folder)
    .filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name))
    .toSorted()
    // Read when it is needed: most commands only want to know how many there are.
    .map((name) => ({
      version: Number(name.slice(0, 4)),
      name,
      get sql() {
        return readFileSync(join(folder, name), 'utf8');
      },
    }));
  for (const [index, migration] of found.entries()) {
    assert(
      migration.version === index + 1,
      `migrations are numbered without a gap, but ${migration.name} is not number ${index + 1}`,
    );
  }
  return found;
}

export function schemaVersion(database: Sqlite): number {
  return Number(database.pragma('user_version', { simple: true }));
}

/**
 * Refuses a database that a newer program made: it may hold values that this program does not know.
 * @throws OrderSyncError DATABASE_NEWER
 */
export function refuseNewer(database: Sqlite): void {
  const newest = migrations().length;
  const current = schemaVersion(database);
  if (current <= newest) return;
  throw new OrderSyncError('DATABASE_NEWER', `The database has schema ${current}, this program knows up to ${newest}`, {
    hint: 'start the newer version of order-sync again, or restore a backup made by this version',
  });
}

/**
 * Refuses to read a database that no worker of this version has opened yet: its tables may lack a column.
 * @throws OrderSyncError DATABASE_OLDER
 */
export function refuseOlder(database: Sqlite): void {
  const newest = migrations().length;
  const current = schemaVersion(database);
  if (current === newest) return;
  throw new OrderSyncError('DATABASE_OLDER', `The database has schema ${current}, this program reads ${newest}`, {
    hint: 'start the worker of this version once, which brings it up to date, or read it with the version that made it',
  });
}

/**
 * Brings the schema up to date. Each migration is a transaction of its own, so a crash leaves whole migrations. The last one
 * also makes the views of `views/`: their text changes often, and so it stands in one place. Who changes one adds a
 * migration, be it empty, so that nobody reads a database with the view before.
 */
export function migrate(database: Sqlite): void {
  refuseNewer(database);
  for (const { version, sql } of migrations()) {
    if (version <= schemaVersion(database)) continue;
    inTransaction(database, () => {
      database.exec(sql);
      if (version === migrations().length) makeViews(database);
      database.pragma(`user_version = ${version}`);
    });
  }
}

/** Each file is called as its view. */
function makeViews(database: Sqlite): void {
  const folder = join(import.meta.dirname, 'views');
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.sql'))) {
    database.exec(`DROP VIEW IF EXISTS ${name.replace('.sql', '')}`);
    database.exec(readFileSync(join(folder, name), 'utf8'));
  }
}
