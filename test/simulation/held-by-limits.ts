import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { RunPlan } from './run-plan.ts';
import { dearestCents, type Product } from './sim-account.ts';

/** What a line costs at most, in hundredths. */
export function costOfLine(line: AcceptableLine, products: ReadonlyMap<string, Product>): number {
  const product = products.get(line.variant ?? line.plan ?? '');
  if (product === undefined) return 0;
  return dearestCents(product) * (line.quantity ?? 1) * (line.days ?? 1);
}

/** How long the limits on spending may hold what is to be bought, in ms. */
export function heldByLimitsMs({ settings, batches, account }: RunPlan): number {
  const all = batches
    .flatMap(({ lines }) => lines)
    .reduce((sum, line) => sum + costOfLine(line, account.products), 0);
  const windows = (settings.spending?.limits ?? []).map(
    ({ amount, per }) =>
      (Math.ceil((all * 10_000) / amount.millionths) + 1) *
      2 *
      (per === 'hour' ? 3_600_000 : 86_400_000),
  );
  return Math.max(0, ...windows);
}
