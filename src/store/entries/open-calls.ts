import { productRefusals } from '../../core/answers/outcome.ts';
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
  /** Refusals in a row, while lookups have not confirmed all of them. They are in no total. */
  readonly refused: number;
}

const selectOpen = statementOf<
  [],
  { variant: string | null; plan: string | null; kind: keyof ProductExposure; count: number }
>(
  `SELECT variant, plan, kind, count(*) + iif(kind = 'refused', (SELECT count(*) FROM scope_evidence
     WHERE scope = coalesce('variant:' || variant, 'plan:' || plan) AND reason = 'product_refused'), 0) AS count FROM (
     SELECT variant, plan, 'unknown' AS kind FROM entries WHERE state = 'unknown' AND outcome_unknown = 1
     UNION ALL SELECT variant, plan, 'refused' FROM entries WHERE state = 'unknown' AND outcome_unknown = 0
       AND error_buffered = 1 AND iccid IS NULL AND outcome_row IN (${productRefusals.map((row) => `'${row}'`).join()})
     UNION ALL SELECT variant, plan, iif(outcome_unknown = 1, 'unknown', 'underWay') FROM entries WHERE state = 'sending')
   GROUP BY variant, plan, kind`,
);

/**
 * The unknown outcomes and the spending calls under way. They are few, by the limit that they are
 * counted for.
 */
export function readExposure(database: Sqlite): Exposure {
  const products = new Map<string, ProductExposure>();
  let total = 0;
  for (const { count, kind, ...purchase } of selectOpen(database).all()) {
    if (kind !== 'refused') total += count;
    const product = productScope(purchase);
    if (product === null) continue;
    const known = products.get(product) ?? { unknown: 0, underWay: 0, refused: 0 };
    products.set(product, { ...known, [kind]: count });
  }
  return { total, products };
}
