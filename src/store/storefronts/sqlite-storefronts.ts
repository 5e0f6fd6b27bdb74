import { flagOnce } from '../intake/rejections.ts';
import type { ShopIdentity } from '../../core/shop-identity.ts';
import type { ReferenceNamespace } from '../../core/order/reference.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import { adoptShops } from './shop-fingerprints.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { StorefrontOrders } from './storefront-orders.ts';
import {
  dueRechecks,
  endRechecksOfOthers,
  nextRecheckAt,
  postponeRecheck,
  type DueRecheck,
} from '../submission/rechecks.ts';
import type { StorefrontOrder, StorefrontTaken, Storefronts, UnreadableStorefrontOrder } from './storefronts.ts';

interface UnreadRow {
  readonly source: string;
  readonly order_id: string;
}

/** At most this many orders are flagged in one step; the next step flags more. */
const atOnce = 1000;

/** The orders of shops, the shops they came from, and how far each shop was read back. */
export class SqliteStorefronts implements Storefronts {
  readonly #outbox: Outbox;
  readonly #database: Sqlite;
  readonly #namespace: ReferenceNamespace;
  readonly #orders: StorefrontOrders;
  readonly #statements;

  constructor(outbox: Outbox) {
    const { database } = outbox;
    this.#outbox = outbox;
    this.#database = database;
    this.#namespace = outbox.namespace;
    this.#orders = new StorefrontOrders(outbox);
    this.#statements = {
      unreadSince: database.prepare<{ source: string; seenBeforeMs: number }, UnreadRow>(
        `SELECT source, order_id FROM storefront_orders
         WHERE awaits_read_back = 1 AND source = :source AND seen_at_ms <= :seenBeforeMs ORDER BY seen_at_ms LIMIT ${atOnce}`,
      ),
      unreadOfOthers: database.prepare<[string], UnreadRow>(
        `SELECT source, order_id FROM storefront_orders
         WHERE awaits_read_back = 1 AND source NOT IN (SELECT value FROM json_each(?)) LIMIT ${atOnce}`,
      ),
      clearUnread: database.prepare(
        'UPDATE storefront_orders SET awaits_read_back = 0 WHERE source = ? AND order_id = ?',
      ),
      watermark: database
        .prepare<[string], number>('SELECT modified_ms FROM storefront_watermarks WHERE source = ?')
        .pluck(),
      advanceWatermark: database.prepare(
        `INSERT INTO storefront_watermarks (source, modified_ms, updated_at_ms) VALUES (:source, :modifiedMs, :nowMs)
         ON CONFLICT (source) DO UPDATE SET modified_ms = :modifiedMs, updated_at_ms = :nowMs
         WHERE :modifiedMs > modified_ms`,
      ),
      lowerWatermark: database.prepare(
        `UPDATE storefront_watermarks SET modified_ms = :presentMs, updated_at_ms = :nowMs
         WHERE source = :source AND modified_ms > :presentMs`,
      ),
    };
  }

  async takeOrder(order: StorefrontOrder): Promise<StorefrontTaken> {
    return inTransaction(this.#database, () => this.#orders.take(order));
  }

  async flagUnreadableOrder(order: UnreadableStorefrontOrder): Promise<number> {
    return inTransaction(this.#database, () => this.#orders.takeUnreadable(order));
  }

  async adoptShops(shops: { shops: readonly ShopIdentity[]; nowMs: number }): Promise<void> {
    inTransaction(this.#database, () => adoptShops(this.#database, this.#namespace, shops));
  }

  async flagUnreadOrders(step: { source: string; seenBeforeMs: number; nowMs: number }): Promise<number> {
    return inTransaction(this.#database, () => {
      const rows = this.#statements.unreadSince.all(step);
      for (const row of rows)
        this.#flagUnread(row, 'reading the shop back did not bring it: is it in the trash?', step.nowMs);
      return rows.length;
    });
  }

  async flagStrandedOrders(step: { sources: readonly string[]; nowMs: number }): Promise<void> {
    inTransaction(this.#database, () => {
      for (;;) {
        const rows = this.#statements.unreadOfOthers.all(JSON.stringify(step.sources));
        for (const row of rows) this.#flagUnread(row, 'its shop is not read back any more', step.nowMs);
        if (rows.length < atOnce) return;
      }
    });
  }

  /** Flags an order that waits for being read back: nothing brings it any more, so nobody would ever hear of it. */
  #flagUnread({ source, order_id: orderId }: UnreadRow, why: string, nowMs: number): void {
    const rule = `was refunded in part, the delivery did not say which line, and ${why}; nothing of it was bought or cancelled since`;
    const noLine = { lineNumber: null, lineId: null, field: null, value: null };
    flagOnce(this.#outbox, { ...noLine, source, orderId, code: 'partially_refunded', rule }, nowMs);
    this.#statements.clearUnread.run(source, orderId);
  }

  async dueRechecks(ask: { source: string; nowMs: number; limit: number }): Promise<readonly DueRecheck[]> {
    return inTransaction(this.#database, () => dueRechecks(this.#database, ask));
  }

  async nextRecheckAt(source: string): Promise<number | null> {
    return nextRecheckAt(this.#database, source);
  }

  async postponeRecheck(step: { source: string; orderId: string; problem: string; atMs: number }): Promise<void> {
    inTransaction(this.#database, () => postponeRecheck(this.#database, step));
  }

  async endRechecksOfOthers(step: { sources: readonly string[]; nowMs: number }): Promise<number> {
    return inTransaction(this.#database, () => endRechecksOfOthers(this.#database, step));
  }

  async watermark(source: string): Promise<number | null> {
    return this.#statements.watermark.get(source) ?? null;
  }

  async advanceWatermark(step: { source: string; modifiedMs: number; nowMs: number }): Promise<void> {
    inTransaction(this.#database, () => this.#statements.advanceWatermark.run(step));
  }

  async lowerWatermark(step: { source: string; presentMs: number; nowMs: number }): Promise<boolean> {
    return inTransaction(this.#database, () => this.#statements.lowerWatermark.run(step).changes === 1);
  }
}
