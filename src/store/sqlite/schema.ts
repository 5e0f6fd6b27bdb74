import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type SqliteDatabase from 'better-sqlite3';
import { assert, OrderSyncError } from '../../core/order-sync-error.ts';

/** "osyn" in ASCII: tells an outbox from the databases of other programs. */
const applicationId = 0x6f73796e;

type Sqlite = SqliteDatabase.Database;

/**
 * A file of SQL that makes a part of the schema. A database records its name and hash in `meta`.
 */
interface SchemaFile {
  /** For example `0001_outbox.sql` or `views/outbox.sql`. */
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

let knownMigrations: readonly SchemaFile[] | null = null;
let knownViews: readonly SchemaFile[] | null = null;

/**
 * The numbered files of `migrations/`, in order and without a gap. The text of a released one never
 * changes.
 */
export function migrations(): readonly SchemaFile[] {
  knownMigrations ??= filesOf('migrations', '');
  for (const [index, { name }] of knownMigrations.entries()) {
    assert(
      Number(name.slice(0, 4)) === index + 1,
      `the migration ${name} is numbered without a gap`,
    );
  }
  return knownMigrations;
}

/** The files of `views/`: they hold nothing but views, and may change with each version. */
export function views(): readonly SchemaFile[] {
  knownViews ??= filesOf('views', 'views/');
  return knownViews;
}

function filesOf(folder: string, prefix: string): readonly SchemaFile[] {
  const path = join(import.meta.dirname, folder);
  const names = readdirSync(path).filter((name) => name.endsWith('.sql'));
  return names.toSorted().map((name) => {
    const sql = readFileSync(join(path, name), 'utf8');
    return { name: `${prefix}${name}`, sql, sha256: hash('sha256', sql) };
  });
}

const numberOf = (database: Sqlite, pragma: string): number =>
  Number(database.pragma(pragma, { simple: true }));

/** How many migrations ran; 0 for an empty database. */
export const schemaVersion = (database: Sqlite): number => numberOf(database, 'user_version');

/**
 * How a database stands to this program: `empty`, made by an `older` version, or `current`. Only
 * reads.
 * @throws OrderSyncError DATABASE_FOREIGN when it is no outbox, or went through other migrations
 * than those of this program;
 *   DATABASE_NEWER when a later version of this program made it
 */
export function checkSchema(database: Sqlite): 'empty' | 'older' | 'current' {
  const [id, version] = [numberOf(database, 'application_id'), schemaVersion(database)];
  // `schema_version` rises with every change of the tables.
  if (id === 0 && version === 0 && numberOf(database, 'schema_version') === 0) return 'empty';
  if (id !== applicationId) {
    const found = `its application_id is ${id} instead of ${applicationId}, and its user_version is ${version}`;
    throw foreign(
      database,
      `${found}. Another program made it, or a version of order-sync before 0.1.0`,
    );
  }
  const recorded = recordedFiles(database);
  const ran = [...recorded.keys()].filter((name) => !name.startsWith('views/')).toSorted();
  const known = migrations();
  for (const [index, { name, sha256 }] of known.slice(0, ran.length).entries()) {
    if (ran[index] !== name) throw foreign(database, `its migration ${ran[index]} is not ${name}`);
    if (recorded.get(name) !== sha256)
      throw foreign(database, `its migration ${name} has another text`);
  }
  if (ran.length === 0 || ran.length !== version) {
    throw foreign(
      database,
      `the database records ${ran.length} migrations, and its user_version is ${version}`,
    );
  }
  if (ran.length > known.length) {
    const message = `The database has schema ${ran.length}, but this program knows only up to ${known.length}`;
    throw new OrderSyncError('DATABASE_NEWER', message, {
      hint: 'start the newer version of order-sync again, or restore a backup made by this version',
    });
  }
  const hasViews = views().every(({ name, sha256 }) => recorded.get(name) === sha256);
  return ran.length === known.length && hasViews ? 'current' : 'older';
}

/**
 * Refuses to read a database that no worker of this version has opened yet: its tables may lack a
 * column.
 * @throws OrderSyncError DATABASE_FOREIGN, DATABASE_NEWER, DATABASE_OLDER
 */
export function refuseOlder(database: Sqlite): void {
  if (checkSchema(database) === 'current') return;
  const message = `The database has schema ${schemaVersion(database)} of another version of order-sync, but this program reads schema ${migrations().length} of its own version`;
  throw new OrderSyncError('DATABASE_OLDER', message, {
    hint: 'start the worker of this version once, which updates the database, or use the version that made the database',
  });
}

/** The hash of each file that made the database, by its name. */
function recordedFiles(database: Sqlite): ReadonlyMap<string, string> {
  const hasTable =
    database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get() !== undefined;
  if (!hasTable) throw foreign(database, 'the database does not record which migrations made it');
  const rows = database
    .prepare<[], SchemaFile>(
      "SELECT substr(name, 8) AS name, value AS sha256 FROM meta WHERE name GLOB 'schema:*'",
    )
    .all();
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]));
}

function foreign({ name }: Sqlite, why: string): OrderSyncError {
  return new OrderSyncError(
    'DATABASE_FOREIGN',
    `${name} is not a database of this version of order-sync: ${why}`,
    {
      hint: 'nothing was changed: name the right data_dir, or start the program that made this database. A database from before 0.1.0 cannot be updated: finish its orders with the version that made it, then use a new data_dir',
    },
  );
}

/**
 * Brings the schema up to date in one transaction: the migrations that did not run yet, then the
 * views. Each file is recorded with its hash, by which every later version recognises the database.
 * @throws OrderSyncError DATABASE_FOREIGN, DATABASE_NEWER
 */
export function migrate(database: Sqlite): void {
  const bringUpToDate = database.transaction(() => {
    if (checkSchema(database) === 'current') return;
    // A table that changes may be a part of a view.
    for (const { sql } of views()) {
      for (const [, view] of sql.matchAll(/^CREATE VIEW (\w+)/gm))
        database.exec(`DROP VIEW IF EXISTS ${view}`);
    }
    for (const { name, sql, sha256 } of [
      ...migrations().slice(schemaVersion(database)),
      ...views(),
    ]) {
      database.exec(sql);
      database
        .prepare(
          "INSERT INTO meta (name, value) VALUES ('schema:' || ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        )
        .run(name, sha256);
    }
    database.pragma(`application_id = ${applicationId}`);
    database.pragma(`user_version = ${migrations().length}`);
  });
  bringUpToDate.immediate();
}
