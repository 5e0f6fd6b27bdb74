import { productScope } from '../../core/order/scope.ts';
import { recordPause } from '../../store/entries/pauses.ts';
import { columnOf, inTransaction, statementOf, type Sqlite } from '../../store/sqlite/database.ts';
import { rulesFrom, type EntryRow } from '../../store/sqlite/rows.ts';
import type { CatalogueFacts } from '../../wholesale/catalogue/catalogue-item.ts';
import { whyPriceRose } from './limits.ts';

/*
 * The cost of a unit of each product: as the last answer showed it, by the days of a plan, and as the
 * catalogue shows it. Nothing is ever paid by it.
 */

type Key = [product: string | null, currency: string | null];

const putCost = statementOf<[string, number, string, number], never>(
  `INSERT INTO product_costs (product, days, currency, unit_cost) VALUES (?, ?, ?, ?)
   ON CONFLICT (product, days, currency) DO UPDATE SET unit_cost = excluded.unit_cost`,
);
export const findUnitCost = columnOf<[string | null, number, string | null], number>(
  'SELECT unit_cost FROM product_costs WHERE product = ? AND days = ? AND currency = ?',
);
const findPrice = columnOf<Key, number>(
  'SELECT price FROM catalogue_prices WHERE product = ? AND currency = ?',
);
const putPrice = statementOf<[string, string, number], never>(
  `INSERT INTO catalogue_prices (product, currency, price) VALUES (?, ?, ?)
   ON CONFLICT (product, currency) DO UPDATE SET price = excluded.price`,
);
const scaleCosts = statementOf<[number, string, string], never>(
  'UPDATE product_costs SET unit_cost = unit_cost * ? WHERE product = ? AND currency = ?',
);
const selectBought = columnOf<[], string>(
  `SELECT DISTINCT product FROM product_costs WHERE product NOT IN (SELECT scope FROM pauses) LIMIT 500`,
);

const findLineCurrency = columnOf<[number], string>('SELECT currency FROM lines WHERE id = ?');

type Costed = Pick<EntryRow, 'variant' | 'plan' | 'currency' | 'days'>;

/** The most that a unit may cost, by the order; null: it does not say, or is for another balance. */
export function maxCostOf(
  database: Sqlite,
  { line_id: lineId, rules, currency }: Pick<EntryRow, 'line_id' | 'rules' | 'currency'>,
): number | null {
  const { max_cost: most } = rulesFrom(rules);
  const isOwn = most !== undefined && findLineCurrency(database).get(lineId) === currency;
  return isOwn ? Number(most) : null;
}

/** What a unit will probably cost; null: nobody knows. The catalogue may price a plan by its days. */
export function expectedUnitCost(database: Sqlite, row: Costed): number | null {
  const [product, { days, currency }] = [productScope(row), row];
  const known = findUnitCost(database).get(product, days ?? 0, currency);
  return known ?? (days === null ? findPrice(database).get(product, currency) : null) ?? null;
}

/** By how much a price may rise, in percent, and when it is, in wall ms. */
export interface PriceGuard {
  /** Absent: any. */
  readonly maxRisePercent?: number;
  readonly nowMs: number;
}

/**
 * Remembers the cost that an answer showed. Called inside a transaction. Returns whether the product
 * is paused from now on, because a unit costs more than it may.
 */
export function rememberCost(
  database: Sqlite,
  row: EntryRow,
  cost: string | null | undefined,
  { maxRisePercent = Number.POSITIVE_INFINITY, nowMs }: PriceGuard,
): boolean {
  const [product, { currency, days }] = [productScope(row), row];
  const now = Number(cost) / (row.quantity ?? 1);
  // An order that is read again may be older than the last price.
  const isKnown = !cost || cost === row.cost;
  if (isKnown || product === null || currency === null || !Number.isFinite(now)) return false;
  const before = findUnitCost(database).get(product, days ?? 0, currency) ?? null;
  putCost(database).run(product, days ?? 0, currency, now);
  const most = maxCostOf(database, row);
  const message = whyPriceRose({ before, now, most, currency }, maxRisePercent);
  if (message === null) return false;
  pauseProduct(database, product, message, nowMs);
  return true;
}

// No trial ends it: each of them would cost the new price.
const pauseProduct = (database: Sqlite, scope: string, message: string, nowMs: number): void =>
  recordPause(database, {
    reason: 'price_rose',
    openedBy: 'worker',
    probeAtMs: null,
    scope,
    message,
    nowMs,
  });

/** The products whose prices matter: those that were bought, as far as they are not paused. */
export function readWatched(database: Sqlite): { variants: string[]; plans: string[] } {
  const bought = selectBought(database).all();
  const named = (kind: string) =>
    bought.flatMap((scope) => (scope.startsWith(kind) ? scope.slice(kind.length) : []));
  return { variants: named('variant:'), plans: named('plan:') };
}

/**
 * Remembers the prices that the catalogue shows. A reseller may pay less than those, so a change of
 * one changes the last cost by its share. Returns whether a product is paused from now on.
 */
export function rememberPrices(
  database: Sqlite,
  { products, plans }: Pick<CatalogueFacts, 'products' | 'plans'>,
  { maxRisePercent = Number.POSITIVE_INFINITY, nowMs }: PriceGuard,
): boolean {
  const seen = [...products, ...plans].flatMap((item) => {
    const product = 'variant' in item ? `variant:${item.variant}` : `plan:${item.plan}`;
    return Object.entries(item.prices).flatMap(([currency, price]) => {
      const before = findPrice(database).get(product, currency) ?? null;
      return price === before || price <= 0 ? [] : { product, currency, price, before };
    });
  });
  if (seen.length === 0) return false;
  return inTransaction(database, () => {
    const risen = seen.filter(({ product, currency, price, before }) => {
      putPrice(database).run(product, currency, price);
      if (before === null) return false;
      scaleCosts(database).run(price / before, product, currency);
      const prices = { before, now: price, most: null, currency };
      const message = whyPriceRose(prices, maxRisePercent);
      if (message !== null) pauseProduct(database, product, `in the catalogue ${message}`, nowMs);
      return message !== null;
    });
    return risen.length > 0;
  });
}
