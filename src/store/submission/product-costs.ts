import type { Purchase } from '../../core/order/purchase.ts';
import { productScope } from '../../core/scopes/scope.ts';
import type { Sqlite } from '../sqlite/database.ts';

type Costly = Pick<Purchase, 'variant' | 'plan' | 'quantity' | 'currency'>;

/** What a unit of each product cost last, to choose the cheapest order as a trial. Never used to pay anything. */
export class ProductCosts {
  readonly #remember;
  readonly #find;

  constructor(database: Sqlite) {
    this.#remember = database.prepare<{ product: string; currency: string; unitCost: number }>(
      `INSERT INTO product_costs (product, currency, unit_cost) VALUES (:product, :currency, :unitCost)
       ON CONFLICT (product, currency) DO UPDATE SET unit_cost = excluded.unit_cost`,
    );
    this.#find = database
      .prepare<[string, string], number>('SELECT unit_cost FROM product_costs WHERE product = ? AND currency = ?')
      .pluck();
  }

  /** Called inside a transaction. */
  remember(purchase: Costly, cost: string): void {
    const product = productScope(purchase);
    const unitCost = Number(cost) / (purchase.quantity ?? 1);
    if (product === null || purchase.currency === null || !Number.isFinite(unitCost)) return;
    this.#remember.run({ product, currency: purchase.currency, unitCost });
  }

  /** What an order of this purchase cost last time; Infinity where that is not known. */
  of(purchase: Costly): number {
    const product = productScope(purchase);
    const unitCost =
      product === null || purchase.currency === null ? undefined : this.#find.get(product, purchase.currency);
    return unitCost === undefined ? Number.POSITIVE_INFINITY : unitCost * (purchase.quantity ?? 1);
  }
}
