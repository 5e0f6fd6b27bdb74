import { isoTime } from '../core/clock.ts';
import { messageText, quoted } from '../core/message-text.ts';
import { type AcceptableLine, joinLine, orderLineSchema } from '../core/order/order-request.ts';
import { rulesOfLine, type Sku, type SkuRules } from '../core/order/sku.ts';
import { normalSku, type SkuMap } from '../core/order/sku-map.ts';
import type {
  StorefrontLine,
  StorefrontOrder,
  UnreadableLine,
} from '../store/storefronts/storefront-order.ts';
import type { ShopSettings } from './shop/shop-settings.ts';
import type {
  ShopOrder,
  ShopOrderLine,
  ShopOrderState,
  UnreadableShopLine,
} from './shop/shop-order.ts';

/** An order that is no test. */
export type RealOrder = ShopOrder & { readonly state: ShopOrderState };

/** How a state came in, and when. `isReadNow`: see `StorefrontOrder`. */
type PlanContext = Pick<StorefrontOrder, 'actor' | 'nowMs'> & {
  readonly isReadNow: boolean;
  /**
   * An order that was paid before is an old sale, not made for this worker. Absent: none is.
   */
  readonly earliestMs?: number;
  /** The SKUs that are surely those of variations; null or absent: all are. */
  readonly ownSkus?: ReadonlySet<string> | null;
  /** Normal forms of SKUs that the map lacks and had before. */
  readonly before?: readonly string[];
};

/** @param product see `ShopOrderLine` */
export const isVariation = (product: string | null): boolean => product?.endsWith('/0') === false;

const unknownSku = 'unknown_sku';
/**
 * Of such orders a shop has many, which other people or programs have delivered: one row says so.
 */
const oldSale = 'old_sale';

/** If this machine's clock were so far behind, no order would ever be too old. */
const maxAheadMs = 86_400_000;

/**
 * The shop deleted an order, and says only which. By this machine's time: states that the shop
 * changed before are older.
 */
export function planDeletion(
  orderId: string,
  shop: ShopSettings,
  context: PlanContext,
): StorefrontOrder {
  const { source, onRefund } = shop;
  return {
    ...context,
    source,
    orderId,
    onRefund,
    modifiedMs: context.nowMs,
    refundCount: 0,
    refundUnclear: false,
    state: 'deleted',
    status: 'deleted',
    lines: [],
    unreadable: [],
  };
}

/**
 * The purchases that an order asks for, by the SKU map and the rules of its shop. Only the store
 * knows what was bought.
 */
export function planOrder(
  order: RealOrder,
  shop: ShopSettings,
  skus: SkuMap,
  { ownSkus = null, before = [], ...context }: PlanContext,
): StorefrontOrder {
  const { nowMs, earliestMs = 0 } = context;
  const lines = order.lines.map((line) => {
    const parentSku = containerSku(line, order.lines, skus);
    const lacksSku = isVariation(line.product) && ownSkus?.has(normalSku(line.sku)) === false;
    return planLine(order, line, { shop, skus, nowMs, earliestMs, parentSku, lacksSku, before });
  });
  const { source, onRefund } = shop;
  const { earliestMs: _, ...taken } = context;
  return {
    ...order,
    ...taken,
    source,
    onRefund,
    result: order.result ?? null,
    metadata: metadataOf(order),
    status: messageText(order.status, 60),
    ofMany: lines.find(isOfMany)?.hold ?? null,
    lines: lines.map((line) => (isOfMany(line) ? { ...line, hold: null } : line)),
    unreadable: order.unreadable.map((line) => planUnreadable(order, line, { shop, skus, before })),
    keptOrder: keptOf(order, lines),
  };
}

/**
 * The SKU of the nearest bundle around a line that the map has; null: none. Bundles may stand in
 * bundles.
 */
function containerSku(
  line: ShopOrderLine,
  lines: readonly ShopOrderLine[],
  skus: SkuMap,
  depth = 0,
): string | null {
  const parent = lines.find(({ lineId }) => lineId === line.parentId);
  if (parent === undefined || depth > 9) return null;
  return skus.has(parent.sku) ? parent.sku : containerSku(parent, lines, skus, depth + 1);
}

const isOfMany = ({ hold }: StorefrontLine): boolean => hold?.code === oldSale;

/**
 * A bigger order is not kept: who sells so many unknown SKUs has another problem than one wrong row
 * of the map.
 */
