import { z } from 'zod';
import { shopTime } from '../payload-values.ts';
import type { Delivery, DeliveredLine, DeliveredOrder } from '../shop-order.ts';

const id = z.string().regex(/^\d{1,20}$/);
const quantity = z.string().regex(/^\d{1,9}$/);

/** An order of the Shopify REST Admin API, as its webhooks deliver it; only what we read. */
const orderSchema = z.looseObject({
  id,
  name: z.string().nullish(),
  currency: z.string(),
  financial_status: z.string().nullish(),
  cancelled_at: z.string().nullish(),
  test: z.boolean().nullish(),
  created_at: z.string().nullish(),
  processed_at: z.string().nullish(),
  updated_at: z.string().nullish(),
  line_items: z.array(
    z.looseObject({
      id,
      sku: z.string().nullish(),
      quantity,
      /** After removals; since 2024-01. */
      current_quantity: quantity.nullish(),
      properties: z.array(z.looseObject({ name: z.string(), value: z.unknown() })).nullish(),
    }),
  ),
  refunds: z
    .array(z.looseObject({ refund_line_items: z.array(z.looseObject({ line_item_id: id, quantity })).nullish() }))
    .nullish(),
});
type Order = z.infer<typeof orderSchema>;

/** An order that was refunded in part is paid for what is left of it. */
const paidStatuses = new Set(['paid', 'partially_refunded']);
const closedStatuses = new Set(['refunded', 'voided']);

/**
 * The order of a Shopify delivery. Only the body is signed: the header that marks a test can make us more careful,
 * never less, and no other header is looked at.
 */
export function readShopifyOrder(value: unknown, testHeader: boolean, iccidField: string): Delivery {
  const parsed = orderSchema.safeParse(value);
  if (!parsed.success) return { kind: 'other' };
  const order = parsed.data;
  const state = stateOf(order, testHeader);
  const refunded = new Map<string, number>();
  for (const item of order.refunds?.flatMap((refund) => refund.refund_line_items ?? []) ?? []) {
    refunded.set(item.line_item_id, (refunded.get(item.line_item_id) ?? 0) + Number(item.quantity));
  }
  return {
    kind: 'order',
    order: {
      orderId: order.id,
      number: order.name ?? null,
      currency: order.currency,
      modifiedMs: shopTime(order.updated_at) ?? 0,
      paidMs: shopTime(order.processed_at) ?? shopTime(order.created_at),
      state,
      // An amount that was refunded without a line, for example for the shipping, takes no line away.
      refundUnclear: false,
      lines: order.line_items.map((item) =>
        lineOf(item, state === 'closed' ? Number(item.quantity) : (refunded.get(item.id) ?? 0), iccidField),
      ),
    },
  };
}

function stateOf(order: Order, testHeader: boolean): DeliveredOrder['state'] {
  if (order.test === true || testHeader) return 'test';
  const status = order.financial_status ?? '';
  if ((order.cancelled_at ?? null) !== null || closedStatuses.has(status)) return 'closed';
  return paidStatuses.has(status) ? 'paid' : 'unpaid';
}

function lineOf(item: Order['line_items'][number], refunded: number, iccidField: string): DeliveredLine {
  const iccid = item.properties?.find(({ name }) => name.toLowerCase() === iccidField.toLowerCase())?.value;
  return {
    lineId: item.id,
    sku: item.sku ?? '',
    // An edit of the order shows in the one, a refund in both, and in old versions there is only the other.
    remaining: Math.max(0, Math.min(Number(item.quantity) - refunded, Number(item.current_quantity ?? item.quantity))),
    iccid: typeof iccid === 'string' ? iccid.trim() : null,
  };
}
