import { z } from 'zod';
import { shopTime } from '../payload-values.ts';
import type { Delivery, DeliveredLine } from '../shop-order.ts';
import { refundedPieces } from './refunds.ts';

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
      /** With a fraction where a shop also sells by weight. */
      quantity: z.string().regex(/^\d{1,9}(?:\.\d{1,20})?$/),
      meta_data: z.array(z.looseObject({ key: z.string(), value: z.unknown() })).nullish(),
    }),
  ),
  refunds: z.array(z.looseObject({ id })).nullish(),
});
type Order = z.infer<typeof orderSchema>;

/** Statuses of WooCommerce after which nothing is delivered to the customer any more. */
const closedStatuses = new Set(['cancelled', 'refunded', 'failed', 'trash']);

const noPieces: ReadonlyMap<string, number> = new Map();

/**
 * The order of a WooCommerce delivery. Topic and delivery id are not looked at: they are not signed, and the id repeats
 * for different orders within a second. Paid is what has a paid status and a date of payment: an order that is paid on
 * delivery is `processing` without one.
 * @param refunds the order's refunds as the shop's API shows them, because the order itself does not say of which lines
 *   they are; null: they were not read
 */
export function readWooOrder(
  value: unknown,
  paidStatuses: readonly string[],
  iccidField: string,
  refunds: readonly unknown[] | null = null,
): Delivery {
  const parsed = orderSchema.safeParse(value);
  if (!parsed.success) return { kind: 'other' };
  const order = parsed.data;
  const paidMs = shopTime(order.date_paid_gmt) ?? shopTime(order.date_paid);
  const isPaid = paidStatuses.includes(order.status) && paidMs !== null;
  const state = closedStatuses.has(order.status) ? 'closed' : isPaid ? 'paid' : 'unpaid';
  const shown = (order.refunds ?? []).map((refund) => refund.id);
  const refunded = shown.length === 0 ? noPieces : refunds === null ? null : refundedPieces(refunds, shown);
  return {
    kind: 'order',
    order: {
      orderId: order.id,
      number: order.number ?? null,
      currency: order.currency,
      modifiedMs: shopTime(order.date_modified_gmt) ?? shopTime(order.date_modified) ?? 0,
      paidMs,
      state,
      // Quantities are not reduced by a refund, and which lines it was for stands in another document.
      refundUnclear: state !== 'closed' && refunded === null,
      lines: order.line_items.map((item) => {
        const gone = state === 'closed' ? Number(item.quantity) : (refunded?.get(item.id) ?? 0);
        return lineOf(item, gone, iccidField);
      }),
    },
  };
}

function lineOf(item: Order['line_items'][number], refunded: number, iccidField: string): DeliveredLine {
  const iccid = item.meta_data?.find(({ key }) => key.toLowerCase() === iccidField.toLowerCase())?.value;
  return {
    lineId: item.id,
    sku: item.sku ?? '',
    remaining: Math.max(0, Number(item.quantity) - refunded),
    iccid: typeof iccid === 'string' ? iccid.trim() : null,
  };
}
