import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, OrderSyncError } from '../../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from './database.ts';

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

let read: readonly Migration[] | null = null;

/** The numbered files of `migrations/`, in order and without a gap; read once, as the program is. */
export function migrations(): readonly Migration[] {
  read ??= readMigrations();
  return read;
}

function readMigrations(): readonly Migration[] {
  const folder = join(import.meta.dirname, 'migrations');
  const found = readdirSync(folder)
    .filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name))
    .toSorted()
    .map((name) => ({ version: Number(name.slice(0, 4)), name, sql: readFileSync(join(folder, name), 'utf8') }));
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
 * Refuses a database that a newer program made: an old program could write what the new one does not expect.
 * @throws OrderSyncError DATABASE_NEWER
 */
export function refuseNewer(database: Sqlite): void {
  const newest = migrations().length;
  const current = schemaVersion(database);
  if (current > newest) {
    throw new OrderSyncError(
      'DATABASE_NEWER',
      `The database has schema ${current}, this program knows up to ${newest}`,
      {
        hint: 'start the newer version of order-sync again, or restore a backup made by this version',
      },
    );
  }
}

/**
 * Refuses to read a database as it was before this program: what is asked for may not be there yet.
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
 * Brings the schema up to date, each migration in a transaction of its own, so that a crash leaves whole steps.
 * Returns how many were applied.
 */
export function migrate(database: Sqlite): number {
  refuseNewer(database);
  let applied = 0;
  for (const migration of migrations()) {
    if (migration.version <= schemaVersion(database)) continue;
    inTransaction(database, () => {
      executeMigration(database, migration.sql);
      database.pragma(`user_version = ${migration.version}`);
    });
    applied += 1;
  }
  return applied;
}

/** A migration may spell a rule of a table anew; nothing else may touch what SQLite keeps about itself. */
function executeMigration(database: Sqlite, sql: string): void {
  const rewritesRules = sql.includes('writable_schema');
  if (rewritesRules) database.unsafeMode(true);
  try {
    database.exec(sql);
  } finally {
    if (rewritesRules) database.unsafeMode(false);
  }
}
