import type { EntryState } from '../../core/entry/states.ts';
import { settlementDelayLeftMs } from '../../core/decision/settlement-delay.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';

/** Every state in which something may still be concluded from an absence or a refusal. */
const openStates: readonly EntryState[] = ['sending', 'unknown', 'placed', 'needs_review', 'held'];

/** The quiet times of doubts, on the clock of the machine. */
export class SettlementDelays {
  readonly #database: Sqlite;
  /** From its start on, a worker knows every stamp to be of its own run of the machine, whether or not that has a name. */
  #areOfThisRun = false;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** What is left of an entry's quiet time, in ms; by the wall clock only where its stamp may be of another run. */
  leftOf(row: EntryRow, now: { nowMs: number; nowMono: number; bootId: string | null }): number {
    const isComparable = this.#areOfThisRun || (now.bootId !== null && row.settlement_delay_boot_id === now.bootId);
    const settlementDelayEndMono = isComparable ? row.settlement_delay_end_mono : null;
    return settlementDelayLeftMs(
      { settlementDelayEndMs: row.settlement_delay_end_ms, settlementDelayEndMono },
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
            `UPDATE entries SET settlement_delay_end_mono = :untilMono, settlement_delay_boot_id = :bootId
             WHERE state = '${state}' AND settlement_delay_end_ms IS NOT NULL
               AND (settlement_delay_boot_id IS NULL OR :bootId IS NULL OR settlement_delay_boot_id <> :bootId)`,
          )
          .run(restart);
      }
    });
    this.#areOfThisRun = true;
  }
}
