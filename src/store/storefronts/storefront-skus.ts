import { isoTime } from '../../core/clock.ts';
import type { Sqlite } from '../sqlite/database.ts';

/** A SKU of a storefront's orders. */
export interface SkuSighting {
  readonly sku: string;
  /** Orders that had it while the SKU map did not know it. */
  readonly unmappedOrders: number;
  /** Lines that were bought for it. */
  readonly boughtLines: number;
  /** The last of the unmapped orders; null when there is none. */
  readonly lastOrderId: string | null;
  readonly lastSeenAt: string | null;
}

/** A shop with more unmapped SKUs than this sells mostly other products; the rest is not counted. */
const skusPerSource = 10_000;
const longestSku = 128;

/** Counts SKUs that no map knows, each order once. */
export class UnmappedSkus {
  readonly #statements;

  constructor(database: Sqlite) {
    this.#statements = {
      again: database.prepare(
        `UPDATE storefront_unmapped_skus SET orders = orders + 1, last_order_id = :orderId, last_seen_at_ms = :nowMs
         WHERE source = :source AND sku = :sku`,
      ),
      count: database
        .prepare<[string], number>('SELECT count(*) FROM storefront_unmapped_skus WHERE source = ?')
        .pluck(),
      first: database.prepare(
        `INSERT INTO storefront_unmapped_skus (source, sku, orders, last_order_id, first_seen_at_ms, last_seen_at_ms)
         VALUES (:source, :sku, 1, :orderId, :nowMs, :nowMs)`,
      ),
    };
  }

  /** Called inside the transaction in which an order is seen for the first time. */
  seen(order: { source: string; orderId: string; nowMs: number }, skus: readonly string[]): void {
    const { source, orderId, nowMs } = order;
    for (const sku of new Set(skus.map((text) => text.slice(0, longestSku)))) {
      const row = { source, orderId, nowMs, sku };
      if (this.#statements.again.run(row).changes === 1) continue;
      if ((this.#statements.count.get(source) ?? 0) < skusPerSource) this.#statements.first.run(row);
    }
  }
}

/** Every SKU of the orders of a source; those with the most unmapped orders come first. */
export function readSkuSightings(database: Sqlite, source: string): readonly SkuSighting[] {
  return database
    .prepare<
      { source: string },
      { sku: string; unmapped: number; bought: number; order_id: string | null; at: number | null }
    >(
      `SELECT sku, sum(unmapped) AS unmapped, sum(bought) AS bought, max(order_id) AS order_id, max(at) AS at FROM (
         SELECT sku, orders AS unmapped, 0 AS bought, last_order_id AS order_id, last_seen_at_ms AS at
         FROM storefront_unmapped_skus WHERE source = :source
         UNION ALL
         SELECT json_extract(l.extra, '$.sku'), 0, 1, NULL, NULL FROM lines l JOIN requests r ON r.id = l.request_id
         WHERE r.source = :source AND json_extract(l.extra, '$.sku') IS NOT NULL)
       GROUP BY sku ORDER BY unmapped DESC, sku LIMIT 10000`,
    )
    .all({ source })
    .map(({ sku, unmapped, bought, order_id, at }) => ({
      sku,
      unmappedOrders: unmapped,
      boughtLines: bought,
      lastOrderId: order_id,
      lastSeenAt: at === null ? null : isoTime(at),
    }));
}
