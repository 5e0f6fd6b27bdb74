import {
  customTexts,
  type Fields,
  idOf,
  isNothing,
  isObject,
  listOf,
  piecesOf,
  shopTime,
} from '../shop/payload-values.ts';
import type { OrderReading, ReadContext, ShopOrder, ShopOrderState } from '../shop/shop-order.ts';
import {
  commonFields,
  type LineReading,
  looksLikeOrder,
  problemOf,
  readLines,
  unreadableOrder,
} from '../shop/read-order.ts';

/**
 * Also of its webhooks. Only the body is signed, so a header may make an order a test order, never
 * the opposite.
 */
export function readShopifyOrder(
  document: unknown,
  shop: { readonly iccidField: string },
  context: ReadContext,
): OrderReading {
  if (!looksLikeOrder(document, context, ['financial_status'])) return { kind: 'other' };
  const orderId = idOf(document['id']);
  const status = document['financial_status'];
  const modifiedMs = shopTime(document['updated_at']);
  if (orderId === null)
    return unreadableOrder(document, 'id', 'must be the id of the order', modifiedMs);
  // An order that was imported has an earlier time of processing, and one of a bank transfer is
  // placed days before its payment.
  const times = [shopTime(document['processed_at']), shopTime(document['created_at'])].filter(
    (ms) => ms !== null,
  );
  const placedMs = times.length === 0 ? null : Math.min(...times);
  const head = {
    orderId,
    placedMs,
    paidMs: context.topic === 'orders/paid' ? context.nowMs : null,
    isDone: document['fulfillment_status'] === 'fulfilled',
    sites: sitesOf(document, context),
  };
  const gateways = listOf(document['payment_gateway_names']) ?? [];
  const isBogus = gateways.some((name) => typeof name === 'string' && /\bbogus\b/i.test(name));
  if (context.isTest || isBogus || document['test'] === true || document['test'] === 'true') {
    const test = { ...head, modifiedMs: modifiedMs ?? 0, state: 'test', status: 'test' } as const;
    return { kind: 'order', order: readOrder(document, test, shop.iccidField) };
  }
  if (typeof status !== 'string' && status !== null) {
    return unreadableOrder(document, 'financial_status', 'must be a text', modifiedMs);
  }
  if (modifiedMs === null) return unreadableOrder(document, 'updated_at', 'must be a time');
  const isCancelled = !isNothing(document['cancelled_at']);
  const state = shopifyState(status, isCancelled);
  if (placedMs === null && (state === 'paid' || state === 'unknown_status')) {
    return unreadableOrder(document, 'processed_at', 'must be a time', modifiedMs);
  }
  const shown = isCancelled ? 'cancelled' : (status ?? 'without a status');
  return {
    kind: 'order',
    order: readOrder(document, { ...head, modifiedMs, state, status: shown }, shop.iccidField),
  };
}

/** Its domain at Shopify never changes; the page of its status names the id of the shop. */
function sitesOf({ order_status_url: page }: Fields, { site }: ReadContext): readonly string[] {
  const [, id] =
    /^https:\/\/[^/]+\/(\d+)\/orders\//.exec(typeof page === 'string' ? page : '') ?? [];
  return [domainOf(site) ?? [], id === undefined ? [] : `shop ${id}`].flat();
}

/** @param address a domain, or an address with one; null: it is none at Shopify */
export function domainOf(address: string | undefined): string | null {
  const [domain] = /[a-z0-9-]+\.myshopify\.com/i.exec(address ?? '') ?? [];
  return domain === undefined ? null : `domain ${domain.toLowerCase()}`;
}

function readOrder(
  document: Fields,
  head: Omit<
    ShopOrder,
    'number' | 'currency' | 'refundCount' | 'refundUnclear' | 'lines' | 'unreadable'
  >,
  iccidField: string,
): ShopOrder {
  const isClosed = head.state === 'closed';
  const refunded = readRefunds(document['refunds']);
  return {
    ...head,
    ...commonFields(document, 'name', document['checkout_token'] ?? document['checkout_id']),
    // An amount that is refunded without a line, for example for shipping, takes no line away.
    refundUnclear: false,
    ...readLines(document['line_items'], isClosed, (item, lineId) =>
      readLine(item, refunded(lineId), iccidField),
    ),
  };
}

/**
 * How many pieces of a line were refunded; null: a refund of it, or one that may be of any line,
 * cannot be read.
 */
function readRefunds(refunds: unknown): (lineId: string) => number | null {
  const refunded = new Map<string, number>();
  const unclear = new Set<string>();
  const list = listOf(refunds);
  let isUnclear = list === null;
  for (const refund of list ?? []) {
    const items = isObject(refund) ? listOf(refund['refund_line_items']) : null;
    isUnclear ||= items === null;
    for (const item of items ?? []) {
      const lineId = isObject(item) ? idOf(item['line_item_id']) : null;
      const pieces = isObject(item) ? piecesOf(item['quantity']) : null;
      if (lineId === null) isUnclear = true;
      else if (pieces === null) unclear.add(lineId);
      else refunded.set(lineId, (refunded.get(lineId) ?? 0) + pieces);
    }
  }
  return (lineId) => (isUnclear || unclear.has(lineId) ? null : (refunded.get(lineId) ?? 0));
}

/** @param refunded null: it may have a refund, and nobody can read of how many */
function readLine(item: Fields, refunded: number | null, iccidField: string): LineReading {
  const pieces = piecesOf(item['quantity']);
  // Since API version 2024-01. It counts edits and refunds; only refunds are listed, too.
  const hasCurrent = !isNothing(item['current_quantity']);
  const current = hasCurrent ? piecesOf(item['current_quantity']) : pieces;
  const isRemoved = hasCurrent && current === 0;
  if (!pieces && !isRemoved)
    return problemOf('quantity', 'must be a positive whole number', item['quantity']);
  if (current === null)
    return problemOf('current_quantity', 'must be a whole number', item['current_quantity']);
  if (refunded === null && !hasCurrent) {
    return {
      field: 'current_quantity',
      rule: 'is missing, and a refund of the order cannot be read',
    };
  }
  return {
    remaining: Math.max(0, Math.min((pieces ?? 0) - (refunded ?? 0), current)),
    iccids: customTexts(item['properties'], 'name', iccidField),
    isShopsOwn: item['gift_card'] === true || item['gift_card'] === 'true',
  };
}

/** Whether each `financial_status` of Shopify lets an order be bought that is not cancelled. */
const shopifyStatuses: ReadonlyMap<string, ShopOrderState> = new Map([
  ['pending', 'unpaid'],
  ['authorized', 'unpaid'],
  ['expired', 'unpaid'],
  ['paid', 'paid'],
  // The rest of a partially refunded order is paid.
  ['partially_refunded', 'paid'],
  // Something was added to a paid order, and that is not paid yet.
  ['partially_paid', 'on_hold'],
  ['refunded', 'closed'],
  ['voided', 'closed'],
]);

/**
 * An order is archived (`closed_at`) when everything is done, by a person or by itself: that says
 * nothing about its payment.
 */
function shopifyState(status: string | null, isCancelled: boolean): ShopOrderState {
  if (isCancelled) return 'closed';
  // An order of which no payment was ever asked for.
  if (status === null) return 'unpaid';
  return shopifyStatuses.get(status) ?? 'unknown_status';
}
