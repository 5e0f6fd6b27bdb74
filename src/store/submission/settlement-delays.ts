import type { EntryState } from '../../core/entry/states.ts';
import { quietLeftMs } from '../../core/decision/settlement-delay.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';

/** Every state in which something may still be concluded from an absence or a refusal. */
const openStates: readonly EntryState[] = ['sending', 'unknown', 'placed', 'needs_review', 'held'];

/** The quiet times of doubts, on the clock of the machine. */
export class QuietTimes {
  readonly #database: Sqlite;
  /** From its start on, a worker knows every stamp to be of its own run of the machine, whether or not that has a name. */
  #areOfThisRun = false;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** What is left of an entry's quiet time, in ms; by the wall clock only where its stamp may be of another run. */
  leftOf(row: EntryRow, now: { nowMs: number; nowMono: number; bootId: string | null }): number {
    const isComparable = this.#areOfThisRun || (now.bootId !== null && row.doubt_boot_id === now.bootId);
    const doubtUntilMono = isComparable ? row.doubt_until_mono : null;
    return quietLeftMs(
      { doubtUntilMs: row.doubt_until_ms, doubtUntilMono },
      { wallMs: now.nowMs, monoMs: now.nowMono },
    );
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
    this.#areOfThisRun = true;
  }
}
