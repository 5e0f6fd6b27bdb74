import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';

/** The tables of the sandbox. Amounts are minor units, times are milliseconds since the epoch. */
const schemaVersion = 5;
/** "sand" in ASCII: tells a database of the sandbox from those of other programs. */
const applicationId = 0x73616e64;

const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  id TEXT PRIMARY KEY, wholesale INTEGER NOT NULL, blocked INTEGER NOT NULL, created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE balances (
  account TEXT NOT NULL REFERENCES accounts(id), currency TEXT NOT NULL,
  amount_minor INTEGER NOT NULL CHECK (amount_minor >= 0),
  PRIMARY KEY (account, currency)
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
  id INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts(id), name TEXT NOT NULL,
  fingerprint TEXT NOT NULL UNIQUE, allow_list TEXT NOT NULL, created_at INTEGER NOT NULL, revoked_at INTEGER
) STRICT;

-- One row is one order, whatever it bought (Spec 1).
CREATE TABLE orders (
  id INTEGER PRIMARY KEY AUTOINCREMENT, number TEXT NOT NULL UNIQUE, account TEXT NOT NULL REFERENCES accounts(id),
  family TEXT NOT NULL CHECK (family IN ('gift_card', 'esim')),
  kind TEXT NOT NULL CHECK (kind IN ('gift_card_order', 'esim_order', 'esim_topup')),
  reference TEXT NOT NULL, item TEXT NOT NULL, quantity INTEGER NOT NULL, days INTEGER, iccid TEXT,
  currency TEXT NOT NULL, unit_minor INTEGER NOT NULL, cost_minor INTEGER NOT NULL,
  refunded_minor INTEGER NOT NULL DEFAULT 0 CHECK (refunded_minor BETWEEN 0 AND cost_minor),
  status TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'refunded')),
  codes TEXT NOT NULL DEFAULT '[]', created_at INTEGER NOT NULL, due_at INTEGER,
  due_outcome TEXT CHECK (due_outcome IN ('completed', 'refunded')),
  UNIQUE (account, reference)
) STRICT;
CREATE INDEX orders_due ON orders (due_at) WHERE status = 'pending';
CREATE INDEX orders_of_account ON orders (account, id);

CREATE TABLE esims (
  id INTEGER PRIMARY KEY AUTOINCREMENT, iccid TEXT NOT NULL UNIQUE, account TEXT NOT NULL, order_number TEXT NOT NULL,
  plan TEXT NOT NULL, smdp_address TEXT NOT NULL, matching_id TEXT NOT NULL,
  validity_days INTEGER NOT NULL, created_at INTEGER NOT NULL, installed_at INTEGER, topped_up_at INTEGER,
  cancelled_at INTEGER, expires_at INTEGER NOT NULL,
  -- How many more checks of its state fail: -1 is all of them.
  unchecked_left INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX esims_of_order ON esims (order_number);

-- Every change of a balance, with the balance after it.
CREATE TABLE movements (
  id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, currency TEXT NOT NULL, amount_minor INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('funding', 'charge', 'refund')), order_number TEXT, iccid TEXT,
  balance_minor INTEGER NOT NULL, created_at INTEGER NOT NULL
) STRICT;
-- Spec 3: an eSIM is refunded once. No order is charged twice. The database guarantees both.
CREATE UNIQUE INDEX one_refund_per_esim ON movements (iccid) WHERE kind = 'refund' AND iccid IS NOT NULL;
CREATE UNIQUE INDEX one_refund_per_order ON movements (order_number) WHERE kind = 'refund' AND iccid IS NULL;
CREATE UNIQUE INDEX one_charge_per_order ON movements (order_number) WHERE kind = 'charge';

