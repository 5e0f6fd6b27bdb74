import { inFlightWindowLeftMs } from '../../core/entry/in-flight-window.ts';
import { statementOf } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { conditionsOfStates, type EntryRow } from '../sqlite/rows.ts';

// The in-flight windows of entries of unknown outcome, on the monotonic clock of the machine.

/**
 * Ends the delays that were stamped in another run of the machine, in the states in which a
 * rejection or a missing order may still be judged. The end by the wall clock, which people see and
 * from which the deadline of an acceptance is counted, stays.
 */
export const restartWindows = conditionsOfStates('sending', 'unknown', 'placed').map((condition) =>
  statementOf<{ untilMono: number; bootId: string | null }, never>(
    `UPDATE entries SET in_flight_window_end_mono = :untilMono, in_flight_window_boot_id = :bootId
     WHERE ${condition} AND in_flight_window_end_ms IS NOT NULL
       AND (in_flight_window_boot_id IS NULL OR :bootId IS NULL OR in_flight_window_boot_id <> :bootId)`,
  ),
);

/**
 * The rest of an entry's delay, in ms; by the wall clock only where the stamp may be of another
 * run.
 */
export function inFlightWindowLeftOf(
  outbox: Outbox,
  row: EntryRow,
  now: { readonly nowMs: number; readonly nowMono: number; readonly bootId: string | null },
): number {
  const isOfThisRun =
    outbox.windowsAreOfThisRun ||
    (now.bootId !== null && row.in_flight_window_boot_id === now.bootId);
  const inFlightWindowEndMono = isOfThisRun ? row.in_flight_window_end_mono : null;
  return inFlightWindowLeftMs(
    { inFlightWindowEndMs: row.in_flight_window_end_ms, inFlightWindowEndMono },
    { wallMs: now.nowMs, monoMs: now.nowMono },
  );
}
