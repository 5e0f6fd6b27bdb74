import type { Database } from 'better-sqlite3';

/** `run` executes the work in the open transaction and returns the function that settles its promise afterwards. */
type Waiting = { run: () => () => void; reject: (reason: unknown) => void };

/**
 * Runs pieces of work one after the other, and resolves each only after it is on disk.
 * Work that arrives in the same turn of the event loop shares one transaction, hence one fsync: this allows thousands
 * of orders a second with synchronous=FULL. Each piece has its own savepoint, so one that throws undoes only itself.
 */
export class Committer {
  readonly #database: Database;
  readonly #sql;
  #waiting: Waiting[] = [];

  constructor(database: Database) {
    this.#database = database;
    this.#sql = {
      begin: database.prepare('BEGIN IMMEDIATE'),
      commit: database.prepare('COMMIT'),
      rollback: database.prepare('ROLLBACK'),
      savepoint: database.prepare('SAVEPOINT piece'),
      release: database.prepare('RELEASE piece'),
      undo: database.prepare('ROLLBACK TO piece'),
    };
  }

  /** Resolves with the result of `work` once it is committed; rejects if `work` throws or the commit fails. */
  run<T>(work: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = (): (() => void) => {
      this.#sql.savepoint.run();
      try {
        const value = work();
        return () => resolve(value);
      } catch (error) {
        this.#sql.undo.run();
        return () => reject(error);
      } finally {
        this.#sql.release.run();
      }
    };
    if (this.#waiting.push({ run, reject }) === 1) setImmediate(() => this.flush());
    return promise;
  }

  /** Commits the waiting work now. */
  flush(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length === 0) return;
    const settled: Array<() => void> = [];
    try {
      this.#sql.begin.run();
      for (const piece of batch) settled.push(piece.run());
      this.#sql.commit.run();
    } catch (error) {
      if (this.#database.inTransaction) this.#sql.rollback.run();
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const settle of settled) settle();
  }
}
