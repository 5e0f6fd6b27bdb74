import type { AcceptableLine } from '../../core/order/order-request.ts';
import { productOf } from '../../core/order/purchase.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { IntakeBatch } from './intake.ts';

type NewRejection = IntakeBatch['rejections'][number];

/** When, and from which file, lines came in. */
export type Arrival = Pick<IntakeBatch, 'nowMs' | 'fileId'>;

/**
 * The lines that were not accepted, and the flags of storefront orders. One is corrected when its line comes again and is
 * accepted; every other one stays open for a person. Every method is called inside a transaction.
 */
export class RejectionTable {
  readonly #statements;

  constructor(database: Sqlite) {
    this.#statements = {
      insert: database.prepare(
        `INSERT INTO rejections (file_id, line_number, source, order_id, line_id, product, code, field, rule, value, created_at_ms)
         VALUES (:fileId, :lineNumber, :source, :orderId, :lineId, :product, :code, :field, :rule, :value, :nowMs)
         ON CONFLICT DO NOTHING`,
      ),
      findFlag: database.prepare<unknown[], { id: number; isOver: number }>(
        `SELECT id, taken_back = 1 OR corrected_at_ms IS NOT NULL AS isOver FROM rejections WHERE file_id IS NULL AND source = :source AND order_id = :orderId AND line_id IS :lineId
         AND code = :code AND rule = :rule`,
      ),
      // It happened again, so an earlier acknowledgement does not cover it.
      reopen: database.prepare(
        'UPDATE rejections SET taken_back = 0, corrected_at_ms = NULL, acknowledged_at_ms = NULL WHERE id = ?',
      ),
      // Whether it was paid or closed last, nobody knows: only a person ends that.
      takeBack: database.prepare(
        `UPDATE rejections SET taken_back = 1 WHERE file_id IS NULL AND source = :source AND order_id = :orderId
         AND line_id IS :lineId AND taken_back = 0
         AND code NOT IN ('conflict', 'paid_and_closed', 'paid_and_deleted', 'two_states_in_one_second')`,
      ),
      countFlags: database
        .prepare<[string, string], number>(
          `SELECT count(*) FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
           AND corrected_at_ms IS NULL AND taken_back = 0 AND acknowledged_at_ms IS NULL`,
        )
        .pluck(),
      remove: database.prepare<[number]>('DELETE FROM rejections WHERE id = ?'),
      correctById: database
        .prepare<Record<string, unknown>, string | null>(
          `UPDATE rejections SET corrected_at_ms = :nowMs
           WHERE source = :source AND order_id = :orderId AND line_id = :lineId AND corrected_at_ms IS NULL
             AND code <> 'conflict' AND code <> 'duplicate_line' AND (file_id IS NULL OR file_id IS NOT :fileId)
           RETURNING file_id`,
        )
        .pluck(),
      // One of each earlier file, because the new line is one line of it. One that names its product comes first.
      correctByProduct: database.prepare(
        `UPDATE rejections SET corrected_at_ms = :nowMs WHERE id IN (
           SELECT id FROM (
             SELECT id, row_number() OVER (PARTITION BY file_id ORDER BY product IS NULL, id) AS place FROM rejections
             WHERE source = :source AND order_id = :orderId AND (line_id IS NULL OR code = 'duplicate_line')
               AND (product IS NULL OR product = :product) AND corrected_at_ms IS NULL
               AND file_id IS NOT NULL AND file_id IS NOT :fileId
               AND file_id NOT IN (SELECT value FROM json_each(:filesById)))
           WHERE place = 1)`,
      ),
    };
  }

  /** Returns whether it is new: a file that is read again brings its rejections again. */
  record(rejection: NewRejection, { nowMs, fileId }: Arrival): boolean {
    const { product = null } = rejection;
    return this.#statements.insert.run({ ...rejection, product, fileId, nowMs }).changes === 1;
  }

  /** Finds what is flagged about an order, and opens it again where the shop had taken it back or corrected it meanwhile. */
  reopenFlag(rejection: NewRejection): 'unknown' | 'open' | 'reopened' {
    const flag = this.#statements.findFlag.get(rejection);
    if (flag === undefined) return 'unknown';
    if (flag.isOver === 0) return 'open';
    this.#statements.reopen.run(flag.id);
    return 'reopened';
  }

  /** The shop took back what was flagged and not bought: nobody waits for it. A null line id: its order as a whole. */
  takeBack(subject: { source: string; orderId: string; lineId: string | null }): void {
    this.#statements.takeBack.run(subject);
  }

  /** How many flags of a shop's order stand in the attention list. */
  countFlags(source: string, orderId: string): number {
    return this.#statements.countFlags.get(source, orderId) ?? 0;
  }

  /** Removes a flag whose cause the shop has corrected. */
  remove(id: number): void {
    this.#statements.remove.run(id);
  }

  /**
   * A line of an order was accepted for the first time, which corrects the earlier rejection of its id. A line whose id
   * could not be read, or was that of another line, is corrected by a new line of the same product from a later file; if
   * its product could not be read either, by any new line. One new line corrects one line of a file.
   */
  correct(line: AcceptableLine, arrival: Arrival): void {
    const { source, orderId, lineId } = line;
    const accepted = { source, orderId, ...arrival };
    const files = this.#statements.correctById.all({ ...accepted, lineId }).filter((fileId) => fileId !== null);
    this.#statements.correctByProduct.run({
      ...accepted,
      product: productOf(line),
      filesById: JSON.stringify(files),
    });
  }
}
