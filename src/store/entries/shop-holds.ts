import type { EntryState } from '../../core/entry/states.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { selectEntriesOfLine, type EntryRow } from '../sqlite/rows.ts';
import { holdEntry, releaseEntry } from './entry-changes.ts';

/*
 * Lines that must not be bought while the shop's order is in its present state. Unsent entries are
 * held at once, and released when the shop shows the order as paid again. The claim asks, too: a
 * call that was in flight may come back unbought, and a split adds entries. Every function is
 * called inside a transaction.
 */

/** Why a line is held in whose place another one came that is a purchase of its own. */
export const whyVanished =
  'the line vanished from the order, and an operator said that the line in its place is another purchase: the vanished line is bought when the storefront shows it again';

/** Held at the claim alone, so no state of the order ends it. */
const whyOther = {
  line: 'another worker wrote into this order that it ordered this line: if that worker did not order it, release the line; if it did, cancel the line',
  shop: 'another worker wrote results into other orders of this shop: this line is bought when the row `other_worker` of the shop is acknowledged',
} as const;

/** The states of entries that are to be sent, now or later, and whose outcome is known. */
const unsent: ReadonlySet<EntryState> = new Set(['pending', 'waiting']);

const findHold = statementOf<
  [number],
  { why: string | null; isLifted: number; other: keyof typeof whyOther | null }
>(
  `SELECT shop_hold AS why, shop_hold_lifted AS isLifted,
     (SELECT other_worker FROM other_worker_lines WHERE line_id = lines.id) AS other FROM lines WHERE id = ?`,
);
const selectHeldForOther = statementOf<[string], EntryRow>(
  `SELECT e.* FROM entries e CROSS JOIN other_worker_lines o ON o.line_id = e.line_id
   WHERE e.state IN ('needs_review', 'held') AND e.held_by = 'shop' AND o.shop_hold IS NULL AND o.source = ?`,
);
const setHold = statementOf<{ lineId: number; why: string | null }, never>(
  'UPDATE lines SET shop_hold = :why, shop_hold_lifted = 0 WHERE id = :lineId',
);
const setLifted = statementOf<[number], never>(
  'UPDATE lines SET shop_hold_lifted = 1 WHERE id = ?',
);
const setLimitLifted = statementOf<[number], never>(
  'UPDATE entries SET limit_lifted = 1 WHERE id = ?',
);
// The newest state of the order has neither the line nor another one in its place.
const findVanished = columnOf<[number], number>(
  `SELECT o.id FROM lines n JOIN lines o ON o.id = n.same_as JOIN requests r ON r.id = o.request_id
   JOIN storefront_orders s ON s.source = r.source AND s.order_id = r.order_id
   WHERE n.id = ? AND o.shop_hold IS NULL AND s.lines_left IS NOT NULL
     AND NOT EXISTS (SELECT 1 FROM json_each(s.lines_left) j WHERE j.value > 0 AND (j.key = o.line_id
       OR j.key IN (SELECT line_id FROM lines WHERE same_as = o.id AND id <> n.id)))`,
);
const setOwnPurchase = statementOf<[number], never>(
  'UPDATE lines SET same_as = NULL WHERE id = ? AND same_as IS NOT NULL',
);

/** Why the line of an entry must not be bought now; null: it may. */
export function whyHeldByShop(database: Sqlite, row: Pick<EntryRow, 'line_id'>): string | null {
  const hold = findHold(database).get(row.line_id);
  if (hold === undefined || hold.isLifted === 1) return null;
  return hold.why ?? (hold.other === null ? null : whyOther[hold.other]);
}

/**
 * An operator has acknowledged the other worker of a shop. The next claim holds again what that one
 * ordered.
 */
export function releaseHeldForOther(outbox: Outbox, source: string, nowMs: number): void {
  for (const row of selectHeldForOther(outbox.database).all(source))
    releaseEntry(outbox, row, nowMs);
}

/**
 * An operator releases an entry that the shop's state holds: until that state changes, it does not
 * count for the line. No limit on spending holds the entry again.
 */
export function liftHold(database: Sqlite, row: EntryRow): void {
  if (row.held_by === 'shop') setLifted(database).run(row.line_id);
  if (row.held_by === 'limit') setLimitLifted(database).run(row.id);
}

/**
 * An operator says that a line is a purchase of its own. The unsent entries of the line that it
 * replaces are held: the shop does not have that line any more. Returns the entries that are held
 * now.
 */
export function makeOwnPurchase(
  outbox: Outbox,
  row: Pick<EntryRow, 'line_id'>,
  nowMs: number,
): readonly EntryRow[] {
  const { database } = outbox;
  const vanished = findVanished(database).get(row.line_id);
  setOwnPurchase(database).run(row.line_id);
  return vanished === undefined
    ? []
    : applyShopHold(outbox, vanished, { why: whyVanished, stillWhy: null }, nowMs).held;
}

/**
 * Records why a line must not be bought now, and holds or releases what is unsent of it. An entry
 * that an operator held stays held. An entry that an operator released stays released while the reason is
 * the same.
 * @param state.why null: it may be bought
 * @param state.stillWhy why it may not be released although the order is paid again; it holds
 * nothing that is not held
 */
export function applyShopHold(
  outbox: Outbox,
  lineId: number,
  state: { readonly why: string | null; readonly stillWhy: string | null },
  nowMs: number,
): { readonly held: readonly EntryRow[]; readonly released: readonly EntryRow[] } {
  const { database } = outbox;
  const was = findHold(database).get(lineId);
  const before = was?.why ?? null;
  const isLifted = was?.isLifted === 1;
  const why = state.why ?? (before !== null && !isLifted ? state.stillWhy : null);
  if (why === null && before === null) return { held: [], released: [] };
  if (why !== before) setHold(database).run({ lineId, why });
  else if (isLifted) return { held: [], released: [] };
  const rows = selectEntriesOfLine(database).all(lineId);
  const heldByShop = rows.filter((row) => row.state === 'held' && row.held_by === 'shop');
  if (why === null) {
    for (const row of heldByShop) releaseEntry(outbox, row, nowMs);
    return { held: [], released: heldByShop };
  }
  const held = rows.filter((row) => unsent.has(row.state));
  const changed = heldByShop.filter((row) => row.review_reason !== why);
  for (const row of [...held, ...changed]) holdEntry(outbox, row, { why, by: 'shop' }, nowMs);
  return { held, released: [] };
}
