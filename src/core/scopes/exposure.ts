import type { ProductRecord } from './judge-call.ts';

/** Entries that may have been bought, or may be bought by a call under way, without anybody knowing it yet. */
export interface Exposure {
  /** In all: unknown outcomes, and spending calls under way. */
  readonly total: number;
  /** Of these, those of products that were never bought, or that failed since. */
  readonly unsound: number;
  /** By product scope. */
  readonly products: ReadonlyMap<string, ProductExposure>;
}

export interface ProductExposure {
  readonly unknown: number;
  /** Calls under way of entries whose outcome was known. */
  readonly underWay: number;
}

/**
 * A product with so many unknown outcomes gets no further call until one of them is known: two, and never all that are
 * allowed, because then it would stop the others.
 */
export function productUnknownLimit(mostInAll: number): number {
  return Math.max(1, Math.min(2, mostInAll - 1));
}

/** How many unknown outcomes and calls under way a product may have in all. */
function productLimit(mostInAll: number, isProven: boolean): number {
  const unproven = productUnknownLimit(mostInAll);
  // A product that has failed, or was never bought, may fail with all its calls under way. A proven one may, too, one day:
  // it leaves a quarter of the places to the others.
  return isProven ? Math.max(unproven, Math.min(mostInAll - 1, Math.ceil((mostInAll * 3) / 4))) : unproven;
}

/**
 * Products that were never bought, or that failed since, may have one cause. Together they take 50 % of what is allowed, so
 * that they never stop the others; one at a time, where several of them failed in a row.
 */
export function unsoundLimit(mostInAll: number, isSuspect: boolean): number {
  return isSuspect ? 1 : Math.max(1, Math.floor(mostInAll / 2));
}

/**
 * Whether a call for a new entry of a product, by its scope, may start: whatever becomes of it and of the calls under way, no
 * more than `mostInAll` outcomes are unknown then. A cancel has no product.
 */
export function mayStart(
  exposure: Exposure,
  product: string | null,
  products: Pick<ProductRecord, 'isProven' | 'isSound' | 'isSuspect'>,
  mostInAll: number,
): boolean {
  if (exposure.total >= mostInAll) return false;
  if (product === null) return true;
  if (!products.isSound(product) && exposure.unsound >= unsoundLimit(mostInAll, products.isSuspect(product)))
    return false;
  const { unknown, underWay } = exposure.products.get(product) ?? { unknown: 0, underWay: 0 };
  const limit = productLimit(mostInAll, products.isProven(product));
  return unknown < productUnknownLimit(mostInAll) && unknown + underWay < limit;
}
