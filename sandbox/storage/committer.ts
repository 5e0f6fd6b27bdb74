import type { Database } from './database.ts';

/**
 * `run` executes the work in the open transaction and returns the function that settles its promise
 * afterwards.
 */
type Waiting = { run: () => () => void; reject: (reason: unknown) => void };

/**
 * Runs pieces of work one after the other, and resolves each only after it is on disk. Work that
 * arrives in the same turn of the event loop shares one transaction, hence one fsync: this allows
 * thousands of orders a second with synchronous=FULL. Each piece has its own savepoint, so one that
 * throws undoes only itself.
 */
export class Committer {
  readonly #database: Database;
  #waiting: Waiting[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Resolves with the result of `work` once it is committed; rejects if `work` throws or the commit
   * fails.
   */
  run<T>(work: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = (): (() => void) => {
      try {
        const value = this.#database.transaction(work);
        return () => resolve(value);
      } catch (error) {
        // An error such as a full disk can end the whole transaction, not only the savepoint.
        if (!this.#database.inTransaction) throw error;
        return () => reject(error);
      }
    };
    if (this.#waiting.push({ run, reject }) === 1) setImmediate(() => this.flush());
    return promise;
  }

  flush(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length === 0) return;
    try {
      const settled = this.#database.transaction(() => batch.map((piece) => piece.run()));
      for (const settle of settled) settle();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
