import { flagOnce, tooManyFlags, withdrawFlags, type Rejection } from '../intake/rejections.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { UnreadableStorefrontOrder } from './storefronts.ts';

/** At most this many unreadable lines of an order are flagged one by one. */
const linesPerOrder = 20;
/** At most this many orders of a source without a readable id are flagged; a new one takes the place of the oldest. */
const ordersWithoutId = 20;

type Flag = Pick<Rejection, 'lineId' | 'code' | 'field' | 'rule' | 'value'>;
type OrderKey = { readonly source: string; readonly orderId: string; readonly nowMs: number };

/**
 * Flags for what cannot be read. Unlike other flags, they follow the newest state of the order: one that it does not
 * confirm was corrected, and is withdrawn. Every method is called inside a transaction.
 */
export class UnreadableFlags {
  readonly #outbox: Outbox;
  readonly #statements;

  constructor(database: Sqlite, outbox: Outbox) {
    this.#outbox = outbox;
    this.#statements = {
      standing: database.prepare<[string, string], Pick<Rejection, 'lineId' | 'code' | 'rule'> & { id: number }>(
        `SELECT id, line_id AS lineId, code, rule FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
         AND code IN ('unreadable_line', 'unreadable_order', 'too_many_flags')`,
      ),
      knownWithoutId: database.prepare(
        `SELECT 1 FROM rejections WHERE file_id IS NULL AND source = :source AND order_id IS NULL
         AND code = 'unreadable_order' AND rule = :rule`,
      ),
      makeRoom: database.prepare<[string, number]>(
        `DELETE FROM rejections WHERE id IN (SELECT id FROM rejections WHERE file_id IS NULL AND source = ?
         AND order_id IS NULL AND code = 'unreadable_order' ORDER BY id DESC LIMIT -1 OFFSET ?)`,
      ),
      addWithoutId: database.prepare(
        `INSERT INTO rejections (source, code, field, rule, created_at_ms)
         VALUES (:source, 'unreadable_order', :field, :rule, :nowMs)`,
      ),
    };
  }

  /** The unreadable lines of the newest state of an order. Returns how many flags are new. */
  setLines(order: OrderKey, lines: readonly (Pick<Rejection, 'lineId' | 'rule'> & { field: string })[]): number {
    const code = 'unreadable_line';
    const flags: Flag[] = lines.slice(0, linesPerOrder).map((line) => ({ code, value: null, ...line }));
    const more = lines.length - flags.length;
    if (more > 0) {
      const rule = `has ${more} more lines that cannot be read; nothing was bought for them: compare the order with the shop`;
      flags.push({ code, field: 'line_items', lineId: null, rule, value: null });
    }
    return this.#set(order, flags);
  }

  /** The newest state of an order cannot be read. Returns how many flags are new. */
  setOrder(order: OrderKey & Pick<UnreadableStorefrontOrder, 'field' | 'rule'>): number {
    const rule = `${order.rule}; nothing of the order was bought or changed since: correct it in the shop, and it is read again`;
    return this.#set(order, [{ lineId: null, code: 'unreadable_order', field: order.field, rule, value: null }]);
  }

  /** An order without a readable id. Returns how many flags are new. */
  addWithoutId({ source, field, rule: problem, origin, nowMs }: UnreadableStorefrontOrder): number {
    const rule = `${problem}; nothing of this order was bought: find it in the shop (${origin}). At most ${ordersWithoutId} of these are kept`;
    if (this.#statements.knownWithoutId.get({ source, rule }) !== undefined) return 0;
    this.#statements.makeRoom.run(source, ordersWithoutId - 1);
    this.#statements.addWithoutId.run({ source, field, rule, nowMs });
    return 1;
  }

  #set(order: OrderKey, flags: readonly Flag[]): number {
    const isSame = (one: Pick<Flag, 'lineId' | 'code' | 'rule'>, other: Flag) =>
      one.lineId === other.lineId && one.code === other.code && one.rule === other.rule;
    const { source, orderId, nowMs } = order;
    const standing = this.#statements.standing.all(source, orderId);
    const corrected = standing.filter((row) => !flags.some((it) => isSame(row, it)));
    // That there are too many flags is told until one of them leaves: then there is a place for one that was not listed.
    const isAnyLeft = corrected.some(({ code }) => code !== tooManyFlags.code);
    if (isAnyLeft)
      withdrawFlags(
        this.#outbox,
        order,
        corrected.map(({ id }) => id),
      );
    return flags.filter((flag) => flagOnce(this.#outbox, { ...flag, lineNumber: null, source, orderId }, nowMs)).length;
  }
}
