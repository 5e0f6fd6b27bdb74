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

/** Also of its webhooks. Only the body is signed, so a header may make an order a test order, never the opposite. */
export function readShopifyOrder(
  document: unknown,
  shop: { readonly iccidField: string },
  context: ReadContext,
): OrderReading {
  if (!looksLikeOrder(document, context, ['financial_status'])) return { kind: 'other' };
  const orderId = idOf(document['id']);
  const status = document['financial_status'];
  const modifiedMs = shopTime(document['updated_at']);
  if (orderId === null) return unreadableOrder(document, 'id', 'must be the id of the order', modifiedMs);
  const paidMs = shopTime(document['processed_at']) ?? shopTime(document['created_at']);
  if (context.isTest || document['test'] === true || document['test'] === 'true') {
    const head = { orderId, modifiedMs: modifiedMs ?? 0, paidMs, state: 'test', status: 'test' } as const;
    return { kind: 'order', order: readOrder(document, head, shop.iccidField) };
  }
  if (typeof status !== 'string' && status !== null) {
    return unreadableOrder(document, 'financial_status', 'must be a text', modifiedMs);
  }
  if (modifiedMs === null) return unreadableOrder(document, 'updated_at', 'must be a time');
  const isCancelled = !isNothing(document['cancelled_at']);
  const state = shopifyState(status, isCancelled);
  if (paidMs === null && (state === 'paid' || state === 'unknown_status')) {
    return unreadableOrder(document, 'processed_at', 'must be a time', modifiedMs);
  }
  const shown = isCancelled ? 'cancelled' : (status ?? 'without a status');
  const head = { orderId, modifiedMs, paidMs, state, status: shown };
  return { kind: 'order', order: readOrder(document, head, shop.iccidField) };
}

function readOrder(
  document: Fields,
  head: Pick<ShopOrder, 'orderId' | 'modifiedMs' | 'paidMs' | 'state' | 'status'>,
  iccidField: string,
): ShopOrder {
  const isClosed = head.state === 'closed';
  const refunded = readRefunds(document['refunds']);
  return {
    ...head,
    ...commonFields(document, 'name'),
    // An amount that is refunded without a line, for example for shipping, takes no line away.
    refundUnclear: false,
    ...readLines(document['line_items'], isClosed, (item, lineId) => readLine(item, refunded(lineId), iccidField)),
  };
}

/** How many pieces of a line were refunded; null: a refund of it, or one that may be of any line, cannot be read. */
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
  if (!pieces && !isRemoved) return problemOf('quantity', 'must be a positive whole number', item['quantity']);
  if (current === null) return problemOf('current_quantity', 'must be a whole number', item['current_quantity']);
  if (refunded === null && !hasCurrent) {
    return { field: 'current_quantity', rule: 'is missing, and a refund of the order cannot be read' };
  }
  return {
    remaining: Math.max(0, Math.min((pieces ?? 0) - (refunded ?? 0), current)),
    iccids: customTexts(item['properties'], 'name', iccidField),
    // The parts of a bundle are lines of their own, and the bundle itself is none.
    parentId: null,
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

/** An order is archived (`closed_at`) when everything is done, by a person or by itself: that says nothing about its payment. */
function shopifyState(status: string | null, isCancelled: boolean): ShopOrderState {
  if (isCancelled) return 'closed';
  // An order of which no payment was ever asked for.
  if (status === null) return 'unpaid';
  return shopifyStatuses.get(status) ?? 'unknown_status';
}
