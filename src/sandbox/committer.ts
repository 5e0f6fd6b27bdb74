import type { Database } from 'better-sqlite3';

/** Runs its piece inside the open transaction, and returns how to tell its owner afterwards. */
type Waiting = { run: () => () => void; reject: (reason: unknown) => void };

/**
 * Runs pieces of work one after the other and answers each only after it is on disk.
 * Work that arrives in the same turn of the event loop shares one transaction, hence one fsync: that is what makes
 * thousands of orders a second possible with synchronous=FULL. Each piece stands in its own savepoint, so one that
 * throws undoes itself and nothing else.
 */
export class Committer {
  readonly #database: Database;
  readonly #begin;
  readonly #commit;
  readonly #rollback;
  readonly #savepoint;
  readonly #release;
  readonly #undo;
  #waiting: Waiting[] = [];
  #scheduled = false;

  constructor(database: Database) {
    this.#database = database;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
    this.#savepoint = database.prepare('SAVEPOINT piece');
    this.#release = database.prepare('RELEASE piece');
    this.#undo = database.prepare('ROLLBACK TO piece');
  }

  /** Resolves with what `work` returned once it is committed; rejects if it threw or the commit failed. */
  run<T>(work: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = (): (() => void) => {
      this.#savepoint.run();
      try {
        const value = work();
        return () => resolve(value);
      } catch (error) {
        this.#undo.run();
        return () => reject(error);
      } finally {
        this.#release.run();
      }
    };
    this.#waiting.push({ run, reject });
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    }
    return promise;
  }

  /** Commits what is waiting now; used when the sandbox closes. */
  flush(): void {
    this.#flush();
  }

  #flush(): void {
    this.#scheduled = false;
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length === 0) return;
    const settled: Array<() => void> = [];
    try {
      this.#begin.run();
      for (const piece of batch) settled.push(piece.run());
      this.#commit.run();
    } catch (error) {
      if (this.#database.inTransaction) this.#rollback.run();
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const settle of settled) settle();
  }
}
