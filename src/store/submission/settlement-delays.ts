import { settlementDelayLeftMs } from '../../core/decision/retry-schedule.ts';
import type { EntryState } from '../../core/entry/states.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import { stateConditions } from '../sqlite/state-conditions.ts';
import type { EntryRow } from '../sqlite/rows.ts';

/** The states in which a rejection or a missing order may still be judged. */
const judgedStates: readonly EntryState[] = ['sending', 'unknown', 'placed', 'needs_review', 'held'];

/** The settlement delays of entries of unknown outcome, on the monotonic clock of the machine. */
export class SettlementDelays {
  readonly #database: Sqlite;
  /** Once a worker has started, every stamp is of its own run of the machine, also where that run has no boot id. */
  #areOfThisRun = false;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** What is left of an entry's delay, in ms; by the wall clock only where the stamp may be of another run. */
  leftOf(row: EntryRow, now: { nowMs: number; nowMono: number; bootId: string | null }): number {
    const isComparable = this.#areOfThisRun || (now.bootId !== null && row.settlement_delay_boot_id === now.bootId);
    const settlementDelayEndMono = isComparable ? row.settlement_delay_end_mono : null;
    return settlementDelayLeftMs(
      { settlementDelayEndMs: row.settlement_delay_end_ms, settlementDelayEndMono },
      { wallMs: now.nowMs, monoMs: now.nowMono },
    );
  }

  /**
   * Lets the delays that were stamped in another run of the machine end at `untilMono`. The end by the wall clock, which
   * people see and from which the deadline of an acceptance is counted, stays.
   */
  restart(restart: { untilMono: number; bootId: string | null }): void {
    inTransaction(this.#database, () => {
      for (const condition of stateConditions(judgedStates)) {
        this.#database
          .prepare(
            `UPDATE entries SET settlement_delay_end_mono = :untilMono, settlement_delay_boot_id = :bootId
             WHERE ${condition} AND settlement_delay_end_ms IS NOT NULL
               AND (settlement_delay_boot_id IS NULL OR :bootId IS NULL OR settlement_delay_boot_id <> :bootId)`,
          )
          .run(restart);
      }
    });
    this.#areOfThisRun = true;
  }
}
