import { inTransaction, type Sqlite } from './database.ts';

/** How far storefronts have been read back. A watermark only moves forward. */
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
    };
  }

  find(source: string): number | null {
    return this.#statements.find.get(source) ?? null;
  }

  advance(step: { source: string; modifiedMs: number; nowMs: number }): void {
    inTransaction(this.#database, () => this.#statements.advance.run(step));
  }
}
