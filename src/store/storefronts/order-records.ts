import type { AcceptableLine } from '../../core/order/order-request.ts';
import { reject, type NewRejection, type Rejection } from '../intake/rejections.ts';
import { requestOf } from '../intake/requests.ts';
import { resultChanged } from '../results/due-results.ts';
import { recordAudit } from '../sqlite/audit.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import type {
  OrderKey,
  StorefrontOrder,
  Taking,
  UnreadableStorefrontOrder,
} from './storefront-order.ts';
import { flagOf, type Flag } from './why-not-bought.ts';

// The records about a shop's order for people: flags and audit entries.

const flagsPerOrder = 100;

/** Stands for the flags of an order that are not listed any more. */
const tooManyFlags = flagOf(
  'too_many_flags',
  `has more than ${flagsPerOrder} flags, so the others are not listed: compare the whole order with the shop`,
);

const findFlag = statementOf<Omit<NewRejection, 'lineNumber'>, { id: number; isOver: number }>(
  `SELECT id, taken_back = 1 OR corrected_at_ms IS NOT NULL AS isOver FROM rejections
   WHERE file_id IS NULL AND source = :source AND order_id = :orderId AND line_id IS :lineId AND code = :code
     AND (rule = :rule OR (code = 'unknown_sku' AND value = :value))`,
);
// It happened again, so an earlier acknowledgement does not cover it.
const reopen = statementOf<[number], never>(
  'UPDATE rejections SET taken_back = 0, corrected_at_ms = NULL, acknowledged_at_ms = NULL WHERE id = ?',
);
const countFlags = columnOf<[string, string], number>(
  `SELECT count(*) FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
   AND corrected_at_ms IS NULL AND taken_back = 0 AND acknowledged_at_ms IS NULL`,
);
/**
 * The shop cancelled or refunded what was flagged and not bought: nobody waits for it. A null line
 * id: the order as a whole. Whether it was paid or closed last, nobody knows: only an operator ends
 * that.
 */
export const endFlags = statementOf<OrderKey & { lineId: string | null }, never>(
  `UPDATE rejections SET taken_back = 1 WHERE file_id IS NULL AND source = :source AND order_id = :orderId
   AND line_id IS :lineId AND taken_back = 0
   AND code NOT IN ('conflict', 'paid_and_closed', 'paid_and_deleted', 'two_states_in_one_second')`,
);
const endOfChange = statementOf<OrderKey & { lineId: string; nowMs: number }, never>(
  `UPDATE rejections SET corrected_at_ms = :nowMs WHERE file_id IS NULL AND source = :source AND order_id = :orderId
   AND line_id = :lineId AND corrected_at_ms IS NULL AND code IN ('refunded_in_storefront', 'changed_after_purchase')`,
);
const remove = statementOf<[number], never>('DELETE FROM rejections WHERE id = ?');

/**
 * Flags something for review; returns whether it was not flagged. An order that was not known gets
 * the metadata.
 */
export function flagOnce(
  outbox: Outbox,
  flagged: Omit<NewRejection, 'lineNumber'> & OrderKey,
  nowMs: number,
  metadata: AcceptableLine['metadata'] = {},
): boolean {
  const { database } = outbox;
  const flag = findFlag(database).get(flagged);
  if (flag !== undefined) {
    if (flag.isOver === 1) reopen(database).run(flag.id);
    return flag.isOver === 1;
  }
  const { source, orderId, code } = flagged;
  if (
    code !== tooManyFlags.code &&
    (countFlags(database).get(source, orderId) ?? 0) >= flagsPerOrder
  ) {
    return flagOnce(outbox, { ...tooManyFlags, lineId: null, source, orderId }, nowMs);
  }
  return reject(outbox, { ...flagged, lineNumber: null }, { nowMs, fileId: null }, metadata);
}

/** The shop shows a line as it was bought again: nothing is to be decided. */
export function endChangeFlags({ outbox, order }: Taking, lineId: string): void {
  const { source, orderId, nowMs } = order;
  if (endOfChange(outbox.database).run({ source, orderId, lineId, nowMs }).changes > 0)
    resultChanged(outbox, requestOf(outbox, order, nowMs).requestId, nowMs);
}

export function flagLine({ outbox, order, taken }: Taking, lineId: string, flag: Flag): void {
  const { source, orderId, nowMs, metadata } = order;
  if (flagOnce(outbox, { ...flag, source, orderId, lineId }, nowMs, metadata)) taken.flagged += 1;
}

/** Leaves an audit entry for what was done to these entries, if there are any. */
export function auditChange(
  database: Sqlite,
  order: Pick<StorefrontOrder, 'source' | 'orderId' | 'actor' | 'nowMs'>,
  action: string,
  rows: readonly EntryRow[],
  reason: string,
): void {
  if (rows.length === 0) return;
  const { actor, nowMs, source, orderId } = order;
  const detail = { references: rows.map((row) => row.reference) };
  recordAudit(database, { actor, reason, nowMs, action, subject: `${source}/${orderId}`, detail });
}

