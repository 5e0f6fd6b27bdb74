import type { TimeMark } from '../../core/clock.ts';
import { keyFingerprint } from '../../core/order/reference.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { ShopIdentity, ShopFingerprint } from '../../core/shop-identity.ts';
import { columnOf, statementOf } from '../sqlite/database.ts';
import { OutboxSteps, type Outbox } from '../sqlite/outbox.ts';
import {
  dueRechecks,
  endRechecksOfOthers,
  nextRecheckAt,
  postponeRecheck,
} from '../entries/rechecks.ts';
import { findSeenState, type SeenState } from './newest-states.ts';
import { mappedBefore, selectLost, useSkus } from './storefront-skus.ts';
import { endShopFlag, flagOnce, flagShop } from './order-records.ts';
import { noteResult } from './other-worker.ts';
import { notShown, type OrderKey } from './storefront-order.ts';
import { takeOrder, takeUnreadableOrder } from './take-order.ts';
import { flagOf } from './why-not-bought.ts';

const selectAwaited = statementOf<{ source: string }, OrderKey>(
  `SELECT source, order_id AS orderId FROM storefront_orders WHERE awaits_read_back = 1 AND source = :source
   UNION SELECT source, order_id FROM rejections WHERE file_id IS NULL AND source = :source AND order_id IS NOT NULL
     AND field = '${notShown}' AND taken_back = 0 AND acknowledged_at_ms IS NULL LIMIT 1000`,
);
const selectUnreadOfOthers = statementOf<[string], OrderKey>(
  `SELECT source, order_id AS orderId FROM storefront_orders
   WHERE awaits_read_back = 1 AND source NOT IN (SELECT value FROM json_each(?))`,
);
const awaitReading = statementOf<OrderKey & { nowMs: number }, never>(
  `UPDATE storefront_orders SET awaits_read_back = 1, seen_at_ms = :nowMs
   WHERE source = :source AND order_id = :orderId`,
);
const clearUnread = statementOf<[string, string], never>(
  'UPDATE storefront_orders SET awaits_read_back = 0 WHERE source = ? AND order_id = ?',
);
const selectWatermark = columnOf<[string], number>(
  'SELECT read_until_ms FROM storefronts WHERE source = ? AND read_until_ms IS NOT NULL',
);
const advanceWatermark = statementOf<{ source: string; modifiedMs: number }, never>(
  `INSERT INTO storefronts (source, read_until_ms) VALUES (:source, :modifiedMs)
   ON CONFLICT (source) DO UPDATE SET read_until_ms = max(:modifiedMs, coalesce(read_until_ms, :modifiedMs))`,
);
const lowerWatermark = statementOf<{ source: string; presentMs: number }, never>(
  'UPDATE storefronts SET read_until_ms = :presentMs WHERE source = :source AND read_until_ms > :presentMs',
);

const selectRecent = statementOf<
  { source: string; sinceMs: number },
  { orderId: string; refundCount: number }
>(
  `SELECT o.order_id AS orderId, o.refund_count AS refundCount FROM storefront_orders o
   WHERE o.source = :source AND o.modified_ms > :sinceMs AND o.state NOT IN ('closed', 'deleted')
     AND EXISTS (SELECT 1 FROM requests r WHERE r.source = o.source AND r.order_id = o.order_id)
   ORDER BY o.modified_ms DESC LIMIT 2000`,
);
const isKept = "kept_order IS NOT NULL AND state = 'paid' AND awaits_read_back = 0";
const selectUnknown = statementOf<[string], { orderId: string; sku: string }>(
  `SELECT DISTINCT j.order_id AS orderId, j.value AS sku FROM rejections j JOIN storefront_orders o
     ON o.source = j.source AND o.order_id = j.order_id AND ${isKept}
   WHERE j.file_id IS NULL AND j.source = ? AND j.code = 'unknown_sku' AND coalesce(j.corrected_at_ms, j.acknowledged_at_ms) IS NULL AND j.taken_back = 0`,
);
const selectKept = columnOf<[string, string], string>(
  `SELECT kept_order FROM storefront_orders WHERE source = ? AND order_id = ? AND ${isKept}`,
);
const connect = statementOf<{ source: string; nowMs: number; steadyMs: number }, never>(
  `INSERT INTO storefronts (source, connected_at_ms, connected_steady) VALUES (:source, :nowMs, :steadyMs)
   ON CONFLICT (source) DO UPDATE SET connected_at_ms = :nowMs, connected_steady = :steadyMs WHERE connected_at_ms IS NULL`,
);
const selectSites = columnOf<[string], string>(
  'SELECT value FROM storefronts, json_each(sites) WHERE source = ?',
);
const rememberSite = statementOf<{ source: string; site: string }, never>(
  `INSERT INTO storefronts (source, sites) VALUES (:source, json_array(:site))
   ON CONFLICT (source) DO UPDATE SET sites = json_insert(sites, '$[#]', :site)
   WHERE NOT EXISTS (SELECT 1 FROM json_each(sites) WHERE value = :site)`,
);
// With a clock that was ahead then, everything that is paid until that time would count as older.
const selectConnection = columnOf<
  { source: string } & Pick<TimeMark, 'wallMs' | 'steadyMs'>,
  number
