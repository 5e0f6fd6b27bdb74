import { quoted } from '../../core/message-text.ts';
import { normalSku } from '../../core/order/sku-map.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { isoOf } from '../sqlite/rows.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { endShopFlag, flagShop } from './order-records.ts';
import type { StorefrontOrder } from './storefront-order.ts';

export interface SkuSighting {
  readonly sku: string;
  /** Orders that had it while the SKU map did not know it. */
  readonly unmappedOrders: number;
  readonly boughtLines: number;
  /** The last of the unmapped orders; null when there is none. */
  readonly lastOrderId: string | null;
  readonly lastSeenAt: string | null;
}

/**
 * A shop with more unmapped SKUs than this sells mostly other products; the rest is not counted.
 */
const skusPerSource = 10_000;
const longestSku = 128;

type UnmappedSku = Pick<StorefrontOrder, 'source' | 'orderId' | 'nowMs'> & { readonly sku: string };

const countAgain = statementOf<UnmappedSku, never>(
  `UPDATE storefront_skus SET unmapped_orders = unmapped_orders + 1, last_order_id = :orderId, last_seen_at_ms = :nowMs
   WHERE source = :source AND sku = :sku`,
);
const countSkus = columnOf<[string], number>(
  'SELECT count(*) FROM storefront_skus WHERE source = ? AND unmapped_orders > 0',
);
const insertSku = statementOf<UnmappedSku, never>(
  `INSERT INTO storefront_skus (source, sku, unmapped_orders, last_order_id, last_seen_at_ms)
   VALUES (:source, :sku, 1, :orderId, :nowMs)`,
);
const selectSightings = statementOf<{ source: string }, SkuSighting>(
  `SELECT sku, sum(unmapped) AS unmappedOrders, sum(bought) AS boughtLines, max(order_id) AS lastOrderId, ${isoOf('max(at)')} AS lastSeenAt FROM (
     SELECT sku, unmapped_orders AS unmapped, 0 AS bought, last_order_id AS order_id, last_seen_at_ms AS at
     FROM storefront_skus WHERE source = :source AND unmapped_orders > 0
     UNION ALL
     SELECT json_extract(l.extra, '$.sku'), 0, 1, NULL, NULL FROM lines l JOIN requests r ON r.id = l.request_id
     WHERE r.source = :source AND json_extract(l.extra, '$.sku') IS NOT NULL)
   GROUP BY sku ORDER BY unmappedOrders DESC, sku LIMIT 10000`,
);

type MappedSkus = Pick<StorefrontOrder, 'source' | 'nowMs'> & { readonly skus: string };

const remember = statementOf<MappedSkus, never>(
  `INSERT INTO storefront_skus (source, sku, is_mapped) SELECT :source, value, 1 FROM json_each(:skus) WHERE true
   ON CONFLICT DO UPDATE SET is_mapped = 1 WHERE is_mapped IS NOT 1`,
);
const lose = statementOf<MappedSkus, never>(
  `UPDATE storefront_skus SET is_mapped = 0
   WHERE source = :source AND is_mapped = 1 AND sku NOT IN (SELECT value FROM json_each(:skus))`,
);
const selectMapped = columnOf<Omit<MappedSkus, 'nowMs'>, string>(
  `SELECT sku FROM storefront_skus WHERE source = :source AND is_mapped IS NOT NULL
     AND sku IN (SELECT value FROM json_each(:skus))`,
);
const selectBought = columnOf<{ source: string; sinceMs: number }, string>(
  `SELECT DISTINCT json_extract(l.extra, '$.sku') AS sku FROM (SELECT * FROM lines ORDER BY id DESC LIMIT 20000) l
   JOIN requests r ON r.id = l.request_id
   WHERE r.source = :source AND l.file_id IS NULL AND l.received_at_ms > :sinceMs AND sku IS NOT NULL`,
);
/**
 * What the shop's map lacks of the SKUs that were bought lately, in words, until somebody
 * acknowledged it.
 */
export const selectLost = columnOf<[string], string>(
  `SELECT rule FROM rejections WHERE file_id IS NULL AND source = ? AND order_id IS NULL AND code = 'skus_lost'
   AND acknowledged_at_ms IS NULL`,
);
const boughtLatelyMs = 30 * 86_400_000;

/**
 * A SKU map, by its normal forms as JSON, comes into use. Remembers it, and flags what it lacks.
 */
export function useSkus(outbox: Outbox, map: MappedSkus): void {
  const { database } = outbox;
  const { source, nowMs } = map;
  // Else an acknowledged flag would be open again after each start.
  if (remember(database).run(map).changes + lose(database).run(map).changes === 0) return;
  const mapped = new Set<unknown>(JSON.parse(map.skus));
  const bought = selectBought(database).all({ source, sinceMs: nowMs - boughtLatelyMs });
  const lost = bought.filter((sku) => !mapped.has(normalSku(sku))).map(quoted);
  const flag = { source, code: 'skus_lost' };
  const more = lost.length > 5 ? ` and ${lost.length - 5} more` : '';
  const rule = `the SKU map lacks what was bought in the last 30 days: ${lost.slice(0, 5).join(', ')}${more}`;
  if (lost.length === 0) endShopFlag(database).run(flag);
  else flagShop(outbox, { ...flag, rule, nowMs });
}

/** Which of these normal forms, as JSON, a map of the shop ever had. */
export const mappedBefore = (
  database: Sqlite,
  asked: Omit<MappedSkus, 'nowMs'>,
): readonly string[] => selectMapped(database).all(asked);

/** Counts the SKUs of an order that no map knows. Called when it is seen for the first time. */
export function countUnmappedSkus(
  database: Sqlite,
  { source, orderId, lines, nowMs }: StorefrontOrder,
): void {
  const unmapped = (lines ?? [])
    .filter((line) => !line.isMapped)
    .map((line) => line.sku.slice(0, longestSku));
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
