import { z } from 'zod';

/** A refund of the WooCommerce REST API v3; only what we read. Its lines have negative quantities. */
const refundSchema = z.looseObject({
  id: z.string().regex(/^\d{1,20}$/),
  line_items: z.array(
    z.looseObject({
      quantity: z.string().regex(/^-?\d{1,9}(?:\.\d{1,20})?$/),
      meta_data: z.array(z.looseObject({ key: z.string(), value: z.unknown() })).nullish(),
    }),
  ),
  shipping_lines: z.array(z.unknown()).nullish(),
  fee_lines: z.array(z.unknown()).nullish(),
});
type Refund = z.infer<typeof refundSchema>;

/**
 * How many pieces of each line were refunded. Null when that cannot be told: a refund that the order shows is missing,
 * or one is an amount alone, which may stand for any line.
 */
export function refundedPieces(
  refunds: readonly unknown[],
  shownIds: readonly string[],
): ReadonlyMap<string, number> | null {
  const read: Refund[] = [];
  for (const refund of refunds) {
    const parsed = refundSchema.safeParse(refund);
    if (!parsed.success) return null;
    read.push(parsed.data);
  }
  const ids = new Set(read.map(({ id }) => id));
  if (shownIds.some((id) => !ids.has(id))) return null;
  const pieces = new Map<string, number>();
  for (const refund of read) {
    if (refund.line_items.length === 0 && !isOfOtherThings(refund)) return null;
    for (const item of refund.line_items) {
      const lineId = refundedLine(item);
      const quantity = Math.abs(Number(item.quantity));
      // Money of a line without a piece of it: the customer keeps it, or not; a person knows.
      if (lineId === null || quantity === 0) return null;
      pieces.set(lineId, (pieces.get(lineId) ?? 0) + quantity);
    }
  }
  return pieces;
}

/** Of the shipping or of a fee, which take no line away. */
function isOfOtherThings(refund: Refund): boolean {
  return (refund.shipping_lines ?? []).length + (refund.fee_lines ?? []).length > 0;
}

function refundedLine(item: Refund['line_items'][number]): string | null {
  const value = item.meta_data?.find(({ key }) => key === '_refunded_item_id')?.value;
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? value : null;
}
