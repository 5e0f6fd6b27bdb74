import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { withFixedPlan } from '../../src/store/sqlite/database.ts';

type Database = SqliteDatabase.Database;
type Statement = SqliteDatabase.Statement;
type Step = (...values: unknown[]) => unknown;

const connections = new Map<string, Database>();
const statements = new WeakMap<Database, Map<string, LazyStatement>>();
/** A connection that is taken up again by whoever opens its path, with what was compiled for it. */
interface Kept {
  readonly native: object;
  readonly statements: Map<string, LazyStatement>;
  /**
   * How each setting was last made: to make it once more would change nothing, and let every
   * statement expire.
   */
  readonly settings: Map<string, string>;
}
const kept = new Map<string, Kept>();
// Kept as they are, and only ever called on a connection: the prototype gets others in their place.
const pragma: (this: Database, source: string, options?: SqliteDatabase.PragmaOptions) => unknown =
  Reflect.get(SqliteDatabase.prototype, 'pragma');
const prepare: (this: Database, sql: string) => Statement = Reflect.get(
  SqliteDatabase.prototype,
  'prepare',
);
const transaction: (this: Database, step: Step) => SqliteDatabase.Transaction<Step> = Reflect.get(
  SqliteDatabase.prototype,
  'transaction',
);
const close: (this: Database) => Database = Reflect.get(SqliteDatabase.prototype, 'close');

/**
 * An error that SQLite will give, once: in the middle of a call, or at its commit, which is on the
 * disk all the same.
 */
export interface SqliteFault {
  readonly where: 'statement' | 'commit';
  readonly code:
    | 'SQLITE_FULL'
    | 'SQLITE_BUSY'
    | 'SQLITE_IOERR_WRITE'
    | 'SQLITE_IOERR_FSYNC'
    | 'SQLITE_IOERR_READ';
  /** How many statements of the call go well before. */
  readonly skip: number;
}

let armed: { readonly fault: SqliteFault; left: number } | null = null;

function strike(where: SqliteFault['where']): void {
  if (armed === null || armed.fault.where !== where) return;
  armed.left -= 1;
  if (armed.left >= 0) return;
  const { code } = armed.fault;
  armed = null;
  throw new SqliteDatabase.SqliteError(
    code === 'SQLITE_FULL' ? 'database or disk is full' : 'disk I/O error',
    code,
  );
}

/** Makes a call into the store that may meet the fault. Returns whether it did. */
export function withFault<T>(fault: SqliteFault, call: () => T): { result: T; struck: boolean } {
  armed = { fault, left: fault.where === 'commit' ? 0 : fault.skip };
  // Everything that a call does to the database happens before it first waits.
  const result = call();
  const struck = armed === null;
  armed = null;
  return { result, struck };
}

/**
 * A statement that is compiled when it is first used: a run opens the outbox often and uses a part
 * of them.
 */
class LazyStatement {
  readonly #database: Database;
  readonly #sql: string;
  #plucks = false;
  #compiled: Statement | null = null;

  constructor(database: Database, sql: string) {
    this.#database = database;
    this.#sql = sql;
  }

  #statement(): Statement {
    if (this.#compiled === null) {
      const compiled: Statement = prepare.call(this.#database, this.#sql);
      this.#compiled = this.#plucks ? compiled.pluck() : compiled;
    }
    return this.#compiled;
  }

  pluck(): this {
    this.#plucks = true;
    this.#compiled?.pluck();
    return this;
  }

  safeIntegers(isSafe: boolean): this {
    this.#statement().safeIntegers(isSafe);
    return this;
  }

  run(...values: unknown[]): SqliteDatabase.RunResult {
    strike('statement');
    return this.#statement().run(...values);
  }

  get(...values: unknown[]): unknown {
    strike('statement');
    return this.#statement().get(...values);
  }

  all(...values: unknown[]): unknown[] {
    strike('statement');
    return this.#statement().all(...values);
  }
}

interface Addon {
  Database: new (path: string, ...rest: readonly unknown[]) => object;
}

function isAddon(value: unknown): value is Addon {
  return (
    typeof value === 'object' &&
    value !== null &&
    'Database' in value &&
    typeof value.Database === 'function'
  );
}