const mostKeptLines = 100;

/** The order, if a line of it was flagged because of its SKU. */
function keptOf(order: RealOrder, planned: readonly StorefrontLine[]): string | null {
  const isKept =
    order.lines.length <= mostKeptLines && planned.some(({ hold }) => hold?.code === unknownSku);
  return isKept ? JSON.stringify(order) : null;
}

/** Reads what `planOrder` has kept: it was written by this program alone. */
export const readKeptOrder = (text: string): RealOrder => JSON.parse(text);

interface MapContext {
  readonly shop: ShopSettings;
  readonly skus: SkuMap;
  readonly before: readonly string[];
}

interface LineContext extends MapContext {
  readonly nowMs: number;
  readonly earliestMs: number;
  readonly parentSku: string | null;
  readonly lacksSku: boolean;
}

/** A line with a readable SKU that is not in the map is not ours, whatever its other fields are. */
function planUnreadable(
  order: ShopOrder,
  line: UnreadableShopLine,
  { shop, skus, before }: MapContext,
): UnreadableLine {
  const { sku } = line;
  const isOurs =
    sku === null ||
    skus.has(sku) ||
    shop.unmatched === 'review' ||
    skus.whyOurs(sku, before) !== null;
  return { ...line, isDue: isOurs && (order.state === 'paid' || order.state === 'unknown_status') };
}

function planLine(order: ShopOrder, line: ShopOrderLine, context: LineContext): StorefrontLine {
  const { shop, skus, nowMs } = context;
  const { lineId, remaining } = line;
  const sku = skus.get(line.sku);
  const shownSku = quoted(line.sku);
  const shown = { lineId, sku: line.sku, product: line.product, remaining };
  const nothing = { ...shown, isMapped: sku !== undefined, buy: null, hold: null };
  const hold = (code: string, rule: string) => ({
    ...nothing,
    hold: { code, field: null, rule, value: null },
  });
  // With an unknown status the store holds what would be bought.
  if ((order.state !== 'paid' && order.state !== 'unknown_status') || remaining === 0)
    return nothing;
  const late = whyLate(order, context);
  if (sku === undefined) {
    const why = skus.whyOurs(line.sku, context.before);
    if (why === null && shop.unmatched === 'ignore') return nothing;
    if (late?.[0] === oldSale) return hold(...late);
    const rule = `has the SKU ${shownSku}, which ${why ?? 'is not in the SKU map'}; nothing was bought`;
    return {
      ...nothing,
      hold: { code: unknownSku, field: null, rule, value: line.sku.slice(0, 128) },
    };
  }
  const unclear = whyUnclear(order, line, context);
  if (unclear !== null) return hold(...unclear);
  if (sku.type === 'esim_topup' && remaining > 1) {
    return hold(
      'repeated_topup',
      `would top up the same eSIM ${remaining} times; nothing was bought`,
    );
  }
  const result = toOrderLine(order, line, shop, sku);
  return 'problem' in result
    ? hold('invalid_line', `cannot be bought: ${result.problem}`)
    : {
        ...nothing,
        buy: {
          ...result.line,
          customer: order.customer,
          ...rulesOfLine(sku, rulesOfShop(shop), order.paidMs ?? nowMs),
        },
      };
}

/** Why it is not clear what the shop sold with a line, as a code and a rule; null: it is clear. */
function whyUnclear(
  order: ShopOrder,
  line: ShopOrderLine,
  context: LineContext,
): readonly [code: string, rule: string] | null {
  const { parentSku } = context;
  const shownSku = quoted(line.sku);
  if (order.refundUnclear) {
    const rule =
      'belongs to an order with a partial refund that does not say which lines were refunded';
    return ['partially_refunded', `${rule}; nothing was bought`];
  }
  const late = whyLate(order, context);
  if (late !== null) return late;
  if (!Number.isInteger(line.remaining)) {
    const rule = `has the quantity ${line.remaining}, which is not a whole number`;
    return ['invalid_line', `${rule}; nothing was bought`];
  }
  if (line.isShopsOwn) {
    const rule = `is a gift card of the shop itself, but its SKU ${shownSku} is in the SKU map`;
    return ['own_gift_card', `${rule}; nothing was bought`];
  }
  if (context.lacksSku) {
    const rule = `is a variation without a SKU of its own: ${shownSku} is the SKU of its product`;
    const advice = 'nothing was bought: give the variation a SKU in the shop';
    return ['variation_without_sku', `${rule}; ${advice}`];
  }
  if (parentSku === null) return null;
  const rule = `is a part of the bundle in line ${line.parentId}, whose SKU ${quoted(parentSku)} is also in the SKU map`;
  const advice = 'nothing was bought for this line: remove one of the two SKUs from the map';
  return ['bundled_line', `${rule}; ${advice}`];
}