>(
  `SELECT min(connected_at_ms, :wallMs - (:steadyMs - connected_steady)) FROM storefronts
   WHERE source = :source AND connected_at_ms IS NOT NULL`,
);

/**
 * Longer than any order may wait to be bought (`max_age_h`): an older order is not bought again
 * under another source.
 */
const forgottenAfterMs = 400 * 86_400_000;

const findSource = columnOf<[kind: string, value: string], string>(
  'SELECT source FROM shop_fingerprints WHERE kind = ? AND value = ?',
);
const remember = statementOf<
  { kind: string; value: string; source: string; steadyMs: number },
  never
>(
  `INSERT INTO shop_fingerprints (kind, value, source, seen_steady) VALUES (:kind, :value, :source, :steadyMs)
   ON CONFLICT (kind, value) DO UPDATE SET seen_steady = excluded.seen_steady, source = excluded.source`,
);
const findOrder = columnOf<[source: string], number>(
  'SELECT id FROM requests WHERE source = ? LIMIT 1',
);
const forgetOld = statementOf<[number], never>(
  'DELETE FROM shop_fingerprints WHERE seen_steady < ?',
);

/** Takes in the orders of shops, and remembers the shops and how far each was read back. */
export class Storefronts extends OutboxSteps {
  /** Takes in the state of a storefront's order as it was delivered: see `StorefrontOrder`. */
  readonly takeOrder = this.step(takeOrder);
  readonly flagUnreadableOrder = this.step(takeUnreadableOrder);
  /**
   * The shops that are configured now. Called before any of their orders is taken in.
   * @throws OrderSyncError CONFIG_INVALID when a shop comes under another source than before; then
   * nothing is remembered
   */
  readonly adoptShops = this.step(adoptShops);
  /**
   * The orders that wait for being read back, or are flagged because the shop failed to show them:
   * at most 1000.
   */
  readonly awaitedOrders = this.step(({ database }, source: string) =>
    selectAwaited(database).all({ source }),
  );
  /** The order is read in its shop before anything else is bought of it. */
  readonly awaitReading = this.write(awaitReading);
  /** Flags orders for review that wait for being read back from a shop that is not among these. */
  readonly flagStrandedOrders = this.step(flagStrandedOrders);
  /**
   * The orders of a shop that are due to be read again before they are bought: at most `limit`, the
   * longest due first.
   */
  readonly dueRechecks = this.step(({ database }, ask: Parameters<typeof dueRechecks>[1]) =>
    dueRechecks(database, ask),
  );
  /** When the next order of a shop is due to be read again; null: none waits for that. */
  readonly nextRecheckAt = this.first(nextRecheckAt);
  /**
   * Reading an order again told nothing: why, and when it is read next. Changes nothing for one
   * that waits no more.
   */
  readonly postponeRecheck = this.write(postponeRecheck);
  /**
   * Entries whose order waits to be read again in a shop that is not among these are due at once.
   * Returns how many.
   */
  readonly endRechecksOfOthers = this.step(({ database }, sources: readonly string[]) =>
    endRechecksOfOthers(database, sources),
  );
  /** The newest orders that were taken in and are not closed, with how many refunds they had. */
  readonly recentOrders = this.step(({ database }, ask: { source: string; sinceMs: number }) =>
    selectRecent(database).all(ask),
  );
  readonly useSkus = this.step(useSkus);
  readonly lostSkus = this.first(selectLost);
  readonly mappedBefore = this.step(({ database }, asked: Parameters<typeof mappedBefore>[1]) =>
    mappedBefore(database, asked),
  );
  /** The SKUs of paid orders that the map lacked, while nobody has acknowledged that. */
  readonly unknownSkus = this.step(({ database }, source: string) =>
    selectUnknown(database).all(source),
  );
  /**
   * The newest state of such an order, as it was kept; null: it is not paid any more, or waits to
   * be read.
   */
  readonly keptOrder = this.first(selectKept);
  readonly noteResult = this.step(noteResult);
  readonly flagShop = this.step(flagShop);
  readonly endShopFlag = this.write(endShopFlag);
  /** The newest state of an order that was seen; null: none was. */
  async seenOrder(order: OrderKey): Promise<Pick<SeenState, 'state' | 'paidMs'> | null> {
    return findSeenState(this.database, order);
  }
  /** The sites of a shop: see `ShopOrder.sites`. */
  async sitesOf(source: string): Promise<readonly string[]> {
    return selectSites(this.database).all(source);
  }
  readonly rememberSite = this.write(rememberSite);
  /** When the shop with this source was connected; null: it never was. */
  async connectedAt(source: string): Promise<number | null> {
    const { clock, database } = this.outbox;
    const now = { wallMs: clock.wallMs(), steadyMs: clock.steadyMs() };
    return selectConnection(database).get({ source, ...now }) ?? null;
  }
  readonly watermark = this.first(selectWatermark);
  /**
   * Everything that the storefront changed before that time is on disk. Never moves the watermark
   * back.
   */
  readonly advanceWatermark = this.write(advanceWatermark);
  /**
   * Lowers a watermark that lies in the future, by a clock that was ahead, to the present. Returns
   * whether it did.
   */
  readonly lowerWatermark = this.step(
    ({ database }, present: { source: string; presentMs: number }) =>
      lowerWatermark(database).run(present).changes === 1,
  );
}

