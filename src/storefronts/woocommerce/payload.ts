import { z } from 'zod';
import { shopId, shopTime } from '../payload-values.ts';
import { notAnOrder, type OrderReading, type ShopOrderLine } from '../shop-order.ts';
import { refundedQuantities } from './refunds.ts';
import type { WooCommerceShop } from './settings.ts';

const time = z.string().nullish();

/** What the worker reads of an order of the WooCommerce REST API v3. Its webhooks deliver the same form. */
const orderSchema = z.looseObject({
  id: shopId,
  number: z.string().nullish(),
  status: z.string(),
  currency: z.string(),
  date_paid: time,
  date_paid_gmt: time,
  date_modified: time,
  date_modified_gmt: time,
  line_items: z.array(
    z.looseObject({
      id: shopId,
      sku: z.string().nullish(),
      /** Has a fraction where a shop sells by weight. */
      quantity: z.string().regex(/^\d{1,9}(?:\.\d{1,20})?$/),
      meta_data: z.array(z.looseObject({ key: z.string(), value: z.unknown() })).nullish(),
    }),
  ),
  refunds: z.array(z.looseObject({ id: shopId })).nullish(),
});
type Order = z.infer<typeof orderSchema>;

/** Statuses after which the customer is not delivered anything more. */
const closedStatuses = new Set(['cancelled', 'refunded', 'failed', 'trash']);

const nothingRefunded: ReadonlyMap<string, number> = new Map();

/**
 * Reads an order of WooCommerce from its body alone. Topic and delivery id are not signed, and the id repeats for
 * different orders within a second. An order that is paid on delivery is `processing` without a date of payment, so both
 * a paid status and a date are needed.
 * @param refunds the refunds of the order as the API shows them, because the order does not say which lines they are
 *   for; null: they were not read
 */
export function readWooCommerceOrder(
  document: unknown,
  shop: Pick<WooCommerceShop, 'paidStatuses' | 'iccidField'>,
  refunds: readonly unknown[] | null,
): OrderReading {
  const parsed = orderSchema.safeParse(document);
  if (!parsed.success) return notAnOrder(document, ['date_paid', 'date_paid_gmt']);
  const order = parsed.data;
  const paidMs = shopTime(order.date_paid_gmt) ?? shopTime(order.date_paid);
  const isPaid = shop.paidStatuses.includes(order.status) && paidMs !== null;
  const state = closedStatuses.has(order.status) ? 'closed' : isPaid ? 'paid' : 'unpaid';
  const refundIds = (order.refunds ?? []).map((refund) => refund.id);
  const refunded =
    refundIds.length === 0 ? nothingRefunded : refunds === null ? null : refundedQuantities(refunds, refundIds);
  return {
    kind: 'order',
    order: {
      orderId: order.id,
      number: order.number ?? null,
      currency: order.currency,
      modifiedMs: shopTime(order.date_modified_gmt) ?? shopTime(order.date_modified) ?? 0,
      paidMs,
      state,
      // A refund does not lower the quantities of the order, and only the refund names its lines.
      refundUnclear: state !== 'closed' && refunded === null,
      lines: order.line_items.map((item) => {
        const quantity = state === 'closed' ? Number(item.quantity) : (refunded?.get(item.id) ?? 0);
        return readLine(item, quantity, shop.iccidField);
      }),
    },
  };
}

function readLine(item: Order['line_items'][number], refunded: number, iccidField: string): ShopOrderLine {
  const iccid = item.meta_data?.find(({ key }) => key.toLowerCase() === iccidField.toLowerCase())?.value;
  return {
    lineId: item.id,
    sku: item.sku ?? '',
    remaining: Math.max(0, Number(item.quantity) - refunded),
    iccid: typeof iccid === 'string' ? iccid.trim() : null,
  };
}
