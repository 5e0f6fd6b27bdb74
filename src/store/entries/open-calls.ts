import { productScope } from '../../core/order/scope.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

/**
 * Entries that may have been bought, or may be bought by a call under way, without anybody knowing
 * it yet.
 */
export interface Exposure {
  /** In all: unknown outcomes, and spending calls under way. */
  readonly total: number;
  /** By product scope. */
  readonly products: ReadonlyMap<string, ProductExposure>;
}

export interface ProductExposure {
  readonly unknown: number;
  /** Calls under way of entries whose outcome was known. */
  readonly underWay: number;
}

const selectOpen = statementOf<
  [],
  { variant: string | null; plan: string | null; unknown: 0 | 1; count: number }
>(
  `SELECT variant, plan, unknown, count(*) AS count FROM (
     SELECT variant, plan, 1 AS unknown FROM entries WHERE state = 'unknown' AND outcome_unknown = 1
     UNION ALL SELECT variant, plan, outcome_unknown AS unknown FROM entries WHERE state = 'sending')
   GROUP BY variant, plan, unknown`,
);

/**
 * The unknown outcomes and the spending calls under way. They are few, by the limit that they are
 * counted for.
 */
export function readExposure(database: Sqlite): Exposure {
  const products = new Map<string, ProductExposure>();
  let total = 0;
  for (const { count, unknown, ...purchase } of selectOpen(database).all()) {
    total += count;
    const product = productScope(purchase);
    if (product === null) continue;
    const known = products.get(product) ?? { unknown: 0, underWay: 0 };
    const field = unknown === 1 ? 'unknown' : 'underWay';
    products.set(product, { ...known, [field]: known[field] + count });
  }
  return { total, products };
}
