import { z } from 'zod';
import { type Delivery, type DeliveredLine, storefrontTime } from './storefront-order.ts';

const id = z.string().regex(/^\d{1,20}$/);
const time = z.string().nullish();

/** An order of the WooCommerce REST API v3, as its webhooks deliver it; only what we read. */
const orderSchema = z.looseObject({
  id,
  number: z.string().nullish(),
  status: z.string(),
  currency: z.string(),
  date_paid: time,
  date_paid_gmt: time,
  date_modified: time,
  date_modified_gmt: time,
  line_items: z.array(
    z.looseObject({
      id,
      sku: z.string().nullish(),
      quantity: z.string().regex(/^\d{1,9}$/),
      meta_data: z.array(z.looseObject({ key: z.string(), value: z.unknown() })).nullish(),
    }),
  ),
  refunds: z.array(z.looseObject({ id })).nullish(),
});
type Order = z.infer<typeof orderSchema>;

/** Statuses of WooCommerce after which nothing is delivered to the customer any more. */
const closedStatuses = new Set(['cancelled', 'refunded', 'failed', 'trash']);

/**
 * The order of a WooCommerce delivery. Topic and delivery id are not looked at: they are not signed, and the id repeats
 * for different orders within a second. Paid is what has a paid status and a date of payment: an order that is paid on
 * delivery is `processing` without one.
 */
export function readWooOrder(value: unknown, paidStatuses: readonly string[], iccidField: string): Delivery {
  const parsed = orderSchema.safeParse(value);
  if (!parsed.success) return { kind: 'other' };
  const order = parsed.data;
  const paidMs = storefrontTime(order.date_paid_gmt) ?? storefrontTime(order.date_paid);
  const isPaid = paidStatuses.includes(order.status) && paidMs !== null;
  const state = closedStatuses.has(order.status) ? 'closed' : isPaid ? 'paid' : 'unpaid';
  return {
    kind: 'order',
    order: {
      orderId: order.id,
      number: order.number ?? null,
      currency: order.currency,
      modifiedMs: storefrontTime(order.date_modified_gmt) ?? storefrontTime(order.date_modified) ?? 0,
      paidMs,
      state,
      // Quantities are not reduced by a refund, and which lines it was for stands in another document.
      refundUnclear: state !== 'closed' && (order.refunds ?? []).length > 0,
      lines: order.line_items.map((item) => lineOf(item, state === 'closed', iccidField)),
    },
  };
}

function lineOf(item: Order['line_items'][number], isClosed: boolean, iccidField: string): DeliveredLine {
  const iccid = item.meta_data?.find(({ key }) => key.toLowerCase() === iccidField.toLowerCase())?.value;
  return {
    lineId: item.id,
    sku: item.sku ?? '',
    remaining: isClosed ? 0 : Number(item.quantity),
    iccid: typeof iccid === 'string' ? iccid.trim() : null,
  };
}
