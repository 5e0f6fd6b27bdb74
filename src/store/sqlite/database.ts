import { closeSync, mkdirSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import { checkSchema } from './schema.ts';
import { diskError, isBusy, isDiskFailure } from './disk-errors.ts';
import { OpenFiles } from './open-files.ts';

export type Sqlite = SqliteDatabase.Database;

/** WAL before this version can corrupt a database that two connections checkpoint at once. */
const minimumSqliteVersion = '3.51.3';

/**
 * File systems whose locks and shared memory WAL cannot rely on: NFS, SMB, CIFS, SMB2, 9p, FUSE.
 */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9p'],
  [0x65735546, 'FUSE'],
]);

/** Nothing else is done while a step waits for the lock of another program. */
const waitForOthers = 'busy_timeout = 2000';

export type InitPolicy = 'never' | 'if-missing';

/** Longest message, reason or error text that is stored, in characters. */
export const longestText = 500;

function checkVersion(database: Sqlite): void {
  const version = String(database.prepare('SELECT sqlite_version()').pluck().get());
  if (version.localeCompare(minimumSqliteVersion, 'en', { numeric: true }) >= 0) return;
  throw new OrderSyncError(
    'DATABASE_UNSAFE',
    `SQLite ${version} is older than ${minimumSqliteVersion}`,
    {
      hint: 'install the exact dependencies of package-lock.json with npm ci',
    },
  );
}

/** @throws OrderSyncError DATABASE_UNSAFE when the folder is on a network file system */
export function checkFileSystem(folder: string): void {
  const name = networkFileSystems.get(statfsSync(folder).type >>> 0);
  if (name === undefined) return;
  const message = `${folder} is on a ${name} file system, on which SQLite cannot lock or sync reliably`;
  throw new OrderSyncError('DATABASE_UNSAFE', message, {
    hint: 'put data_dir on a local disk or a block volume',
  });
}

/**
 * Sets what every connection needs, and reads it back. In better-sqlite3, WAL silently lowers
 * `synchronous` to NORMAL, which does not sync at commit: a reference could leave before it is on
 * disk.
 */
function configure(database: Sqlite): void {
  database.pragma(waitForOthers);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma('fullfsync = ON');
  database.pragma('foreign_keys = ON');
  database.pragma('trusted_schema = OFF');
  // Deleted and replaced values may be delivered codes: their bytes are overwritten.
  database.pragma('secure_delete = ON');
  // 64 MB: SQLite cuts a log that is longer.
  database.pragma('journal_size_limit = 67108864');
  database.pragma('cache_size = -8192');
  // 16 MB. With the default of 4 MB, nearly every commit of a long order file pays for a
  // checkpoint.
  database.pragma('wal_autocheckpoint = 4000');
  const names = ['journal_mode', 'synchronous', 'foreign_keys'];
  const found = names
    .map((name) => `${name} = ${String(database.pragma(name, { simple: true }))}`)
    .join(', ');
  if (found === 'journal_mode = wal, synchronous = 2, foreign_keys = 1') return;
  throw new OrderSyncError(
    'DATABASE_UNSAFE',
    `The database refuses these safety settings: ${found}`,
    {
      hint: 'this build of SQLite or this disk cannot be used; nothing was changed',
    },
  );
}

/**
 * Whether there is such a file or folder.
 * @throws OrderSyncError FOLDER_UNUSABLE where this user may not look
 */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw new OrderSyncError('FOLDER_UNUSABLE', `${path} cannot be seen: ${String(error)}`, {
      hint: `as root, run chown ${process.getuid?.()} on its folder, because order-sync runs as that user`,
    });
  }
}

/**
 * Opens the outbox database for writing, with the settings that its promises need.
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_UNSAFE, DATABASE_FOREIGN, DATABASE_NEWER,
 * FOLDER_UNUSABLE
 */