/** Without a flag such an order would stay unnoticed: it will not be read any more. */
function flagStrandedOrders(
  outbox: Outbox,
  { sources, nowMs }: { sources: readonly string[]; nowMs: number },
): void {
  const rule =
    'did not say which line was refunded, or which product a variation belongs to, and the worker no longer reads the shop; since then nothing of the order was bought or cancelled';
  for (const { source, orderId } of selectUnreadOfOthers(outbox.database).all(
    JSON.stringify(sources),
  )) {
    flagOnce(
      outbox,
      { ...flagOf('partially_refunded', rule), lineId: null, source, orderId },
      nowMs,
    );
    clearUnread(outbox.database).run(source, orderId);
  }
}

/**
 * See `Storefronts.adoptShops`. Called inside a transaction. Remembers the source of each shop: it
 * is a part of the references of its orders.
 */
export function adoptShops(
  { database, namespace, clock }: Outbox,
  { shops, nowMs }: { shops: readonly ShopIdentity[]; nowMs: number },
): void {
  const steadyMs = clock.steadyMs();
  for (const shop of shops) {
    const { source, what } = shop;
    if (what === undefined) connect(database).run({ source, nowMs, steadyMs });
    for (const fingerprint of shop.fingerprints) {
      const { kind } = fingerprint;
      const value =
        kind === 'secret' ? keyFingerprint(namespace, fingerprint.value) : fingerprint.value;
      const known = findSource(database).get(kind, value);
      const isRenamed = known !== undefined && known !== source;
      // Before it has orders, a source may be corrected.
      if (isRenamed && (what === undefined || findOrder(database).get(known) !== undefined))
        refuse(shop, fingerprint, known);
      remember(database).run({ kind, value, source, steadyMs });
    }
  }
  forgetOld(database).run(steadyMs - forgottenAfterMs);
}

function refuse(
  { title, source, ...shop }: ShopIdentity,
  { kind }: ShopFingerprint,
  known: string,
): never {
  const { what = 'shop' } = shop;
  const line = what === 'token' ? `sources: [${known}]` : `source: ${known}`;
  throw new OrderSyncError(
    'CONFIG_INVALID',
    `The orders of the ${what} ${title} would belong to the source "${source}", but the ${what} with this ${kind} has the source "${known}"`,
    {
      hint: `set ${line} to keep it: under another source, orders that come again would be bought again. Another shop needs a name, a secret or a folder of its own`,
    },
  );
}
