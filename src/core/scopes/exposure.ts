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

/** The product of a call that may start. */
export interface CalledProduct {
  /** By its scope; null for a cancel. */
  readonly product: string | null;
  /** Whether its last order was bought. */
  readonly isProven: boolean;
  /** Whether it was bought, and has not failed since. */
  readonly isSound: boolean;
  /** Whether it is not sound, and several products like that failed in a row. */
  readonly isSuspect: boolean;
}

/**
 * Whether a call for a new entry may start: whatever becomes of it and of the calls under way, no more than `mostInAll`
 * outcomes are unknown then.
 */
export function mayStart(exposure: Exposure, call: CalledProduct, mostInAll: number): boolean {
  if (exposure.total >= mostInAll) return false;
  if (call.product === null) return true;
  if (!call.isSound && exposure.unsound >= unsoundLimit(mostInAll, call.isSuspect)) return false;
  const { unknown, underWay } = exposure.products.get(call.product) ?? { unknown: 0, underWay: 0 };
  return unknown < productUnknownLimit(mostInAll) && unknown + underWay < productLimit(mostInAll, call.isProven);
}
