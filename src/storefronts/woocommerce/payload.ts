import { hash } from 'node:crypto';
import type { SaleKey } from '../../core/order/sale-key.ts';
import {
  customTexts,
  type Fields,
  idOf,
  isNothing,
  isObject,
  listOf,
  namedTexts,
  piecesOf,
  shopTime,
} from '../shop/payload-values.ts';
import type { OrderReading, ReadContext, ShopOrderState } from '../shop/shop-order.ts';
import { siteOf } from '../shop/site.ts';
import {
  commonFields,
  type LineReading,
  looksLikeOrder,
  problemOf,
  readLines,
  unreadableOrder,
} from '../shop/read-order.ts';
import { resultIn } from './order-fields.ts';
import type { WooCommerceShop } from './settings.ts';

/**
 * Reads an order of the WooCommerce REST API v3 from its body alone, because only that is signed;
 * webhooks deliver the same form. The refunds are read apart: the order does not say which lines
 * they are for.
 */
const ofLegacyApi =
  'must be an order of the REST API v3: set the API version of the webhook to "WP REST API Integration v3". This order is in the form of the legacy API';

export function readWooCommerceOrder(
  document: unknown,
  shop: Pick<WooCommerceShop, 'paidStatuses' | 'iccidField'>,
  context: ReadContext,
): OrderReading {
  const legacy = legacyOrder(document);
  if (legacy !== null) {
    const orderId = idOf(legacy['id']);
    return { kind: 'unreadable', orderId, modifiedMs: null, field: 'order', rule: ofLegacyApi };
  }
  const isOrder = looksLikeOrder(document, context, ['status', 'date_paid', 'date_paid_gmt']);
  if (!isOrder || isSubscription(document)) return { kind: 'other' };
  const orderId = idOf(document['id']);
  const { status } = document;
  const modifiedMs = shopTime(document['date_modified_gmt']) ?? shopTime(document['date_modified']);
  if (orderId === null)
    return unreadableOrder(document, 'id', 'must be the id of the order', modifiedMs);
  if (typeof status !== 'string')
    return unreadableOrder(document, 'status', 'must be a text', modifiedMs);
  if (modifiedMs === null) return unreadableOrder(document, 'date_modified_gmt', 'must be a time');
  const paidField =
    ['date_paid_gmt', 'date_paid'].find((field) => !isNoTime(document[field])) ?? 'date_paid_gmt';
  const paidMs = shopTime(document[paidField]);
  const marks = namedTexts(document['meta_data'], 'key');
  const isTest = marks.some(isMarkOf(testMarks));
  const perhaps = marks.find(isMarkOf(perhapsTest));
  const isPaidLater = paidLater.test(textOf(document['payment_method']));
  const shown = wooCommerceState(status, paidMs, shop.paidStatuses, isPaidLater);
  const state = shown === 'paid' && perhaps !== undefined ? 'unknown_status' : shown;
  const why =
    paidMs === null ? 'without a date of payment' : `with the field ${perhaps?.join(': ')}`;
  if (paidMs === null && !isNoTime(document[paidField]) && state !== 'closed') {
    return unreadableOrder(document, paidField, 'must be a time', modifiedMs);
  }
  const refunded = refundedOf(document['refunds'], context.refunds);
  const order = {
    orderId,
    modifiedMs,
    paidMs,
    placedMs: shopTime(document['date_created_gmt']) ?? shopTime(document['date_created']),
    state: isTest ? ('test' as const) : state,
    status:
      state === 'unknown_status' && (paidMs === null || perhaps !== undefined)
        ? `${status} ${why}`
        : status,
    lacksPaidMs: shown === 'unknown_status' && paidMs === null,
    isDone: withoutPrefix(status) === 'completed',
    sites: [context.site, selfLink(document)].flatMap((address) => siteOf(address) ?? []),
    ...commonFields(document, 'number', document['transaction_id']),
    saleKey: saleKeyOf(document),
    result: resultIn(document),
    // A refund does not lower the quantities of the order, and only the refund names its lines.
    refundUnclear: state !== 'closed' && refunded === null,
    ...readLines(document['line_items'], state === 'closed', (item, lineId) =>
      readLine(item, refunded?.get(lineId) ?? 0, shop.iccidField),
    ),
  };
  return { kind: 'order', order };
}

/** Whoever knows the key of an order may see it. */
const hashed = (value: unknown) =>
  typeof value === 'string' && value !== '' ? hash('sha256', value) : '';

function saleKeyOf({
  order_key: key,
  date_created_gmt: made,
  customer_id: customer,
  billing,
}: Fields): SaleKey {
  return [
    hashed(key),
    hashed(made),
    hashed(idOf(customer) ?? (isObject(billing) ? billing['email'] : '')),
  ];
}

function readLine(item: Fields, refunded: number, iccidField: string): LineReading {
  const pieces = piecesOf(item['quantity']);
  // WooCommerce deletes a line whose quantity is set to 0.
  if (!pieces) return problemOf('quantity', 'must be a positive whole number', item['quantity']);
  return {
    remaining: Math.max(0, pieces - refunded),
    iccids: customTexts(item['meta_data'], 'key', iccidField),
    isShopsOwn: false,
  };
}

/** WordPress shows a time that was never set as one of the year 0. */
const isNoTime = (value: unknown): boolean =>
  isNothing(value) || (typeof value === 'string' && value.startsWith('0000-00-00'));

/**
 * A subscription has the form of an order and is none: each of its renewals is an order of its own.
 */
const isSubscription = (document: Fields): boolean =>
  'billing_period' in document && 'billing_interval' in document;

