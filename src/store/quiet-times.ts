import type { EntryState } from '../core/entry-state.ts';
import { inTransaction, type Sqlite } from './database.ts';

/** Every state in which something may still be concluded from an absence or a refusal. */
const openStates: readonly EntryState[] = ['sending', 'unknown', 'placed', 'needs_review', 'held'];

/** The quiet times of doubts, on the clock of the machine. */
export class QuietTimes {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /**
   * Lets those that were stamped in another run of the machine end at `untilMono`. The end that people are shown, and
   * from which the time of an acceptance is counted, stays.
   */
  restart(restart: { untilMono: number; bootId: string | null }): void {
    inTransaction(this.#database, () => {
      for (const state of openStates) {
        this.#database
          .prepare(
            // The state stands in the text, so that the index of its few rows is used.
            `UPDATE entries SET doubt_until_mono = :untilMono, doubt_boot_id = :bootId
             WHERE state = '${state}' AND doubt_until_ms IS NOT NULL
               AND (doubt_boot_id IS NULL OR :bootId IS NULL OR doubt_boot_id <> :bootId)`,
          )
          .run(restart);
      }
    });
  }
}