/**
 * What the package loads to speak with SQLite: the only place where a connection can be taken up
 * again.
 */
function loadAddon(): Addon {
  const require = createRequire(import.meta.url);
  const binding: { getBinding(): unknown } = require(
    join(dirname(require.resolve('better-sqlite3')), 'binding.js'),
  );
  const addon = binding.getBinding();
  if (!isAddon(addon)) throw new Error('better-sqlite3 is not built as the simulation knows it');
  return addon;
}

/**
 * Looks into the connections that the store opens, which only themselves know whether they sync,
 * and compiles a statement once for a connection, when it is needed. What SQLite does is not
 * changed, but for its locks: a connection holds them instead of asking for them at each statement,
 * since nobody else opens the file.
 */
export function tapSqlite(): void {
  const addon = loadAddon();
  addon.Database = new Proxy(addon.Database, {
    construct: (Native, values: readonly unknown[]) => {
      const [path, ...rest] = values;
      return kept.get(String(path))?.native ?? new Native(String(path), ...rest);
    },
  });
  const prototype: { prepare: unknown; pragma: unknown; close: unknown; transaction: unknown } =
    SqliteDatabase.prototype;
  prototype.transaction = function tappedTransaction(this: Database, step: Step) {
    const made = transaction.call(this, step);
    // Called as it is, it is a savepoint within another transaction.
    return Object.assign((...values: unknown[]): unknown => made(...values), {
      immediate: (...values: unknown[]): unknown => {
        const result: unknown = made.immediate(...values);
        // One within another is a savepoint, which commits nothing: an error there rolls everything
        // back.
        if (!this.inTransaction) strike('commit');
        return result;
      },
    });
  };
  prototype.pragma = function tappedPragma(
    this: Database,
    source: string,
    options?: SqliteDatabase.PragmaOptions,
  ) {
    // Who only reads looks at the head of the file and closes it: to hold its lock would take a
    // write.
    if (connections.get(this.name) !== this && !this.readonly) {
      connections.set(this.name, this);
      if (!this.inTransaction) pragma.call(this, 'locking_mode = EXCLUSIVE');
    }
    const keptOpen = kept.get(this.name);
    if (keptOpen === undefined) return pragma.call(this, source, options);
    const [name = '', value] = source.split(' = ');
    if (value !== undefined && keptOpen.settings.get(name) === value) return undefined;
    if (value !== undefined) {
      keptOpen.settings.set(name, value);
      return pragma.call(this, source, options);
    }
    return options?.simple === true
      ? this.prepare(`PRAGMA ${source}`).pluck().get()
      : this.prepare(`PRAGMA ${source}`).all();
  };
  prototype.prepare = function tappedPrepare(this: Database, sql: string) {
    const known =
      statements.get(this) ?? kept.get(this.name)?.statements ?? new Map<string, LazyStatement>();
    statements.set(this, known);
    const found = known.get(sql) ?? new LazyStatement(this, withFixedPlan(sql));
    known.set(sql, found);
    return found;
  };
  prototype.close = function tappedClose(this: Database) {
    return kept.has(this.name) ? this : close.call(this);
  };
}

/**
 * From now on this connection stays open when it is closed, and is taken up again when its path is
 * opened.
 */
export function keepOpen(database: Database): void {
  const [symbol] = Object.getOwnPropertySymbols(database);
  const native: unknown = symbol === undefined ? undefined : Reflect.get(database, symbol);
  if (typeof native !== 'object' || native === null)
    throw new Error('better-sqlite3 is not made as expected');
  const compiled = statements.get(database) ?? new Map<string, LazyStatement>();
  kept.set(database.name, { native, statements: compiled, settings: new Map() });
}

/** Closes a connection that was kept open. */
export function closeKept(path: string): void {
  const database = connections.get(path);
  kept.delete(path);
  if (database?.open === true) close.call(database);
}

export function connectionTo(path: string): Database | undefined {
  return connections.get(path);
}

export function forgetConnection(path: string): void {
  connections.delete(path);
}

/** 2 when every commit is on the disk before it returns (FULL), less when it is not. */
export function synchronousOf(database: Database): number {
  return Number(pragma.call(database, 'synchronous', { simple: true }));
}
