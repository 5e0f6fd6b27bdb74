import { isoTime } from '../core/clock.ts';
import { type AcceptableLine, joinLine, orderLineSchema } from '../core/order/order-request.ts';
import type { StorefrontLine, StorefrontOrder } from '../store/storefronts/storefronts.ts';
import type { Sku, SkuMap } from './sku-map.ts';
import type { StorefrontShop } from './settings.ts';
import type { DeliveredLine, DeliveredOrder } from './shop-order.ts';

/** By a clock that is so far behind, nothing would ever be too old. */
const farAheadMs = 86_400_000;

/** What a delivered order asks for, after the SKU map and the rules of its shop. Pure: the outbox knows the rest. */
export function planOrder(
  order: DeliveredOrder,
  shop: StorefrontShop,
  skus: SkuMap,
  context: { readonly actor: string; readonly nowMs: number },
): StorefrontOrder {
  return {
    source: shop.source,
    orderId: order.orderId,
    modifiedMs: order.modifiedMs,
    closed: order.state === 'closed',
    refundUnclear: order.refundUnclear,
    onRefund: shop.onRefund,
    actor: context.actor,
    nowMs: context.nowMs,
    lines: order.lines.map((line) => planLine(order, line, shop, skus, context.nowMs)),
  };
}

function planLine(
  order: DeliveredOrder,
  line: DeliveredLine,
  shop: StorefrontShop,
  skus: SkuMap,
  nowMs: number,
): StorefrontLine {
  const sku = skus.get(line.sku);
  const facts = { lineId: line.lineId, sku: line.sku, isMapped: sku !== undefined, remaining: line.remaining };
  const nothing: StorefrontLine = { ...facts, buy: null, hold: null };
  if (order.state !== 'paid' || line.remaining === 0) return nothing;
  if (sku === undefined) {
    if (shop.unmatched === 'ignore') return nothing;
    return held(facts, 'unknown_sku', `has the SKU "${line.sku}", which the SKU map does not know; nothing was bought`);
  }
  if (order.refundUnclear) {
    const rule = 'belongs to an order that was refunded in part, and it does not say which line; nothing was bought';
    return held(facts, 'partially_refunded', rule);
  }
  if (order.paidMs === null || nowMs - order.paidMs > shop.maxAgeMs) {
    const rule = 'was paid too long ago to be bought without a person: raise max_age_h of the shop if it is wanted';
    return held(facts, 'too_old', rule);
  }
  if (order.paidMs - nowMs > farAheadMs) {
    const rule = `was paid at ${isoTime(order.paidMs)}, which is more than a day ahead of the clock here: which one is wrong?`;
    return held(facts, 'paid_in_future', `${rule} nothing was bought`);
  }
  if (!Number.isInteger(line.remaining)) {
    return held(facts, 'invalid_line', `has ${line.remaining} pieces, which is no whole number; nothing was bought`);
  }
  const made = acceptable(order, line, shop, sku);
  return made.ok ? { ...nothing, buy: made.line } : held(facts, made.code, made.rule);
}

type Made =
  | { readonly ok: true; readonly line: AcceptableLine }
  | { readonly ok: false; readonly code: string; readonly rule: string };

function acceptable(order: DeliveredOrder, line: DeliveredLine, shop: StorefrontShop, sku: Sku): Made {
  if (sku.type === 'esim_topup' && line.remaining > 1) {
    const rule = `tops the same eSIM up ${line.remaining} times: that is for a person to decide; nothing was bought`;
    return { ok: false, code: 'repeated_topup', rule };
  }
  const { type, currency = shop.currency ?? order.currency.toUpperCase() } = sku;
  const bought =
    sku.type === 'gift_card_order'
      ? { variant: sku.variant, quantity: sku.quantity * line.remaining }
      : sku.type === 'esim_order'
        ? { plan: sku.plan, days: sku.days, quantity: sku.quantity * line.remaining }
        : { plan: sku.plan, days: sku.days, iccid: line.iccid ?? undefined };
  const parsed = orderLineSchema.safeParse({
    line_id: line.lineId,
    type,
    ...bought,
    currency,
    extra: { sku: line.sku, shop_quantity: String(line.remaining) },
  });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = String(issue?.path[0] ?? 'line');
    const missing =
      field === 'iccid' && line.iccid === null ? `the customer named none in "${shop.iccidField}"` : issue?.message;
    return { ok: false, code: 'invalid_line', rule: `cannot be bought: ${field}: ${missing}` };
  }
  const metadata = { storefront_order: order.number ?? order.orderId };
  const joined = joinLine({ order_id: order.orderId, source: shop.source, metadata }, parsed.data, shop.source);
  return joined.ok
    ? { ok: true, line: joined.line }
    : { ok: false, code: 'invalid_line', rule: `${joined.field} ${joined.rule}` };
}

type LineFacts = Pick<StorefrontLine, 'lineId' | 'sku' | 'isMapped' | 'remaining'>;

function held(facts: LineFacts, code: string, rule: string): StorefrontLine {
  return { ...facts, buy: null, hold: { code, field: null, rule, value: null } };
}
