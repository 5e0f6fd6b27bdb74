import type { AcceptableLine } from '../../core/order/order-request.ts';
import { rulesOfLine } from '../../core/order/sku.ts';
import type { SkuMap } from '../../core/order/sku-map.ts';

/** A SKU map that follows the changes of its file. */
export interface SkuSource {
  current(): Promise<SkuMap>;
  /** Why the newest version of the file is not in use; null when it is. */
  readonly problem: string | null;
}

/** Null without a path. Throws CONFIG_INVALID when the file cannot be used. */
export type OpenSkuMap = (path: string | null) => SkuSource | null;

/**
 * Adds the rules and deadline of its SKU; those of the order count first. `wait_h` counts from
 * `nowMs`, a wall time.
 */
export function withSkuRules<Line extends AcceptableLine>(
  line: Line,
  skus: SkuMap | null,
  nowMs: number,
): Line {
  const sku = skus?.get(line.extra['sku'] ?? '');
  // A line in the worker's own format may carry the SKU of another thing.
  if (sku?.type !== line.operation) return line;
  if (('variant' in sku ? sku.variant : sku.plan) !== (line.variant ?? line.plan)) return line;
  const { rules, notAfterMs } = rulesOfLine(sku, {}, nowMs);
  return { ...line, rules: { ...rules, ...line.rules }, notAfterMs: line.notAfterMs ?? notAfterMs };
}
