import type { EntryState } from '../../core/entry/states.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import type { EntryChanges } from '../submission/entry-changes.ts';

interface LineHold {
  readonly shop_hold: string | null;
  readonly shop_hold_lifted: number;
}

/** Why a line is held in whose place another one came that is a purchase of its own. */
export const whyVanished =
  'it vanished from the order, and a person said that the line in its place is another purchase: it is bought when the storefront shows it again';

/** What is to be sent, now or later, and whose outcome is known. */
const unsent: ReadonlySet<EntryState> = new Set(['pending', 'waiting']);

/**
 * Lines that must not be bought while the shop's order is in its present state. What is unsent is held at once, and
 * released when the shop shows the order as paid again. The claim asks, too: a call that was in flight may come back
 * unbought, and a split adds entries. Every method is called inside a transaction.
 */
export class ShopHolds {
  readonly #entries: EntryChanges;
  readonly #statements;

  constructor(database: Sqlite, entries: EntryChanges) {
    this.#entries = entries;
    this.#statements = {
      find: database.prepare<[number], LineHold>('SELECT shop_hold, shop_hold_lifted FROM lines WHERE id = ?'),
      set: database.prepare('UPDATE lines SET shop_hold = :why, shop_hold_lifted = 0 WHERE id = :lineId'),
      lift: database.prepare('UPDATE lines SET shop_hold_lifted = 1 WHERE id = ? AND shop_hold IS NOT NULL'),
      // Of the newest state of the order, which has neither the line nor another one in its place.
      vanishedFor: database
        .prepare<[number], number>(
          `SELECT o.id FROM lines n JOIN lines o ON o.id = n.same_as JOIN requests r ON r.id = o.request_id
           JOIN storefront_orders s ON s.source = r.source AND s.order_id = r.order_id
           WHERE n.id = ? AND o.shop_hold IS NULL AND s.lines_left IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM json_each(s.lines_left) j WHERE j.value > 0 AND (j.key = o.line_id
               OR j.key IN (SELECT line_id FROM lines WHERE same_as = o.id AND id <> n.id)))`,
        )
        .pluck(),
      isOwnPurchase: database.prepare('UPDATE lines SET same_as = NULL WHERE id = ? AND same_as IS NOT NULL'),
      entries: database.prepare<[number], EntryRow>('SELECT * FROM entries WHERE line_id = ? ORDER BY id'),
    };
  }

  /** Why the line of an entry must not be bought now; null: it may. */
  whyNot(row: Pick<EntryRow, 'line_id'>): string | null {
    const hold = this.#statements.find.get(row.line_id);
    return hold === undefined || hold.shop_hold_lifted === 1 ? null : hold.shop_hold;
  }

  /** Holds an entry that was about to be sent. */
  hold(row: EntryRow, why: string, nowMs: number): void {
    this.#entries.hold(row, { why, by: 'shop' }, nowMs);
  }

  /** A person releases an entry that the shop's state holds: until that state changes, it does not count for the line. */
  lift(row: EntryRow): void {
    if (row.held_by === 'shop') this.#statements.lift.run(row.line_id);
  }

  /**
   * A person says that a line is a purchase of its own. What is unsent of the line that it came in the place of is held:
   * the shop has that one no more. Returns the entries that are held now.
   */
  makeOwn(row: Pick<EntryRow, 'line_id'>, nowMs: number): readonly EntryRow[] {
    const vanished = this.#statements.vanishedFor.get(row.line_id);
    this.#statements.isOwnPurchase.run(row.line_id);
    return vanished === undefined ? [] : this.apply(vanished, { why: whyVanished, stillWhy: null }, nowMs).held;
  }

  /**
   * Records why a line must not be bought now, and holds or releases what is unsent of it. What a person held stays held,
   * and what a person released stays released while the reason is the same.
   * @param state.why null: it may be bought
   * @param state.stillWhy why it may not be released although the order is paid again; it holds nothing that is not held
   */
  apply(
    lineId: number,
    state: { readonly why: string | null; readonly stillWhy: string | null },
    nowMs: number,
  ): { readonly held: readonly EntryRow[]; readonly released: readonly EntryRow[] } {
    const was = this.#statements.find.get(lineId);
    const before = was?.shop_hold ?? null;
    const isLifted = was?.shop_hold_lifted === 1;
    const why = state.why ?? (before !== null && !isLifted ? state.stillWhy : null);
    if (why === null && before === null) return { held: [], released: [] };
    if (why !== before) this.#statements.set.run({ lineId, why });
    else if (isLifted) return { held: [], released: [] };
    const rows = this.#statements.entries.all(lineId);
    const heldByShop = rows.filter((row) => row.state === 'held' && row.held_by === 'shop');
    if (why === null) {
      for (const row of heldByShop) this.#entries.release(row, nowMs);
      return { held: [], released: heldByShop };
    }
    const held = rows.filter((row) => unsent.has(row.state));
    for (const row of held) this.hold(row, why, nowMs);
    for (const row of heldByShop) if (row.review_reason !== why) this.#entries.hold(row, { why, by: 'shop' }, nowMs);
    return { held, released: [] };
  }
}
