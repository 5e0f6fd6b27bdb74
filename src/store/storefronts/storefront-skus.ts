import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { isoOf } from '../sqlite/rows.ts';
import type { StorefrontOrder } from './storefront-order.ts';

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

type UnmappedSku = Pick<StorefrontOrder, 'source' | 'orderId' | 'nowMs'> & { readonly sku: string };

const countAgain = statementOf<UnmappedSku, never>(
  `UPDATE storefront_unmapped_skus SET orders = orders + 1, last_order_id = :orderId, last_seen_at_ms = :nowMs
   WHERE source = :source AND sku = :sku`,
);
const countSkus = columnOf<[string], number>('SELECT count(*) FROM storefront_unmapped_skus WHERE source = ?');
const insertSku = statementOf<UnmappedSku, never>(
  `INSERT INTO storefront_unmapped_skus (source, sku, orders, last_order_id, first_seen_at_ms, last_seen_at_ms)
   VALUES (:source, :sku, 1, :orderId, :nowMs, :nowMs)`,
);
const selectSightings = statementOf<{ source: string }, SkuSighting>(
  `SELECT sku, sum(unmapped) AS unmappedOrders, sum(bought) AS boughtLines, max(order_id) AS lastOrderId, ${isoOf('max(at)')} AS lastSeenAt FROM (
     SELECT sku, orders AS unmapped, 0 AS bought, last_order_id AS order_id, last_seen_at_ms AS at
     FROM storefront_unmapped_skus WHERE source = :source
     UNION ALL
     SELECT json_extract(l.extra, '$.sku'), 0, 1, NULL, NULL FROM lines l JOIN requests r ON r.id = l.request_id
     WHERE r.source = :source AND json_extract(l.extra, '$.sku') IS NOT NULL)
   GROUP BY sku ORDER BY unmappedOrders DESC, sku LIMIT 10000`,
);

/** Counts the SKUs of an order that no map knows. Called when it is seen for the first time. */
export function countUnmappedSkus(database: Sqlite, { source, orderId, lines, nowMs }: StorefrontOrder): void {
  const unmapped = (lines ?? []).filter((line) => !line.isMapped).map((line) => line.sku.slice(0, longestSku));
  for (const sku of new Set(unmapped)) {
    const row = { source, orderId, nowMs, sku };
    if (countAgain(database).run(row).changes === 1) continue;
    if ((countSkus(database).get(source) ?? 0) < skusPerSource) insertSku(database).run(row);
  }
}

/** Every SKU of the orders of a source; those with the most unmapped orders come first. */
export function readSkuSightings(database: Sqlite, source: string): readonly SkuSighting[] {
  return selectSightings(database).all({ source });
}