CREATE TABLE stock (
  variant TEXT PRIMARY KEY, listed INTEGER NOT NULL, available INTEGER NOT NULL CHECK (available >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE sale_overrides (plan TEXT PRIMARY KEY, on_sale INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- The request log: each call, how the limits counted it, and its answer.
CREATE TABLE calls (
  id INTEGER PRIMARY KEY AUTOINCREMENT, key INTEGER, operation TEXT NOT NULL, arrived_at INTEGER NOT NULL,
  request_counted INTEGER NOT NULL, order_counted INTEGER NOT NULL, limited INTEGER NOT NULL, status INTEGER NOT NULL,
  code TEXT, reference TEXT, order_number TEXT, fault TEXT
) STRICT;
CREATE INDEX calls_of_key ON calls (key, arrived_at);
`;

/** The database of a sandbox. A statement is prepared when it is first used. */
export class Database {
  readonly #sqlite: Sqlite.Database;
  readonly #statements = new Map<string, Sqlite.Statement>();

  constructor(sqlite: Sqlite.Database) {
    this.#sqlite = sqlite;
  }

  all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#prepared<Row>(sql).all(...values);
  }

  run(sql: string, ...values: unknown[]): Sqlite.RunResult {
    return this.#prepared(sql).run(...values);
  }

  /** The id that the next row of this table gets. */
  nextId(table: 'orders' | 'esims'): number {
    return (
      1 +
      (this.all<{ seq: number }>('SELECT seq FROM sqlite_sequence WHERE name = ?', table)[0]?.seq ??
        0)
    );
  }

  /** Runs the work in a transaction, or in a savepoint of the open one. What throws is undone. */
  transaction<T>(work: () => T): T {
    return this.#sqlite.transaction(work).immediate();
  }

  get inTransaction(): boolean {
    return this.#sqlite.inTransaction;
  }

  /**
   * Empties every table and restarts the row numbers, so a run after a reset repeats the first one.
   * In a transaction.
   */
  empty(): void {
    // Until the commit, rows may refer to accounts and keys that are deleted already.
    this.#sqlite.pragma('defer_foreign_keys = ON');
    for (const table of tablesOf(this.#sqlite)) this.#sqlite.exec(`DELETE FROM ${table}`);
  }

  close(): void {
    this.#sqlite.close();
  }

  #prepared<Row>(sql: string): Sqlite.Statement<unknown[], Row>;
  #prepared(sql: string): Sqlite.Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#sqlite.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/**
 * Why a database cannot be opened. IN_USE: another connection has it open, mostly a second sandbox.
 */
const databaseError = (
  code: 'SANDBOX_DATABASE_IN_USE' | 'SANDBOX_DATABASE_UNKNOWN',
  message: string,
  cause?: unknown,
): Error => Object.assign(new Error(message, { cause }), { code });

/**
 * Opens the database of the sandbox and creates it when it is missing. Until it is closed, no other
 * connection can read or write it: two sandboxes on one database would each count only their own
 * calls, and sell above the limits. It sets synchronous=FULL and reads it back: better-sqlite3 uses
 * NORMAL in WAL mode, with which a power cut can lose an acknowledged order.
 * @throws Error with a `code`, see `databaseError`
 */
export function openDatabase(path: string, durability: 'full' | 'relaxed'): Database {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite would let every user read it; its other files get the same mode.
    closeSync(openSync(path, 'a', 0o600));
  }
  // Two that start in the same moment can each keep the other from locking. Each tries again for so
  // many milliseconds.
  const database = new Sqlite(path, { timeout: 500 });
  try {
    // The operating system ends this lock with the process, so a killed sandbox leaves none behind.
    // It has to be set before the first use of the write-ahead log.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'OFF'}`);
    database.pragma('foreign_keys = ON');
    const wanted = durability === 'full' ? 2 : 0;
    if (database.pragma('synchronous', { simple: true }) !== wanted) {
      throw new Error(
        'SQLite did not accept the synchronous mode, so commits would not be durable',
      );
    }
    prepareTables(database, path);
  } catch (error) {
    database.close();
    if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      const message = `${path} is in use by another program: stop that one (a sandbox?), or give this one another database`;
      throw databaseError('SANDBOX_DATABASE_IN_USE', message, error);
    }
    throw error;
  }
  return new Database(database);
}

/**
 * Makes the tables in an empty file. Any other file must be one of ours: a reset would empty also
 * the outbox of a worker.
 */
function prepareTables(database: Sqlite.Database, path: string): void {
  const numberOf = (pragma: string): unknown => database.pragma(pragma, { simple: true });
  const [id, version] = [numberOf('application_id'), numberOf('user_version')];
  if (id === applicationId && version === schemaVersion) return;
  if (tablesOf(database).length > 0 || version !== 0) {
    const found =
      id === applicationId
        ? `version ${String(version)} of the tables`
        : 'the tables of another program';
    const message = `${path} holds ${found}, not version ${schemaVersion} of the sandbox's: name another file, or delete it if an earlier sandbox made it`;
    throw databaseError('SANDBOX_DATABASE_UNKNOWN', message);
  }
  database.transaction(() => {
    database.exec(schema);
    database.pragma(`application_id = ${applicationId}`);
    database.pragma(`user_version = ${schemaVersion}`);
  })();
}

function tablesOf(database: Sqlite.Database): string[] {
  return database
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck()
    .all();
}