export function openDatabase(path: string, init: InitPolicy): Sqlite {
  const folder = dirname(path);
  const isNew = !isThere(path);
  if (isNew) {
    if (init === 'never') {
      throw new OrderSyncError('DATABASE_MISSING', `There is no database at ${path}`, {
        hint: 'a missing database may be an unmounted volume; if this is a new installation, run `order-sync init`',
      });
    }
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
  checkFileSystem(folder);
  if (isNew) {
    // The file holds delivered codes, which are as good as money. Its -wal and -shm files get the
    // same mode.
    closeSync(openSync(path, 'a', 0o600));
  } else {
    // A connection that may write can change a database by being opened and closed. An existing
    // file is read by SQLite only: when a process closes a file of its own, it loses the locks that
    // its connections hold on it.
    openReadOnly(path).close();
  }
  const database = new SqliteDatabase(path);
  try {
    checkVersion(database);
    configure(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Opens the database of a running or stopped worker for reading only.
 * @throws OrderSyncError DATABASE_MISSING, DATABASE_FOREIGN, DATABASE_NEWER, DATABASE_UNSAFE when
 * it is damaged
 */
export function openReadOnly(path: string): Sqlite {
  if (!isThere(path)) {
    throw new OrderSyncError('DATABASE_MISSING', `There is no database at ${path}`, {
      hint: 'check data_dir in the config, and whether its volume is mounted; for a new installation, run `order-sync init`',
    });
  }
  const database = new SqliteDatabase(path, { readonly: true, fileMustExist: true });
  try {
    database.pragma(waitForOthers);
    checkSchema(database);
    return database;
  } catch (error) {
    database.close();
    if (isDiskFailure(error) && isBusy(error)) throw diskError(error, path);
    if (
      !(error instanceof SqliteDatabase.SqliteError) ||
      !/^SQLITE_(NOTADB|CORRUPT)/.test(error.code)
    )
      throw error;
    throw new OrderSyncError('DATABASE_UNSAFE', `${path} could not be read: ${error.message}`, {
      hint: 'the file is damaged or not an order-sync database: check the disk, then restore a backup with `order-sync db restore`',
      cause: error,
    });
  }
}

/** Makes something once for each connection: to make it takes longer than many a use of it. */
function onceFor<Made extends object>(
  make: (database: Sqlite) => Made,
): (database: Sqlite) => Made {
  const made = new WeakMap<Sqlite, Made>();
  return (database) => {
    const known = made.get(database);
    if (known !== undefined) return known;
    const first = make(database);
    made.set(database, first);
    return first;
  };
}

const runnerOf = onceFor((database) => database.transaction((step: () => unknown) => step()));

/**
 * The text of each statement that is compiled at its first use: a test reads the plans of all of
 * them.
 */
export const statementTexts = new Set<string>();

/** A statement that is compiled at its first use on a connection, and kept. */
export function statementOf<Parameters extends unknown[] | {}, Row>(
  sql: string,
): (database: Sqlite) => SqliteDatabase.Statement<Parameters, Row> {
  const text = withFixedPlan(sql);
  statementTexts.add(text);
  return onceFor((database) => database.prepare<Parameters, Row>(text));
}

/** As `statementOf`, of which each row is the value of its only column. */
export function columnOf<Parameters extends unknown[] | {}, Value>(
  sql: string,
): (database: Sqlite) => SqliteDatabase.Statement<Parameters, Value> {
  const text = withFixedPlan(sql);
  statementTexts.add(text);
  return onceFor((database) => {
    const statement = database.prepare<Parameters, Value>(text);
    statement.pluck();
    return statement;
  });
}

/**
 * The same statement with `+?` for each parameter `?` that is compared. For a bare `?` there,
 * SQLite compiles the statement again whenever the value has changed, in case it changes the query
 * plan; without statistics it never does.
 */
export function withFixedPlan(sql: string): string {
  return sql.replaceAll(/([=<>]|\b(?:LIMIT|IS|IS NOT)\b)(\s*)(?=[?:])/g, '$1$2+');
}

interface OutboxState {
  readonly files: OpenFiles;
  /** Why the last step could not be written, and is repeated; null: it was. */
  blockedBy: OrderSyncError | null;
}

const states = new WeakMap<Sqlite, OutboxState>();

/** Watches the files of an outbox from now on: see `OpenFiles`. */
export function watchOutbox(database: Sqlite): OutboxState {
  const state: OutboxState = { files: new OpenFiles(database), blockedBy: null };
  states.set(database, state);
  return state;
}

/**
 * Runs one step as one transaction. IMMEDIATE: a step that reads before it writes holds the write
 * lock from the start. Nothing is done when the files are not those that are open, and nobody is
 * told that it was done.
 * @throws OrderSyncError DISK_FULL, DATABASE_BUSY when nothing was written: it can be repeated;
 * DATABASE_REPLACED, DATABASE_WRITE_FAILED: nothing more may be sent
 */
export function inTransaction<T>(database: Sqlite, step: () => T): T {
  const state = database.inTransaction ? undefined : states.get(database);
  try {
    state?.files.check();
    let result!: T;
    runnerOf(database).immediate(() => void (result = step()));
    state?.files.check(true);
    if (state !== undefined && state.blockedBy !== null) {
      state.blockedBy = null;
      database.pragma(waitForOthers);
    }
    return result;
  } catch (error) {
    if (!isDiskFailure(error)) throw error;
    const failure = diskError(error, database.name);
    if (state !== undefined && failure.code !== 'DATABASE_WRITE_FAILED') {
      state.blockedBy = failure;
      // Only the first step waits: the others would keep everything else from being done.
      database.pragma('busy_timeout = 0');
    }
    throw failure;
  }
}