type ShopFlag = Readonly<Record<'source' | 'code' | 'rule', string>> & { readonly nowMs: number };
const ofShop = 'file_id IS NULL AND source = :source AND order_id IS NULL AND code = :code';
const countShopFlag = statementOf<ShopFlag & { reopens: number }, never>(
  `UPDATE rejections SET value = value + 1, rule = :rule, taken_back = 0,
     acknowledged_at_ms = CASE WHEN :reopens = 1 THEN NULL ELSE acknowledged_at_ms END WHERE ${ofShop}`,
);
const insertShopFlag = statementOf<ShopFlag, never>(
  "INSERT INTO rejections (source, code, rule, value, created_at_ms) VALUES (:source, :code, :rule, '1', :nowMs)",
);
/** Withdraws a flag about a shop: nobody needs to act any more. */
export const endShopFlag = statementOf<Pick<ShopFlag, 'source' | 'code'>, never>(
  `DELETE FROM rejections WHERE ${ofShop}`,
);

/**
 * Flags something about a shop as a whole: one row a code, which says how often it happened and
 * what was the last.
 * @param reopens whether it needs attention again when it happens after somebody acknowledged it
 */
export function flagShop(
  { database }: Outbox,
  { reopens = true, ...flag }: ShopFlag & { reopens?: boolean },
): void {
  if (countShopFlag(database).run({ ...flag, reopens: Number(reopens) }).changes > 0) return;
  insertShopFlag(database).run(flag);
}

// The flags for what cannot be read. Unlike other flags, they follow the newest state of the order:
// one that it does not confirm was corrected, and is withdrawn. Each function returns how many
// flags are new.

/** At most this many unreadable lines of an order are flagged one by one. */
const linesPerOrder = 20;
/**
 * At most this many orders of a source without a readable id are flagged; a new one takes the place
 * of the oldest.
 */
const ordersWithoutId = 20;

type UnreadableFlag = Pick<Rejection, 'lineId' | 'code' | 'field' | 'rule' | 'value'>;
type DatedOrder = OrderKey & { readonly nowMs: number };

const selectUnreadable = statementOf<
  [string, string],
  Pick<Rejection, 'lineId' | 'code' | 'rule'> & { id: number }
>(
  `SELECT id, line_id AS lineId, code, rule FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
   AND code IN ('unreadable_line', 'unreadable_order', 'too_many_flags')`,
);
const removeOldest = statementOf<[source: string, kept: number], never>(
  `DELETE FROM rejections WHERE id IN (SELECT id FROM rejections WHERE file_id IS NULL AND source = ?
   AND order_id IS NULL AND code = 'unreadable_order' ORDER BY id DESC LIMIT -1 OFFSET ?)`,
);
const insertWithoutId = statementOf<
  { source: string; field: string; rule: string; nowMs: number },
  never
>(
  `INSERT INTO rejections (source, code, field, rule, created_at_ms)
   SELECT :source, 'unreadable_order', :field, :rule, :nowMs WHERE NOT EXISTS (SELECT 1 FROM rejections
     WHERE file_id IS NULL AND source = :source AND order_id IS NULL AND code = 'unreadable_order' AND rule = :rule)`,
);

export function flagUnreadableLines(
  outbox: Outbox,
  order: DatedOrder,
  lines: readonly (Pick<Rejection, 'lineId' | 'rule'> & { field: string })[],
): number {
  const code = 'unreadable_line';
  const flags: UnreadableFlag[] = lines
    .slice(0, linesPerOrder)
    .map((line) => ({ code, value: null, ...line }));
  const more = lines.length - flags.length;
  if (more > 0) {
    const rule = `has ${more} more lines that cannot be read; nothing was bought for them: compare the order with the shop`;
    flags.push({ code, field: 'line_items', lineId: null, rule, value: null });
  }
  return setUnreadableFlags(outbox, order, flags);
}

export function flagUnreadableState(
  outbox: Outbox,
  order: DatedOrder & Pick<UnreadableStorefrontOrder, 'field' | 'rule' | 'code' | 'advice'>,
): number {
  const { code = 'unreadable_order', field } = order;
  const {
    advice = 'nothing of the order is bought or changed while it cannot be read: correct it in the shop, and the worker reads it again',
  } = order;
  const flag = { lineId: null, code, field, rule: `${order.rule}; ${advice}`, value: null };
  return setUnreadableFlags(outbox, order, [flag]);
}

export function flagWithoutId(
  database: Sqlite,
  { source, field, rule: problem, origin, nowMs }: UnreadableStorefrontOrder,
): number {
  const rule = `${problem}; nothing of this order was bought: find the order in the shop (${origin}). At most ${ordersWithoutId} such flags are kept`;
  const { changes } = insertWithoutId(database).run({ source, field, rule, nowMs });
  if (changes === 1) removeOldest(database).run(source, ordersWithoutId);
  return changes;
}

function setUnreadableFlags(
  outbox: Outbox,
  order: DatedOrder,
  flags: readonly UnreadableFlag[],
): number {
  const { source, orderId, nowMs } = order;
  const standing = selectUnreadable(outbox.database).all(source, orderId);
  const corrected = standing.filter(
    (row) =>
      !flags.some((it) => it.lineId === row.lineId && it.code === row.code && it.rule === row.rule),
  );
  // The flag "too many" stays until one of them leaves: then there is a place for one that was not
  // listed.
  const isAnyLeft = corrected.some(({ code }) => code !== tooManyFlags.code);
  if (isAnyLeft) {
    for (const { id } of corrected) remove(outbox.database).run(id);
    resultChanged(outbox, requestOf(outbox, order, nowMs).requestId, nowMs);
  }
  return flags.filter((flag) => flagOnce(outbox, { ...flag, source, orderId }, nowMs)).length;
}
