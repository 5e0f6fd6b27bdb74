import type SqliteDatabase from 'better-sqlite3';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { migrations, views } from './schema-files.ts';

/** "osyn" in ASCII: tells an outbox from the databases of other programs. */
export const applicationId = 0x6f73796e;

type Sqlite = SqliteDatabase.Database;

/** The numbers in the head of a database file that say what made it. */
interface Head {
  readonly applicationId: number;
  /** How many migrations ran. */
  readonly userVersion: number;
  /** Rises with every change of the tables; 0: there never was one. */
  readonly schemaChanges: number;
}

/** How many migrations ran; 0 for an empty database. */
export function schemaVersion(database: Sqlite): number {
  return Number(database.pragma('user_version', { simple: true }));
}

/**
 * How a database stands to this program: `empty`, made by an `older` version, or `current`. Only reads.
 * @throws OrderSyncError DATABASE_FOREIGN when it is no outbox, or went through other migrations than those of this program;
 *   DATABASE_NEWER when a later version of this program made it
 */
export function checkSchema(database: Sqlite): 'empty' | 'older' | 'current' {
  const head = headOf(database);
  if (isEmpty(head)) return 'empty';
  refuseOtherProgram(head, database.name);
  const recorded = recordedFiles(database);
  const ran = [...recorded.keys()].filter((name) => !name.startsWith('views/')).toSorted();
  const known = migrations();
  for (const [index, { name, sha256 }] of known.slice(0, ran.length).entries()) {
    if (ran[index] !== name) throw foreign(database.name, `its migration ${ran[index]} is not ${name}`);
    if (recorded.get(name) !== sha256) throw foreign(database.name, `its migration ${name} has another text`);
  }
  if (ran.length === 0 || ran.length !== head.userVersion) {
    throw foreign(database.name, `it records ${ran.length} migrations, and its user_version is ${head.userVersion}`);
  }
  if (ran.length > known.length) throw newer(ran.length);
  const hasViews = views().every(({ name, sha256 }) => recorded.get(name) === sha256);
  return ran.length === known.length && hasViews ? 'current' : 'older';
}

/**
 * Refuses to read a database that no worker of this version has opened yet: its tables may lack a column.
 * @throws OrderSyncError DATABASE_FOREIGN, DATABASE_NEWER, DATABASE_OLDER
 */
export function refuseOlder(database: Sqlite): void {
  if (checkSchema(database) === 'current') return;
  const message = `The database has schema ${schemaVersion(database)} of another version, this program reads ${migrations().length}`;
  throw new OrderSyncError('DATABASE_OLDER', message, {
    hint: 'start the worker of this version once, which brings it up to date, or read it with the version that made it',
  });
}

function headOf(database: Sqlite): Head {
  const [id, userVersion, schemaChanges] = ['application_id', 'user_version', 'schema_version'].map((name) =>
    Number(database.pragma(name, { simple: true })),
  );
  return { applicationId: id ?? 0, userVersion: userVersion ?? 0, schemaChanges: schemaChanges ?? 0 };
}

function isEmpty(head: Head): boolean {
  return head.applicationId === 0 && head.userVersion === 0 && head.schemaChanges === 0;
}

function refuseOtherProgram({ applicationId: id, userVersion }: Head, path: string): void {
  if (id === applicationId) return;
  const found = `its application_id is ${id} instead of ${applicationId}, and its user_version is ${userVersion}`;
  throw foreign(path, `${found}. Another program made it, or a version of order-sync before 0.1.0`);
}

/** The name and the hash of each file that made the database. */
function recordedFiles(database: Sqlite): ReadonlyMap<string, string> {
  const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_files'").get() !== undefined;
  if (!hasTable) throw foreign(database.name, 'it does not record which migrations made it');
  const rows = database.prepare<[], { name: string; sha256: string }>('SELECT name, sha256 FROM schema_files').all();
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]));
}

function foreign(path: string, why: string): OrderSyncError {
  return new OrderSyncError('DATABASE_FOREIGN', `${path} is not a database of this version of order-sync: ${why}`, {
    hint: 'nothing was changed: name the right data_dir, or start the program that made this database. A database of before 0.1.0 cannot be brought up to date: finish its orders with the version that made it, and begin with a new data_dir',
  });
}

function newer(version: number): OrderSyncError {
  const message = `The database has schema ${version}, this program knows up to ${migrations().length}`;
  return new OrderSyncError('DATABASE_NEWER', message, {
    hint: 'start the newer version of order-sync again, or restore a backup made by this version',
  });
}
