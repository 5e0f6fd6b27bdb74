import type { Catalogue, Product } from './catalogue.ts';
import type { Database } from '../database.ts';

/** A number for "always enough", so that a catalogue answer is a plain integer for every product. */
const ampleStock = 100_000;

/** How many of each limited product are left. Products without a stock in the catalogue never run out. */
export class Stock {
  readonly #database: Database;
  readonly #available;
  readonly #take;

  constructor(database: Database) {
    this.#database = database;
    this.#available = database.prepare<[string], number>('SELECT available FROM stock WHERE variant = ?').pluck();
    this.#take = database.prepare('UPDATE stock SET available = available - ? WHERE variant = ? AND available >= ?');
  }

  /** Takes the catalogue's numbers over; a number that was edited since the last time counts anew. */
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
    return this.#available.get(product.variant) ?? ampleStock;
  }

  /** The caller has checked that there is enough, in the same transaction. */
  take(product: Product, quantity: number): void {
    this.#take.run(quantity, product.variant, quantity);
  }

  set(variant: string, available: number): void {
    this.#database
      .prepare('INSERT INTO stock VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET available = excluded.available')
      .run(variant, available, available);
  }
}
