import SqliteDatabase from 'better-sqlite3';

type Database = SqliteDatabase.Database;
type Statement = SqliteDatabase.Statement;

const connections = new Map<string, Database>();
const statements = new WeakMap<Database, Map<string, LazyStatement>>();
// Kept as they are, and only ever called on a connection: the prototype gets others in their place.
const pragma: (this: Database, source: string, options?: SqliteDatabase.PragmaOptions) => unknown = Reflect.get(
  SqliteDatabase.prototype,
  'pragma',
);
const prepare: (this: Database, sql: string) => Statement = Reflect.get(SqliteDatabase.prototype, 'prepare');

/** A statement that is compiled when it is first used: a run opens the outbox often and uses a part of them. */
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

  run(...values: unknown[]): SqliteDatabase.RunResult {
    return this.#statement().run(...values);
  }

  get(...values: unknown[]): unknown {
    return this.#statement().get(...values);
  }

  all(...values: unknown[]): unknown[] {
    return this.#statement().all(...values);
  }
}

/**
 * Looks into the connections that the store opens, which only themselves know whether they sync, and compiles a
 * statement once for a connection, when it is needed. What SQLite does is not changed.
 */
export function tapSqlite(): void {
  const prototype: { prepare: unknown; pragma: unknown } = SqliteDatabase.prototype;
  prototype.pragma = function tappedPragma(this: Database, source: string, options?: SqliteDatabase.PragmaOptions) {
    connections.set(this.name, this);
    return pragma.call(this, source, options);
  };
  prototype.prepare = function tappedPrepare(this: Database, sql: string) {
    const known = statements.get(this) ?? new Map<string, LazyStatement>();
    statements.set(this, known);
    const found = known.get(sql) ?? new LazyStatement(this, sql);
    known.set(sql, found);
    return found;
  };
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
