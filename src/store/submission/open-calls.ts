import type { Exposure, ProductExposure } from '../../core/scopes/exposure.ts';
import { productScope } from '../../core/scopes/scope.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

const selectOpen = statementOf<[], { variant: string | null; plan: string | null; unknown: 0 | 1; count: number }>(
  `SELECT variant, plan, unknown, count(*) AS count FROM (
     SELECT variant, plan, 1 AS unknown FROM entries WHERE state = 'unknown' AND outcome_unknown = 1
     UNION ALL SELECT variant, plan, outcome_unknown AS unknown FROM entries WHERE state = 'sending')
   GROUP BY variant, plan, unknown`,
);

/**
 * The unknown outcomes and the spending calls under way. They are few, by the limit that they are counted for.
 * @param isSound whether a product was bought and has not failed since
 */
export function readExposure(database: Sqlite, isSound: (product: string) => boolean = () => true): Exposure {
  const products = new Map<string, ProductExposure>();
  let total = 0;
  let unsound = 0;
  for (const { count, unknown, ...purchase } of selectOpen(database).all()) {
    total += count;
    const product = productScope(purchase);
    if (product === null) continue;
    if (!isSound(product)) unsound += count;
    const known = products.get(product) ?? { unknown: 0, underWay: 0 };
    const field = unknown === 1 ? 'unknown' : 'underWay';
    products.set(product, { ...known, [field]: known[field] + count });
  }
  return { total, unsound, products };
}
