import { assert } from '../../core/order-sync-error.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';

/*
 * Orders of shops whose known state is too old to buy by: they are read once more first. An entry
 * that waits for that keeps its state, is not due until then, and lets the others of its lane pass.
 * Every function that writes is called inside a transaction.
 */

type OrderKey = Readonly<Record<'source' | 'orderId', string>>;

/** Which orders of shops are read again before a line of them is sent. */
export interface RecheckRule {
  /**
   * How old the known state of an order of this source may be, in ms; null: it is not read again.
   * -Infinity: nothing of the source is sent yet.
   */
  readonly maxAgeMs: (source: string) => number | null;
  /** An entry of this source waits until its order was read again. */
  readonly onDelayed: (source: string) => void;
}

/** An order that is to be read again before a line of it is bought. */
export interface DueRecheck {
  readonly orderId: string;
  readonly sinceMs: number;
  /** Why it could not be read the last time; null: it was not tried yet. */
  readonly problem: string | null;
}

interface DueAsk {
  readonly source: string;
  readonly steadyMs: number;
  readonly limit: number;
}

/** An entry is asked again after this time, in ms, in case that nobody reads the order. */
const askedAgainMs = 600_000;

/** At most this many orders are forgotten in one step. */
const atOnce = 1000;

const isWaiting = 'o.recheck_since_ms IS NOT NULL';

// An operator who released the line has decided without the shop.
const findOrder = statementOf<[number], OrderKey & { readonly currentAtMs: number }>(
  `SELECT o.source, o.order_id AS orderId, o.current_at_ms AS currentAtMs
   FROM lines l JOIN requests r ON r.id = l.request_id
   JOIN storefront_orders o ON o.source = r.source AND o.order_id = r.order_id WHERE l.id = ? AND l.shop_hold_lifted = 0`,
);
const begin = statementOf<OrderKey & { nowMs: number }, never>(
  `UPDATE storefront_orders SET recheck_since_ms = :nowMs, recheck_steady = 0
   WHERE source = :source AND order_id = :orderId AND recheck_since_ms IS NULL`,
);
const delay = statementOf<{ id: number; dueAtMs: number }, never>(
  `UPDATE entries SET due_before_recheck_steady = coalesce(due_before_recheck_steady, due_steady), due_steady = :dueAtMs
   WHERE id = :id AND state IN ('pending', 'waiting')`,
);
const clear = statementOf<OrderKey, never>(
  `UPDATE storefront_orders SET recheck_since_ms = NULL, recheck_steady = NULL, recheck_problem = NULL
   WHERE source = :source AND order_id = :orderId AND recheck_since_ms IS NOT NULL`,
);
const resume = statementOf<OrderKey, never>(
  `UPDATE entries SET due_before_recheck_steady = NULL,
     due_steady = CASE WHEN state IN ('pending', 'waiting', 'held') THEN due_before_recheck_steady ELSE due_steady END
   WHERE due_before_recheck_steady IS NOT NULL AND line_id IN (
     SELECT l.id FROM lines l JOIN requests r ON r.id = l.request_id WHERE r.source = :source AND r.order_id = :orderId)`,
);
const unwanted = columnOf<[string], string>(
  `SELECT o.order_id FROM storefront_orders o WHERE ${isWaiting} AND o.source = ? AND NOT EXISTS (
     SELECT 1 FROM requests r JOIN lines l ON l.request_id = r.id JOIN entries e ON e.line_id = l.id
     WHERE r.source = o.source AND r.order_id = o.order_id AND e.due_before_recheck_steady IS NOT NULL
       AND e.state IN ('pending', 'waiting')) LIMIT ${atOnce}`,
);
const due = statementOf<DueAsk, DueRecheck>(
  `SELECT o.order_id AS orderId, o.recheck_since_ms AS sinceMs, o.recheck_problem AS problem FROM storefront_orders o
   WHERE ${isWaiting} AND o.source = :source AND o.recheck_steady <= :steadyMs ORDER BY o.recheck_steady LIMIT :limit`,
);
export const nextRecheckAt = columnOf<[string], number | null>(
  `SELECT min(o.recheck_steady) FROM storefront_orders o WHERE ${isWaiting} AND o.source = ?`,
);
export const postponeRecheck = statementOf<OrderKey & { problem: string; atMs: number }, never>(
  `UPDATE storefront_orders SET recheck_steady = :atMs, recheck_problem = :problem
   WHERE source = :source AND order_id = :orderId AND recheck_since_ms IS NOT NULL`,
);
const ofOthers = statementOf<[string], OrderKey>(
  `SELECT o.source, o.order_id AS orderId FROM storefront_orders o
   WHERE ${isWaiting} AND o.source NOT IN (SELECT value FROM json_each(?)) LIMIT ${atOnce}`,
);

/** The order of the shop that an entry is a line of, as it is known; null: none counts. */
export function findShopOrder(
  database: Sqlite,
  row: EntryRow,
): (OrderKey & { readonly currentAtMs: number }) | null {
  return findOrder(database).get(row.line_id) ?? null;
}

/** An entry that is to be sent waits until its order was read again: until then it is not due. */
export function delayForRecheck(
  database: Sqlite,
  row: EntryRow,
  { source, orderId }: OrderKey,
  { nowMs, steadyMs }: { readonly nowMs: number; readonly steadyMs: number },
): void {
  begin(database).run({ source, orderId, nowMs });
  const { changes } = delay(database).run({ id: row.id, dueAtMs: steadyMs + askedAgainMs });
  assert(changes === 1, `${row.reference} is to be sent`);
}

/** The order waits no more: its entries are due when they were before. Returns how many. */
export function endRecheck(database: Sqlite, { source, orderId }: OrderKey): number {
  if (clear(database).run({ source, orderId }).changes === 0) return 0;
  return resume(database).run({ source, orderId }).changes;
}

/**
 * The orders that are due to be read, the longest due first. An order that no line waits for any
 * more is forgotten.
 */
export function dueRechecks(database: Sqlite, ask: DueAsk): readonly DueRecheck[] {
  const { source } = ask;
  for (const orderId of unwanted(database).all(source)) endRecheck(database, { source, orderId });
  return due(database).all(ask);
}

/**
 * Ends the waiting for shops that are not among these, because nobody reads them. Returns how many
 * entries are due.
 */
export function endRechecksOfOthers(database: Sqlite, sources: readonly string[]): number {
  let entries = 0;
  for (;;) {
    const orders = ofOthers(database).all(JSON.stringify(sources));
    for (const order of orders) entries += endRecheck(database, order);
    if (orders.length < atOnce) return entries;
  }
}
