import { customTexts, type Fields, idOf, isNothing, isObject, listOf, piecesOf, shopTime } from '../payload-values.ts';
import { type LineReading, problemOf, readLines } from '../read-lines.ts';
import { looksLikeOrder, type OrderReading, type ReadContext, type ShopOrder, unreadableOrder } from '../shop-order.ts';
import { wooCommerceState } from './order-status.ts';
import { refundedQuantities } from './refunds.ts';
import type { WooCommerceShop } from './settings.ts';

type Shop = Pick<WooCommerceShop, 'paidStatuses' | 'iccidField'>;
type Refunded = ReadonlyMap<string, number>;

const nothingRefunded: Refunded = new Map();

/**
 * Reads an order of the WooCommerce REST API v3 from its body alone; its webhooks deliver the same form. Topic and
 * delivery id are not signed, and the id repeats for different orders within a second. The refunds are read apart, because the order does not say which lines they are for.
 */
export function readWooCommerceOrder(document: unknown, shop: Shop, context: ReadContext): OrderReading {
  const legacy = legacyOrder(document);
  if (legacy !== null) {
    const must =
      'must be an order of the REST API v3: set the API version of the webhook to "WP REST API Integration v3"';
    return { ...unreadableOrder(legacy, 'id', must), field: 'order', rule: `${must}. It is one of the legacy API` };
  }
  if (!looksLikeOrder(document, context, ['status', 'date_paid', 'date_paid_gmt']) || isSubscription(document)) {
    return { kind: 'other' };
  }
  const orderId = idOf(document['id']);
  const { status } = document;
  const modifiedMs = shopTime(document['date_modified_gmt']) ?? shopTime(document['date_modified']);
  if (orderId === null) return unreadableOrder(document, 'id', 'must be the id of the order', modifiedMs);
  if (typeof status !== 'string') return unreadableOrder(document, 'status', 'must be a text', modifiedMs);
  if (modifiedMs === null) return unreadableOrder(document, 'date_modified_gmt', 'must be a time');
  const paidField = ['date_paid_gmt', 'date_paid'].find((field) => !isNoTime(document[field])) ?? 'date_paid_gmt';
  const paidMs = shopTime(document[paidField]);
  const state = wooCommerceState(status, { paidMs, paidStatuses: shop.paidStatuses });
  if (paidMs === null && !isNoTime(document[paidField]) && state !== 'closed') {
    return unreadableOrder(document, paidField, 'must be a time', modifiedMs);
  }
  const head = { orderId, modifiedMs, paidMs, state, status } as const;
  return { kind: 'order', order: readOrder(document, head, shop, context.refunds) };
}

function readOrder(
  document: Fields,
  head: Pick<ShopOrder, 'orderId' | 'modifiedMs' | 'paidMs' | 'state' | 'status'>,
  shop: Shop,
  refunds: readonly unknown[] | null,
): ShopOrder {
  const { number, currency } = document;
  const isClosed = head.state === 'closed';
  const refunded = refundedOf(document['refunds'], refunds);
  return {
    ...head,
    number: typeof number === 'string' ? number.slice(0, 64) : null,
    currency: typeof currency === 'string' ? currency : '',
    refundCount: listOf(document['refunds'])?.length ?? 0,
    // A refund does not lower the quantities of the order, and only the refund names its lines.
    refundUnclear: !isClosed && refunded === null,
    ...readLines(document['line_items'], isClosed, (item, lineId) =>
      readLine(item, refunded?.get(lineId) ?? 0, shop.iccidField),
    ),
  };
}

/** Null: nobody knows which lines were refunded. */
function refundedOf(named: unknown, refunds: readonly unknown[] | null): Refunded | null {
  const list = listOf(named);
  if (list?.length === 0) return nothingRefunded;
  const ids = list?.flatMap((refund) => (isObject(refund) ? (idOf(refund['id']) ?? []) : []));
  if (refunds === null || list === null || ids?.length !== list.length) return null;
  return refundedQuantities(refunds, ids);
}

function readLine(item: Fields, refunded: number, iccidField: string): LineReading {
  const pieces = piecesOf(item['quantity']);
  // WooCommerce deletes a line whose quantity is set to 0.
  if (pieces === null || pieces === 0)
    return problemOf('quantity', 'must be a positive whole number', item['quantity']);
  return {
    remaining: Math.max(0, pieces - refunded),
    iccids: customTexts(item['meta_data'], 'key', iccidField),
    // Product Bundles and Composite Products name the line of the bundle.
    parentId: idOf(item['bundled_by']) ?? idOf(item['composite_parent']),
    isShopsOwn: false,
  };
}

/** WordPress shows a time that was never set as one of the year 0. */
const isNoTime = (value: unknown): boolean =>
  isNothing(value) || (typeof value === 'string' && value.startsWith('0000-00-00'));

/** A subscription has the form of an order and is none: each of its renewals is an order of its own. */
const isSubscription = (document: Fields): boolean => 'billing_period' in document && 'billing_interval' in document;

/** The order within a body of the legacy API; null: it is none. */
function legacyOrder(document: unknown): Fields | null {
  const order = isObject(document) && !('id' in document) ? document['order'] : null;
  return isObject(order) && 'line_items' in order ? order : null;
}
