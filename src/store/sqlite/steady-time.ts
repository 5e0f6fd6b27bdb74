import type { TimeMark } from '../../core/clock.ts';
import { assert } from '../../core/order-sync-error.ts';
import { columnOf, statementOf, type Sqlite } from './database.ts';
import type { OutboxClock } from './outbox.ts';
import { conditionsOfStates } from './rows.ts';

/*
 * The steady time of the outbox, in the columns that end in `_steady`. Its newest mark is written
 * every ten seconds, and with each order and call that is recorded: no time that is stored as past is
 * later than the mark, also after a power cut.
 */

const select = statementOf<[], TimeMark>(
  `SELECT steady_ms AS steadyMs, steady_ms + ahead_ms AS wallMs, machine_ms AS machineMs, boot_id AS bootId
   FROM steady_time`,
);
const write = statementOf<TimeMark, never>(
  `REPLACE INTO steady_time (id, steady_ms, ahead_ms, machine_ms, boot_id)
   VALUES (1, :steadyMs, CAST(round(:wallMs - :steadyMs) AS INTEGER), :machineMs, :bootId)`,
);
const ageReferences = [
  `due_steady = due_steady - :offMs WHERE state = 'sending'`,
  ...conditionsOfStates('sending', 'waiting', 'unknown', 'placed').map(
    (which) => `first_sent_steady = first_sent_steady - :offMs WHERE ${which}`,
  ),
].map((change) => statementOf<{ offMs: number }, never>(`UPDATE entries SET ${change}`));

export function lastMark(database: Sqlite): TimeMark {
  const mark = select(database).get();
  assert(mark !== undefined, 'the database has its steady time');
  return mark;
}

/** Called inside a transaction. */
export function writeMark(database: Sqlite, clock: OutboxClock): void {
  const mark = clock.mark();
  if (mark !== null) write(database).run(mark);
}

/**
 * The API forgets references also while the machine is off, which steady time does not count.
 * Called inside a transaction.
 */
export function countTimeOff(database: Sqlite, offMs: number): void {
  if (offMs > 0) for (const age of ageReferences) age(database).run({ offMs });
}

/** A steady time as the wall clock shows it, by the newest mark. */
export const wallOf = (column: string): string =>
  `(${column} + (SELECT ahead_ms FROM steady_time))`;

/** The difference, in ms. */
export const wallAhead = columnOf<[], number>('SELECT ahead_ms FROM steady_time');
