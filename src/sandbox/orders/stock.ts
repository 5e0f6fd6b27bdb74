import type { Database } from '../database.ts';
import type { Catalogue, Plan, Product } from './catalogue.ts';

/** The stock that the catalogue answer shows for a product that never runs out. */
const unlimitedStock = 100_000;

/** How many of each product are left, and which plans are on sale. */
export class Stock {
  readonly #database: Database;
  readonly #available;
  readonly #take;
  readonly #saleOverride;

  constructor(database: Database) {
    this.#database = database;
    this.#available = database.prepare<[string], number>('SELECT available FROM stock WHERE variant = ?').pluck();
    this.#take = database.prepare('UPDATE stock SET available = available - ? WHERE variant = ? AND available >= ?');
    this.#saleOverride = database
      .prepare<[string], number>('SELECT on_sale FROM sale_overrides WHERE plan = ?')
      .pluck();
  }

  /** Stores the stock that the catalogue lists. A number that was edited since the last time replaces what is left. */
  seed(catalogue: Catalogue): void {
    const upsert = this.#database.prepare(
      `INSERT INTO stock VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET listed = excluded.listed,
         available = CASE WHEN listed = excluded.listed THEN available ELSE excluded.available END`,
    );
    for (const product of catalogue.products.values()) {
      if (product.stock !== undefined) upsert.run(product.variant, product.stock, product.stock);
    }
  }

  available(product: Product): number {
    return this.#available.get(product.variant) ?? unlimitedStock;
  }

  /** The caller has checked in the same transaction that there is enough. */
  take(product: Product, quantity: number): void {
    this.#take.run(quantity, product.variant, quantity);
  }

  set(variant: string, available: number): void {
    this.#database
      .prepare('INSERT INTO stock VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET available = excluded.available')
      .run(variant, available, available);
  }

  isOnSale(plan: Plan): boolean {
    const override = this.#saleOverride.get(plan.plan);
    return override === undefined ? plan.on_sale : override === 1;
  }

  setOnSale(plan: string, onSale: boolean): void {
    this.#database
      .prepare('INSERT INTO sale_overrides VALUES (?, ?) ON CONFLICT DO UPDATE SET on_sale = excluded.on_sale')
      .run(plan, Number(onSale));
  }
}
