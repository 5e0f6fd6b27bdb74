import { inTransaction, type Sqlite } from '../sqlite/database.ts';

/** How far storefronts have been read back. A watermark only moves forward, unless it stands in a future. */
export class StorefrontWatermarks {
  readonly #database: Sqlite;
  readonly #statements;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#statements = {
      find: database
        .prepare<[string], number>('SELECT modified_ms FROM storefront_watermarks WHERE source = ?')
        .pluck(),
      advance: database.prepare(
        `INSERT INTO storefront_watermarks (source, modified_ms, updated_at_ms) VALUES (:source, :modifiedMs, :nowMs)
         ON CONFLICT (source) DO UPDATE SET modified_ms = :modifiedMs, updated_at_ms = :nowMs
         WHERE :modifiedMs > modified_ms`,
      ),
      lower: database.prepare(
        `UPDATE storefront_watermarks SET modified_ms = :presentMs, updated_at_ms = :nowMs
         WHERE source = :source AND modified_ms > :presentMs`,
      ),
    };
  }

  find(source: string): number | null {
    return this.#statements.find.get(source) ?? null;
  }

  /** Returns whether it stood in the future. */
  lower(step: { source: string; presentMs: number; nowMs: number }): boolean {
    return inTransaction(this.#database, () => this.#statements.lower.run(step).changes === 1);
  }

  advance(step: { source: string; modifiedMs: number; nowMs: number }): void {
    inTransaction(this.#database, () => this.#statements.advance.run(step));
  }
}