/** The order within a body of the legacy API; null: it is none. */
function legacyOrder(document: unknown): Fields | null {
  const order = isObject(document) && !('id' in document) ? document['order'] : null;
  return isObject(order) && 'line_items' in order ? order : null;
}

/**
 * Statuses of WooCommerce in which an order may be paid now or later; `paid_statuses` says which
 * mean that it is.
 */
const openStatuses = [
  'pending',
  'processing',
  'on-hold',
  'completed',
  'draft',
  'auto-draft',
  'checkout-draft',
];
/** Those in which the customer is not delivered anything more. Plugins add others. */
const closedStatuses = ['cancelled', 'refunded', 'failed', 'trash'];

/** The database of WordPress has the statuses with this prefix, the API without it. */
const withoutPrefix = (status: string): string => status.replace(/^wc-/, '');

/**
 * Whether the state of an order lets it be bought. An order that is paid on delivery is
 * `processing` without a date of payment, so both a paid status and a date are needed. With another
 * way of payment, people or plugins left the date out: nobody knows.
 */
function wooCommerceState(
  status: string,
  paidMs: number | null,
  paidStatuses: readonly string[],
  isPaidLater: boolean,
): ShopOrderState {
  const name = withoutPrefix(status);
  if (closedStatuses.includes(name)) return 'closed';
  const isPaid = paidStatuses.some((paid) => withoutPrefix(paid) === name);
  if (paidMs === null) return isPaid && !isPaidLater ? 'unknown_status' : 'unpaid';
  if (isPaid) return 'paid';
  return openStatuses.includes(name) ? 'on_hold' : 'unknown_status';
}

/** Ways of payment in which the money comes with the goods, or after them. */
const paidLater = /(?:^|[_-])cod(?:$|[_-])|on[_-]?(?:delivery|pickup|collection)|cash/i;

/**
 * How plugins mark a payment that was only tried: WooPayments, PayPal Payments, Mollie, Payment
 * Plugins for Stripe and PayPal; Klarna and those of SkyVerge (Square, Braintree, Authorize.Net)
 * have an environment, and so has AngellEYE's PayPal; Mercado Pago.
 */
const testMarks = [
  {
    name: /^_(?:wcpay_mode|ppcp_paypal_payment_mode|mollie_payment_mode|wc_stripe_mode|(?:wc_\w+|ppcp)_environment|enviorment)$/,
    text: /(?:^|[-_])(?:test|sandbox|dev)/i,
  },
  { name: /^is_production_mode$/, text: /^no$/i },
];

/** How other plugins may mark one: an operator decides. */
const perhapsTest = [
  { name: /(?:mode|env|environment)$/, text: /^(?:test|sandbox|staging)$/i },
  { name: /sandbox|test_?mode|is_?test/, text: /^(?:1|yes|true|on|test)$/i },
  { name: /live_?mode|production/, text: /^(?:0|no|false|off)$/i },
];

const isMarkOf =
  (marks: typeof testMarks) =>
  ([name, text]: readonly [string, string]): boolean =>
    marks.some((mark) => mark.name.test(name) && mark.text.test(text));

/** The address of the order within its shop. */
function selfLink({ _links: links }: Fields): unknown {
  const [link] = (isObject(links) ? listOf(links['self']) : null) ?? [];
  return isObject(link) ? link['href'] : null;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * The refunded quantity of each line, from refunds of the WooCommerce REST API v3, whose lines have
 * negative quantities. Null when it is unclear: one of the order's refunds is missing or cannot be
 * read, or a refund is an amount without a line, which may stand for any line.
 * @param named the refunds that the order itself names
 */
function refundedOf(
  named: unknown,
  refunds: readonly unknown[] | null,
): ReadonlyMap<string, number> | null {
  const quantities = new Map<string, number>();
  const list = listOf(named);
  if (list?.length === 0) return quantities;
  if (refunds === null || list === null) return null;
  const ids = new Set(refunds.map(refundId));
  if (ids.has(null) || list.map(refundId).some((id) => id === null || !ids.has(id))) return null;
  for (const refund of refunds) {
    const items = isObject(refund) ? listOf(refund['line_items']) : null;
    if (!isObject(refund) || items === null) return null;
    if (items.length === 0 && !isOfShippingOrFee(refund)) return null;
    for (const item of items) {
      const refunded = isObject(item) ? refundedLine(item) : null;
      if (refunded === null) return null;
      quantities.set(refunded.lineId, (quantities.get(refunded.lineId) ?? 0) + refunded.quantity);
    }
  }
  return quantities;
}

const refundId = (refund: unknown): string | null => (isObject(refund) ? idOf(refund['id']) : null);

/** Such a refund takes no line away. */
function isOfShippingOrFee(refund: Fields): boolean {
  return (
    (listOf(refund['shipping_lines']) ?? []).length + (listOf(refund['fee_lines']) ?? []).length > 0
  );
}

/** Null when line or quantity cannot be read. */
function refundedLine(item: Fields): { lineId: string; quantity: number } | null {
  const { quantity } = item;
  const isNumber = typeof quantity === 'string' && /^-?\d{1,9}(?:\.\d{1,20})?$/.test(quantity);
  const lineIds = customTexts(item['meta_data'], 'key', '_refunded_item_id').map(idOf);
  // The price of a line was refunded without its quantity: only an operator knows whether the customer
  // keeps it.
  if (!isNumber || Number(quantity) === 0 || lineIds.length !== 1) return null;
  const [lineId = null] = lineIds;
  return lineId === null ? null : { lineId, quantity: Math.abs(Number(quantity)) };
}
