import { customTexts, type Fields, idOf, isObject, listOf } from '../payload-values.ts';

/**
 * The refunded quantity of each line, from refunds of the WooCommerce REST API v3, whose lines have negative quantities.
 * Null when it is unclear: one of the order's refunds is missing or cannot be read, or a refund is an amount without a
 * line, which may stand for any line.
 * @param orderRefundIds the refunds that the order itself names
 */
export function refundedQuantities(
  refunds: readonly unknown[],
  orderRefundIds: readonly string[],
): ReadonlyMap<string, number> | null {
  const ids = new Set(refunds.map((refund) => (isObject(refund) ? idOf(refund['id']) : null)));
  if (ids.has(null) || orderRefundIds.some((id) => !ids.has(id))) return null;
  const quantities = new Map<string, number>();
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

/** Such a refund takes no line away. */
function isOfShippingOrFee(refund: Fields): boolean {
  return (listOf(refund['shipping_lines']) ?? []).length + (listOf(refund['fee_lines']) ?? []).length > 0;
}

/** Null when line or quantity cannot be read. */
function refundedLine(item: Fields): { lineId: string; quantity: number } | null {
  const { quantity } = item;
  const isNumber = typeof quantity === 'string' && /^-?\d{1,9}(?:\.\d{1,20})?$/.test(quantity);
  const lineIds = customTexts(item['meta_data'], 'key', '_refunded_item_id').map(idOf);
  // The price of a line was refunded without its quantity: only a person knows whether the customer keeps it.
  if (!isNumber || Number(quantity) === 0 || lineIds.length !== 1) return null;
  const [lineId = null] = lineIds;
  return lineId === null ? null : { lineId, quantity: Math.abs(Number(quantity)) };
}
