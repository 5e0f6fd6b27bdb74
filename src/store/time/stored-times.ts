import { neverMs } from '../results/due-results.ts';
import { columnOf, inTransaction, statementOf } from '../sqlite/database.ts';
import { readMeta, writeMeta } from '../sqlite/meta.ts';
import { OutboxSteps } from '../sqlite/outbox.ts';
import { conditionsOfStates } from '../sqlite/rows.ts';
import { moveAfterLoss } from '../entries/after-loss.ts';
import { lanesOf } from '../entries/lanes.ts';

const seenName = 'clock_seen_ms';

/**
 * Each column that is waited for or measured, with the rows in which it is. A test compares this
 * list with the schema.
 */
export const movedColumns: readonly { table: string; columns: readonly string[]; where: string }[] =
  [
    // Pending entries have no such time: they are due since they came in.
    ...conditionsOfStates('sending', 'waiting', 'unknown', 'placed').map((where) => ({
      table: 'entries',
      // The reference expiry is counted from the first sending, the deadline for units from the
      // in-flight window.
      columns: [
        'due_at_ms',
        'due_before_recheck_ms',
        'first_sent_at_ms',
        'in_flight_window_end_ms',
      ],
      where,
    })),
    // Becomes the time of the first sending when the call ends.
    { table: 'attempts', columns: ['opened_at_ms'], where: 'closed_at_ms IS NULL' },
    {
      table: 'deliveries',
      columns: ['due_at_ms'],
      where: `done_version < due_version AND due_at_ms < ${neverMs}`,
    },
    { table: 'sink_pauses', columns: ['since_ms', 'probe_at_ms'], where: 'true' },
    // The start of a pause moves with the clock, and must not look like a new one.
    { table: 'alerts_told', columns: ['newest_ms'], where: "condition IN ('', 'pause', 'sink')" },
    { table: 'pauses', columns: ['since_ms', 'probe_at_ms'], where: 'true' },
    { table: 'scope_evidence', columns: ['at_ms'], where: 'true' },
    { table: 'storefront_orders', columns: ['seen_at_ms'], where: 'awaits_read_back = 1' },
    {
      table: 'storefront_orders',
      columns: ['recheck_since_ms', 'recheck_at_ms'],
      where: 'recheck_since_ms IS NOT NULL',
    },
    { table: 'shop_fingerprints', columns: ['seen_at_ms'], where: 'true' },
    // A connection that an ahead clock dated would refuse all that is paid until then.
    { table: 'storefronts', columns: ['connected_at_ms'], where: 'true' },
  ];

const moveTimes = movedColumns.map(({ table, columns, where }) =>
  statementOf<{ stepMs: number }, never>(
    `UPDATE ${table} SET ${columns.map((column) => `${column} = ${column} + :stepMs`).join(', ')} WHERE ${where}`,
  ),
);
// Found lane by lane, each from its last entry on: those that are not due yet are few, and the
// pending ones may be a million.
const makePendingDue = statementOf<{ nowMs: number }, never>(
  `UPDATE entries SET due_at_ms = :nowMs WHERE id IN (
     SELECT e.id FROM (${lanesOf('pending')}) found CROSS JOIN entries e INDEXED BY entries_pending_lanes
     WHERE e.state = 'pending' AND e.lane = found.lane AND e.due_at_ms > :nowMs)`,
);
const nextDeadline = columnOf<[], number | null>(
  `SELECT min(not_after_ms) FROM entries WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL`,
);

/**
 * The stored times that are waited for or measured. They are times of the wall clock, and move with
 * it.
 */
export class StoredTimes extends OutboxSteps {
  /**
   * Moves every stored time that is waited for or measured by a step of the wall clock. Times that
   * tell what happened stay as the clock showed them. No pending entry is due later than now.
   * @param step.stepMs negative for a step back, 0 for none
   * @param step.onMoved called right after the commit, before any other code runs
   * @returns how many rows were moved
   */
  async follow(step: { stepMs: number; nowMs: number; onMoved?: () => void }): Promise<number> {
    const { stepMs, nowMs } = step;
    const { database } = this;
    const moved = inTransaction(database, () => {
      let count = 0;
      for (const move of stepMs === 0 ? [] : moveTimes)
        count += move(database).run({ stepMs }).changes;
      // Not moved, so that those of one lane stay in their order.
      count += makePendingDue(database).run({ nowMs }).changes;
      moveAfterLoss(database, stepMs);
      writeMeta(database, seenName, String(nowMs));
      return count;
    });
    step.onMoved?.();
    return moved;
  }

  /** The first deadline of an entry for which nothing was charged; null when none has one. */
  readonly nextDeadlineMs = this.first(nextDeadline);

  /**
   * The latest time that was recorded as seen, in the time of today's clock; null in a new
   * database.
   */
  async lastSeenMs(): Promise<number | null> {
    const text = readMeta(this.database, seenName);
    return text === undefined ? null : Number(text);
  }

  readonly recordSeen = this.step(({ database }, nowMs: number) =>
    writeMeta(database, seenName, String(nowMs)),
  );
}
