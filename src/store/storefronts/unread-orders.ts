import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { IntakeTable } from '../intake/accept-lines.ts';

interface UnreadRow {
  readonly source: string;
  readonly order_id: string;
}

/** At most in one step; the next one goes on. */
const atOnce = 1000;

/**
 * Storefront orders that wait for being read back, because their delivery did not say what was refunded. Where nothing
 * brings them any more a person is told: nobody would ever hear of them.
 */
export class UnreadOrders {
  readonly #database: Sqlite;
  readonly #intake: IntakeTable;
  readonly #statements;

  constructor(database: Sqlite, intake: IntakeTable) {
    this.#database = database;
    this.#intake = intake;
    this.#statements = {
      longAgo: database.prepare<{ source: string; seenBeforeMs: number }, UnreadRow>(
        `SELECT source, order_id FROM storefront_orders
         WHERE unread = 1 AND source = :source AND seen_at_ms <= :seenBeforeMs ORDER BY seen_at_ms LIMIT ${atOnce}`,
      ),
      ofOthers: database.prepare<[string], UnreadRow>(
        `SELECT source, order_id FROM storefront_orders
         WHERE unread = 1 AND source NOT IN (SELECT value FROM json_each(?)) LIMIT ${atOnce}`,
      ),
      clear: database.prepare('UPDATE storefront_orders SET unread = 0 WHERE source = ? AND order_id = ?'),
    };
  }

  /** Those of a shop that were delivered before that time. Returns how many were told. */
  tell(step: { source: string; seenBeforeMs: number; nowMs: number }): number {
    return inTransaction(this.#database, () => {
      const rows = this.#statements.longAgo.all(step);
      for (const row of rows) this.#tell(row, 'did not bring it: is it in the trash?', step.nowMs);
      return rows.length;
    });
  }

  /** Those of all shops but these. */
  tellOfOthers(step: { sources: readonly string[]; nowMs: number }): void {
    inTransaction(this.#database, () => {
      for (;;) {
        const rows = this.#statements.ofOthers.all(JSON.stringify(step.sources));
        for (const row of rows) this.#tell(row, 'is not configured any more', step.nowMs);
        if (rows.length < atOnce) return;
      }
    });
  }

  #tell({ source, order_id: orderId }: UnreadRow, why: string, nowMs: number): void {
    const rule = `was refunded in part, a delivery did not say what, and reading the shop back ${why}; nothing of it was bought or taken back since`;
    const nowhere = { lineNumber: null, lineId: null, field: null, value: null };
    this.#intake.tellOnce({ ...nowhere, source, orderId, code: 'partially_refunded', rule }, nowMs);
    this.#statements.clear.run(source, orderId);
  }
}
