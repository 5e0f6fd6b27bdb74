import { z } from 'zod';
import { shopId } from '../payload-values.ts';

/** What the worker reads of a refund of the WooCommerce REST API v3. Its lines have negative quantities. */
const refundSchema = z.looseObject({
  id: shopId,
  line_items: z.array(
    z.looseObject({
      quantity: z.string().regex(/^-?\d{1,9}(?:\.\d{1,20})?$/),
      meta_data: z.array(z.looseObject({ key: z.string(), value: z.unknown() })).nullish(),
    }),
  ),
  shipping_lines: z.array(z.unknown()).nullish(),
  fee_lines: z.array(z.unknown()).nullish(),
});
const refundsSchema = z.array(refundSchema);
type Refund = z.infer<typeof refundSchema>;

/**
 * The refunded quantity of each line. Null when it is unclear: one of the order's refunds is missing, or a refund is an
 * amount without a line, which may stand for any line.
 * @param orderRefundIds the refunds that the order itself names
 */
export function refundedQuantities(
  refunds: readonly unknown[],
  orderRefundIds: readonly string[],
): ReadonlyMap<string, number> | null {
  const parsed = refundsSchema.safeParse(refunds);
  if (!parsed.success) return null;
  const ids = new Set(parsed.data.map(({ id }) => id));
  if (orderRefundIds.some((id) => !ids.has(id))) return null;
  const quantities = new Map<string, number>();
  for (const refund of parsed.data) {
    if (refund.line_items.length === 0 && !isOfShippingOrFee(refund)) return null;
    for (const item of refund.line_items) {
      const lineId = refundedLineId(item);
      const quantity = Math.abs(Number(item.quantity));
      // The price of a line was refunded without its quantity: only a person knows whether the customer keeps it.
      if (lineId === null || quantity === 0) return null;
      quantities.set(lineId, (quantities.get(lineId) ?? 0) + quantity);
    }
  }
  return quantities;
}

/** Such a refund takes no line away. */
function isOfShippingOrFee(refund: Refund): boolean {
  return (refund.shipping_lines ?? []).length + (refund.fee_lines ?? []).length > 0;
}

function refundedLineId(item: Refund['line_items'][number]): string | null {
  const parsed = shopId.safeParse(item.meta_data?.find(({ key }) => key === '_refunded_item_id')?.value);
  return parsed.data ?? null;
}
