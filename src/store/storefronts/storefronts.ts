import type { ShopIdentity } from '../../core/shop-identity.ts';
import { columnOf, inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import {
  dueRechecks,
  endRechecksOfOthers,
  nextRecheckAt,
  postponeRecheck,
  type DueRecheck,
} from '../submission/rechecks.ts';
import { flagOnce } from './order-records.ts';
import { adoptShops } from './shop-fingerprints.ts';
import type { OrderKey, StorefrontOrder, StorefrontTaken, UnreadableStorefrontOrder } from './storefront-order.ts';
import { takeOrder, takeUnreadableOrder } from './take-order.ts';

/** At most this many orders are flagged in one step; the next step flags more. */
const atOnce = 1000;

const selectUnreadSince = statementOf<{ source: string; seenBeforeMs: number }, OrderKey>(
  `SELECT source, order_id AS orderId FROM storefront_orders
   WHERE awaits_read_back = 1 AND source = :source AND seen_at_ms <= :seenBeforeMs ORDER BY seen_at_ms LIMIT ${atOnce}`,
);
const selectUnreadOfOthers = statementOf<[string], OrderKey>(
  `SELECT source, order_id AS orderId FROM storefront_orders
   WHERE awaits_read_back = 1 AND source NOT IN (SELECT value FROM json_each(?)) LIMIT ${atOnce}`,
);
const clearUnread = statementOf<[string, string], never>(
  'UPDATE storefront_orders SET awaits_read_back = 0 WHERE source = ? AND order_id = ?',
);
const selectWatermark = columnOf<[string], number>('SELECT modified_ms FROM storefront_watermarks WHERE source = ?');
const advanceWatermark = statementOf<{ source: string; modifiedMs: number; nowMs: number }, never>(
  `INSERT INTO storefront_watermarks (source, modified_ms, updated_at_ms) VALUES (:source, :modifiedMs, :nowMs)
   ON CONFLICT (source) DO UPDATE SET modified_ms = :modifiedMs, updated_at_ms = :nowMs WHERE :modifiedMs > modified_ms`,
);
const lowerWatermark = statementOf<{ source: string; presentMs: number; nowMs: number }, never>(
  `UPDATE storefront_watermarks SET modified_ms = :presentMs, updated_at_ms = :nowMs
   WHERE source = :source AND modified_ms > :presentMs`,
);

/** Takes in the orders of shops, and remembers the shops and how far each was read back. */
export class Storefronts {
  readonly #outbox: Outbox;
  readonly #database: Sqlite;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
    this.#database = outbox.database;
  }

  /** Takes in the state of a storefront's order as it was delivered: see `StorefrontOrder`. */
  async takeOrder(order: StorefrontOrder): Promise<StorefrontTaken> {
    return inTransaction(this.#database, () => takeOrder(this.#outbox, order));
  }

  /** Flags an order that cannot be read. Returns how many flags are new. */
  async flagUnreadableOrder(order: UnreadableStorefrontOrder): Promise<number> {
    return inTransaction(this.#database, () => takeUnreadableOrder(this.#outbox, order));
  }

  /**
   * The shops that are configured now. Called before any of their orders is taken in.
   * @throws OrderSyncError CONFIG_INVALID when a shop comes under another source than before; then nothing is remembered
   */
  async adoptShops(shops: { shops: readonly ShopIdentity[]; nowMs: number }): Promise<void> {
    inTransaction(this.#database, () => adoptShops(this.#outbox, shops));
  }

  /**
   * Flags orders for review that wait for being read back and were delivered before that time: reading the shop back
   * since then did not bring them. Returns how many.
   */
  async flagUnreadOrders(step: { source: string; seenBeforeMs: number; nowMs: number }): Promise<number> {
    return inTransaction(this.#database, () => {
      const orders = selectUnreadSince(this.#database).all(step);
      for (const order of orders)
        this.#flagUnread(order, 'reading the shop back did not bring it: is it in the trash?', step.nowMs);
      return orders.length;
    });
  }

  /** Flags orders for review that wait for being read back from a shop that is not among these. */
  async flagStrandedOrders(step: { sources: readonly string[]; nowMs: number }): Promise<void> {
    inTransaction(this.#database, () => {
      for (;;) {
        const orders = selectUnreadOfOthers(this.#database).all(JSON.stringify(step.sources));
        for (const order of orders) this.#flagUnread(order, 'its shop is not read back any more', step.nowMs);
        if (orders.length < atOnce) return;
      }
    });
  }

  /** Flags an order that waits to be read back and will not come any more: without the flag it would stay unnoticed. */
  #flagUnread({ source, orderId }: OrderKey, why: string, nowMs: number): void {
    const rule = `was refunded in part, the delivery did not say which line, and ${why}; nothing of it was bought or cancelled since`;
    const noLine = { lineId: null, field: null, value: null };
    flagOnce(this.#outbox, { ...noLine, source, orderId, code: 'partially_refunded', rule }, nowMs);
    clearUnread(this.#database).run(source, orderId);
  }

  /** The orders of a shop that are due to be read again before they are bought: at most `limit`, the longest due first. */
  async dueRechecks(ask: { source: string; nowMs: number; limit: number }): Promise<readonly DueRecheck[]> {
    return inTransaction(this.#database, () => dueRechecks(this.#database, ask));
  }

  /** When the next order of a shop is due to be read again; null: none waits for that. */
  async nextRecheckAt(source: string): Promise<number | null> {
    return nextRecheckAt(this.#database).get(source) ?? null;
  }

  /** Reading an order again told nothing: why, and when it is read next. Changes nothing for one that waits no more. */
  async postponeRecheck(step: { source: string; orderId: string; problem: string; atMs: number }): Promise<void> {
    inTransaction(this.#database, () => postponeRecheck(this.#database).run(step));
  }

  /** Entries whose order waits to be read again in a shop that is not among these are due at once. Returns how many. */
  async endRechecksOfOthers(step: { sources: readonly string[]; nowMs: number }): Promise<number> {
    return inTransaction(this.#database, () => endRechecksOfOthers(this.#database, step));
  }

  /** How far a storefront was read back, by the shop's clock; null before the first time. */
  async watermark(source: string): Promise<number | null> {
    return selectWatermark(this.#database).get(source) ?? null;
  }

  /** Everything that the storefront changed before that time is on disk. Never moves the watermark back. */
  async advanceWatermark(step: { source: string; modifiedMs: number; nowMs: number }): Promise<void> {
    inTransaction(this.#database, () => advanceWatermark(this.#database).run(step));
  }

  /** Lowers a watermark that lies in the future, by a clock that was ahead, to the present. Returns whether it did. */
  async lowerWatermark(step: { source: string; presentMs: number; nowMs: number }): Promise<boolean> {
    return inTransaction(this.#database, () => lowerWatermark(this.#database).run(step).changes === 1);
  }
}
