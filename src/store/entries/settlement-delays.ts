import { settlementDelayLeftMs } from '../../core/entry/settlement-delay.ts';
import { statementOf } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { conditionsOfStates, type EntryRow } from '../sqlite/rows.ts';

// The settlement delays of entries of unknown outcome, on the monotonic clock of the machine.

/**
 * Ends the delays that were stamped in another run of the machine, in the states in which a rejection or a missing order may
 * still be judged. The end by the wall clock, which people see and from which the deadline of an acceptance is counted, stays.
 */
export const restartDelays = conditionsOfStates('sending', 'unknown', 'placed').map((condition) =>
  statementOf<{ untilMono: number; bootId: string | null }, never>(
    `UPDATE entries SET settlement_delay_end_mono = :untilMono, settlement_delay_boot_id = :bootId
     WHERE ${condition} AND settlement_delay_end_ms IS NOT NULL
       AND (settlement_delay_boot_id IS NULL OR :bootId IS NULL OR settlement_delay_boot_id <> :bootId)`,
  ),
);

/** The rest of an entry's delay, in ms; by the wall clock only where the stamp may be of another run. */
export function settlementDelayLeftOf(
  outbox: Outbox,
  row: EntryRow,
  now: { readonly nowMs: number; readonly nowMono: number; readonly bootId: string | null },
): number {
  const isOfThisRun = outbox.delaysAreOfThisRun || (now.bootId !== null && row.settlement_delay_boot_id === now.bootId);
  const settlementDelayEndMono = isOfThisRun ? row.settlement_delay_end_mono : null;
  return settlementDelayLeftMs(
    { settlementDelayEndMs: row.settlement_delay_end_ms, settlementDelayEndMono },
    { wallMs: now.nowMs, monoMs: now.nowMono },
  );
}
