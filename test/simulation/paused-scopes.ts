import { esimLine, plainLine, type RunPlan } from './run-plan.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { Product } from './sim-account.ts';
import type { SimDisk } from './sim-disk.ts';

/** A pause of the outbox. */
export interface PausedScope {
  readonly scope: string;
  readonly reason: string;
  readonly openedBy: string;
}

const minuteMs = 60_000;

/**
 * How long after its cause a pause may last, in ms, if an order of its scope comes: the longest
 * delay until the scope is tried, and what the try takes.
 */
export function mayLastMs({ scope, reason }: PausedScope): number {
  if (scope === 'account' || scope.startsWith('key:')) return 20 * minuteMs;
  // Each try may buy what nobody wants.
  if (reason === 'answer_mismatch' || reason === 'unread_fields') return 270 * minuteMs;
  return scope.startsWith('balance:') ? 30 * minuteMs : 90 * minuteMs;
}

export function pausedScopes(disk: SimDisk): readonly PausedScope[] {
  return disk.connection
    .prepare<[], PausedScope>(
      'SELECT scope, reason, opened_by AS openedBy FROM pauses ORDER BY scope',
    )
    .all();
}

/** Whether every order of this product is accepted when the faults are over. */
function isSound(product: Product | undefined): boolean {
  if (product === undefined || (product.limit ?? 1) < 1) return false;
  const isForEver = (untilMs: number): boolean => untilMs === Number.POSITIVE_INFINITY;
  if (
    product.refusals.some((it) => isForEver(it.untilMs)) ||
    isForEver(product.afterSale?.untilMs ?? 0)
  )
    return false;
  return product.stock === undefined || !isForEver(product.stock.untilMs);
}

/**
 * An order that the API accepts now, to try a paused scope with; null where nobody can tell that it
 * is accepted, or where the scope has a probe.
 */
export function orderToTry(plan: RunPlan, scope: string, number: number): AcceptableLine | null {
  const names = [...plan.account.products.keys()].filter((name) =>
    isSound(plan.account.products.get(name)),
  );
  const isPlan = (name: string): boolean => name.includes('plan');
  const kind = scope.slice(0, scope.indexOf(':'));
  const id = scope.slice(scope.indexOf(':') + 1);
  const product =
    kind === 'variant' || kind === 'plan'
      ? names.find((name) => name === id)
      : kind === 'family'
        ? names.find((name) => isPlan(name) === (id === 'esim'))
        : kind === 'balance'
          ? names[0]
          : undefined;
  const filled = plan.account.depositTo ?? id;
  if (product === undefined || (kind === 'balance' && id !== filled)) return null;
  const currency = kind === 'balance' ? id : (plan.account.depositTo ?? 'USD');
  const line = { ...plainLine, orderId: `try${number}`, currency };
  return isPlan(product) ? { ...line, ...esimLine, plan: product } : { ...line, variant: product };
}