/**
 * Why an order is not bought because of the time of its payment; null: that is right, or nobody
 * knows it.
 */
function whyLate(
  { paidMs, placedMs, isDone, orderId }: ShopOrder,
  { shop, nowMs, earliestMs }: { shop: ShopSettings; nowMs: number; earliestMs: number },
): readonly [code: string, rule: string] | null {
  // One that was delivered although it has no time of payment was paid when it was placed.
  const soldMs = paidMs ?? (isDone ? placedMs : null);
  if (soldMs === null) return null;
  if (soldMs < earliestMs) {
    const since = `before ${isoTime(earliestMs)} (\`lookback_h\` before the first start with this shop)`;
    return [oldSale, `orders that were paid ${since} are not bought; the last one was ${orderId}`];
  }
  if (nowMs - soldMs > shop.maxAgeH * 3_600_000) {
    if (isDone) {
      const rule =
        'orders that the shop shows as delivered and that were paid longer ago than max_age_h are not bought';
      return [oldSale, `${rule}; the last was ${orderId}`];
    }
    return ['too_old', 'was paid longer ago than max_age_h of the shop allows; nothing was bought'];
  }
  if (soldMs - nowMs <= maxAheadMs) return null;
  const rule = `was paid at ${isoTime(soldMs)}, more than a day ahead of this machine's clock; nothing was bought`;
  return ['paid_in_future', `${rule}: correct the clock that is wrong`];
}

export function rulesOfShop({ split, partial, fallbackCurrency, waitH }: ShopSettings): SkuRules {
  return { split, partial, fallback_currency: fallbackCurrency, wait_h: waitH };
}

/** The purchase of a shop's line by its SKU, or the reason why it cannot be bought. */
export function toOrderLine(
  order: Pick<ShopOrder, 'orderId' | 'number' | 'currency'>,
  line: Pick<ShopOrderLine, 'lineId' | 'sku' | 'product' | 'remaining' | 'iccids'>,
  shop: Pick<ShopSettings, 'source' | 'currency' | 'iccidField'>,
  sku: Sku,
): { readonly line: AcceptableLine } | { readonly problem: string } {
  const { currency = shop.currency ?? order.currency.toUpperCase() } = sku;
  if (sku.type === 'esim_topup' && line.iccids.length > 1) {
    return {
      problem: `the field "${shop.iccidField}" of the order line has ${line.iccids.length} different values`,
    };
  }
  const parsed = orderLineSchema.safeParse({
    line_id: line.lineId,
    ...productOf(sku, line),
    currency,
    extra: {
      sku: line.sku,
      shop_quantity: String(line.remaining),
      ...(line.product !== null && { shop_product: line.product }),
    },
  });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = String(issue?.path[0] ?? 'line');
    const isMissing = field === 'iccid' && line.iccids.length === 0;
    const problem = isMissing
      ? `the field "${shop.iccidField}" of the order line is missing`
      : issue?.message;
    return { problem: `${field}: ${problem}` };
  }
  const { source } = shop;
  const joined = joinLine(
    { order_id: order.orderId, source, metadata: metadataOf(order) },
    parsed.data,
    { source },
  );
  return joined.ok ? { line: joined.line } : { problem: `${joined.field} ${joined.rule}` };
}

function productOf(
  sku: Sku,
  { remaining, iccids: [iccid] }: Pick<ShopOrderLine, 'remaining' | 'iccids'>,
) {
  const { type } = sku;
  if (type === 'gift_card_order')
    return { type, variant: sku.variant, quantity: sku.quantity * remaining };
  const { plan, days } = sku;
  return type === 'esim_topup'
    ? { type, plan, days, iccid }
    : { type, plan, days, quantity: sku.quantity * remaining };
}

const metadataOf = ({ number, orderId }: Pick<ShopOrder, 'orderId' | 'number'>) => ({
  storefront_order: number ?? orderId,
});
