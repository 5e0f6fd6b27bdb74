import type { AcceptableLine } from '../../core/order/order-request.ts';
import { productOfSku, rulesOfLine, type Sku, type SkuMap } from '../../core/order/sku.ts';

/** A SKU map that follows the changes of its file. */
export interface SkuSource {
  current(): SkuMap;
  /** Why the newest version of the file is not in use; null when it is. */
  readonly problem: string | null;
}

/** Throws CONFIG_INVALID when the file cannot be used. */
export type OpenSkuMap = (path: string) => SkuSource;

/** The purchase of a line with a SKU, as fields of a line in the worker's format; or the rule that its quantity breaks. */
type SkuLine =
  | { readonly fields: Readonly<Record<string, unknown>> }
  | { readonly field: 'quantity'; readonly code: string; readonly rule: string };

/**
 * Adds what the SKU map says. One item in the cart may stand for several units; a top-up is for one eSIM, once.
 * @param line its ICCID, and its quantity as a number, or as what stands there instead
 */
export function withSku(named: string, sku: Sku, line: { iccid?: unknown; quantity: unknown }): SkuLine {
  const { iccid, quantity } = line;
  const extra = { sku: named, shop_quantity: String(quantity) };
  const bought = productOfSku(sku);
  if (bought.type !== 'esim_topup') {
    const { quantity: perItem, ...product } = bought;
    const units = typeof quantity === 'number' ? quantity * perItem : quantity;
    return { fields: { ...product, quantity: units, extra } };
  }
  if (quantity !== 1) {
    const rule = 'must be 1 for a top-up: a person must decide about several top-ups of one eSIM';
    return { field: 'quantity', code: 'repeated_topup', rule };
  }
  return { fields: { ...bought, iccid, extra } };
}

/**
 * Adds the rules and the deadline of its SKU to a line. Values of the order itself count first.
 * @param nowMs when the line came in, by the wall clock, in ms: its `wait_h` counts from then
 */
export function withSkuRules<Line extends AcceptableLine>(line: Line, skus: SkuMap | null, nowMs: number): Line {
  const sku = skus?.get(line.extra['sku'] ?? '');
  // A line in the worker's own format may carry the SKU of another thing.
  if (sku?.type !== line.operation) return line;
  if (('variant' in sku ? sku.variant : sku.plan) !== (line.variant ?? line.plan)) return line;
  const { rules, notAfterMs } = rulesOfLine(sku, {}, nowMs);
  return { ...line, rules: { ...rules, ...line.rules }, notAfterMs: line.notAfterMs ?? notAfterMs };
}
