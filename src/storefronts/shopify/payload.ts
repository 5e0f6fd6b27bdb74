import { z } from 'zod';
import { shopId, shopTime } from '../payload-values.ts';
import { notAnOrder, type OrderReading, type ShopOrder, type ShopOrderLine } from '../shop-order.ts';

const quantity = z.string().regex(/^\d{1,9}$/);

/** What the worker reads of an order of the Shopify REST Admin API. Its webhooks deliver the same form. */
const orderSchema = z.looseObject({
  id: shopId,
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
      id: shopId,
      sku: z.string().nullish(),
      quantity,
      /** After items were removed; since API version 2024-01. */
      current_quantity: quantity.nullish(),
      properties: z.array(z.looseObject({ name: z.string(), value: z.unknown() })).nullish(),
    }),
  ),
  refunds: z
    .array(z.looseObject({ refund_line_items: z.array(z.looseObject({ line_item_id: shopId, quantity })).nullish() }))
    .nullish(),
});
type Order = z.infer<typeof orderSchema>;

/** Of a partially refunded order, the rest is paid. */
const paidStatuses = new Set(['paid', 'partially_refunded']);
const closedStatuses = new Set(['refunded', 'voided']);

/**
 * Reads an order of Shopify. Only the body is signed, so `isTest`, which comes from a header, may turn an order into a
 * test order, and no header does the opposite.
 */
export function readShopifyOrder(
  document: unknown,
  shop: { readonly iccidField: string },
  isTest: boolean,
): OrderReading {
  const parsed = orderSchema.safeParse(document);
  if (!parsed.success) return notAnOrder(document, ['financial_status']);
  const order = parsed.data;
  const state = stateOf(order, isTest);
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
      // An amount that is refunded without a line, for example for shipping, takes no line away.
      refundUnclear: false,
      lines: order.line_items.map((item) =>
        readLine(item, state === 'closed' ? Number(item.quantity) : (refunded.get(item.id) ?? 0), shop.iccidField),
      ),
    },
  };
}

function stateOf(order: Order, isTest: boolean): ShopOrder['state'] {
  if (order.test === true || isTest) return 'test';
  const status = order.financial_status ?? '';
  if ((order.cancelled_at ?? null) !== null || closedStatuses.has(status)) return 'closed';
  return paidStatuses.has(status) ? 'paid' : 'unpaid';
}

function readLine(item: Order['line_items'][number], refunded: number, iccidField: string): ShopOrderLine {
  const iccid = item.properties?.find(({ name }) => name.toLowerCase() === iccidField.toLowerCase())?.value;
  return {
    lineId: item.id,
    sku: item.sku ?? '',
    // An edit lowers only the current quantity, a refund both; old API versions show no current quantity.
    remaining: Math.max(0, Math.min(Number(item.quantity) - refunded, Number(item.current_quantity ?? item.quantity))),
    iccid: typeof iccid === 'string' ? iccid.trim() : null,
  };
}
