import { evidenceRules } from '../breakers/evidence.ts';
import type { ProductStates } from '../breakers/products.ts';
import type { Exposure } from '../../store/entries/open-calls.ts';

/**
 * A product with so many unknown outcomes gets no further call until one of them is known: two, and
 * never all that are allowed, because then it would stop the others.
 */
export function productUnknownLimit(mostInAll: number): number {
  return Math.max(1, Math.min(2, mostInAll - 1));
}

const noneOpen = { unknown: 0, underWay: 0, refused: 0 };

/**
 * Whether a call for a new entry of a product, by its scope, may start: whatever becomes of it and
 * of the calls under way, no more than `mostInAll` outcomes are unknown then. A cancel has no
 * product. Products that fail may start while they and those that were never bought have less than
 * half of the limit, and new products while they have a quarter and both have three quarters. So
 * neither stops the other, and both never stop a proven one.
 */
export function mayStart(
  { total, products: open }: Exposure,
  product: string | null,
  products: ProductStates,
  mostInAll: number,
): boolean {
  if (total >= mostInAll) return false;
  if (product === null) return true;
  const isSound = (it: string): boolean => products.isProven(it) && !products.isFailing(it);
  const { unknown, underWay, refused } = open.get(product) ?? noneOpen;
  const limit = productUnknownLimit(mostInAll);
  if (unknown >= limit) return false;
  // So many refusals pause the product when lookups confirm them, seconds later.
  if (refused >= evidenceRules.product_refused.entries) return false;
  // A proven product may fail with all its calls under way one day: it leaves a quarter of the
  // places to the others.
  if (isSound(product))
    return (
      unknown + underWay < Math.max(limit, Math.min(mostInAll - 1, Math.ceil((mostInAll * 3) / 4)))
    );
  // Another one has a single call, whose end says more than two calls at once.
  if (unknown + underWay > 0) return false;
  let [ofNew, unproven] = [0, 0];
  for (const [other, counts] of open) {
    if (isSound(other)) continue;
    unproven += counts.unknown + counts.underWay;
    if (!products.isFailing(other)) ofNew += counts.unknown + counts.underWay;
  }
  const [half, quarter] = [
    Math.max(1, Math.floor(mostInAll / 2)),
    Math.max(1, Math.floor(mostInAll / 4)),
  ];
  if (products.isFailing(product)) return unproven < half;
  return ofNew < quarter && unproven < Math.max(1, Math.min(mostInAll - 1, half + quarter));
}
