import { isOtherSale } from '../../core/order/sale-key.ts';
import { isSameSku } from '../../core/order/sku-map.ts';
import { assert } from '../../core/order-sync-error.ts';
import { insertLines } from '../intake/new-lines.ts';
import { findRequest } from '../intake/requests.ts';
import { resultChanged } from '../results/due-results.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { type EntryRow, selectEntriesOfLine } from '../sqlite/rows.ts';
import { cancelEntry, holdEntry, setTakenBack } from '../entries/entry-changes.ts';
import { endRecheck } from '../entries/rechecks.ts';
import { applyShopHold } from '../entries/shop-holds.ts';
import {
  boughtInPlaceOf,
  canBeReplaced,
  findKnownLine,
  knownLinesOf,
  lineNow,
  markSame,
  orderedAs,
  vanishedLines,
  wasCancelledByShop,
  whyChanged,
  withOrderedSku,
  type KnownLine,
  type VanishedLine,
} from './known-lines.ts';
import {
  findSeenState,
  isInDoubt,
  isOlder,
  isSameMoment,
  rememberState,
  rememberUnreadState,
  withLeastLines,
  type SeenState,
} from './newest-states.ts';
import {
  auditChange,
  endChangeFlags,
  endFlags,
  flagLine,
  flagShop,
  flagUnreadableLines,
  flagUnreadableState,
  flagWithoutId,
} from './order-records.ts';
import { noteResult } from './other-worker.ts';
import { areUnsent, changeUnsent, refundableEntries, takeRefund } from './shop-refunds.ts';
import type {
  StorefrontLine,
  StorefrontOrder,
  StorefrontTaken,
  Taking,
  UnreadableStorefrontOrder,
} from './storefront-order.ts';
import { countUnmappedSkus } from './storefront-skus.ts';
import {
  correctIt,
  flagOf,
  flags,
  givenAgain,
  whyFlagged,
  whyNotBought,
  whyUnreadOrder,
} from './why-not-bought.ts';

const nothing: StorefrontTaken = {
  accepted: 0,
  known: 0,
  flagged: 0,
  takenBack: 0,
  released: 0,
  stale: false,
};

/**
 * A flag by which somebody may have delivered a line. For its SKU alone, only if somebody
 * acknowledged that.
 */
const findFlagCode = columnOf<[source: string, orderId: string, lineId: string], string>(
  `SELECT code FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
   AND (line_id = ? OR line_id IS NULL) AND code NOT IN ('paid_and_closed', 'two_states_in_one_second', 'unreadable_line', 'unreadable_order', 'too_many_flags')
     AND (code <> 'unknown_sku' OR acknowledged_at_ms IS NOT NULL)
   ORDER BY line_id IS NULL LIMIT 1`,
);

/**
 * Takes in the state of a storefront's order: buys what is paid for and not bought yet, cancels
 * what was refunded and not bought yet, and flags every other change for review. States may come in
 * any order and any number of times: the newest one counts, and each change acts once.
 */
export function takeOrder(outbox: Outbox, delivered: StorefrontOrder): StorefrontTaken {
  const { database } = outbox;
  const found = findSeenState(database, delivered);
  const isLate =
    found !== null &&
    found.state !== 'deleted' &&
    delivered.modifiedMs < found.modifiedMs &&
    !isInDoubt(delivered, found);
  const isOther = !isLate && isOtherSale(found?.saleKey, delivered.saleKey);
  // Its lines may have the ids of the known ones, too, and so their references.
  if (isOther && knownLinesOf(database, delivered).length > 0)
    return { ...nothing, flagged: takeUnreadableOrder(outbox, { ...delivered, ...givenAgain }) };
  const seen = isOther ? null : found;
  if (seen !== null && isOlder(delivered, seen))
    return takeOlder(
      { outbox, database, order: delivered, taken: { ...nothing, stale: true } },
      seen,
    );
  const least = withLeastLines(delivered, seen);
  const order = {
    ...least,
    lines: least.lines?.map((line) => withOrderedSku(database, least, line)) ?? null,
  };
  const isMoved = rememberState(database, order, seen);
  rememberMarks(database, order);
  noteResult(outbox, order);
  const taking: Taking = { outbox, database, order, taken: { ...nothing } };
  if (seen === null) countUnmappedSkus(database, order);
  flagUnreadable(taking);
  flagOfMany(taking, seen);
  takeLines(taking);
  // The customer may get more or less of a bought line now.
  const requestId = isMoved ? findRequest(database).get(order.source, order.orderId) : undefined;
  if (requestId !== undefined) resultChanged(outbox, requestId, order.nowMs, true);
  if (seen !== null) takeRemovedLines(taking);
  const { source, orderId, state } = order;
  if (state === 'closed' || state === 'deleted')
    endFlags(database).run({ source, orderId, lineId: null });
  holdAndRelease(taking);
  // The claim judges by the age of this state, so one that a webhook brings is enough if it is new.
  const isNewer = seen === null || order.modifiedMs > seen.modifiedMs;
  if (order.isReadNow === true || isNewer) taking.taken.released += endRecheck(database, order);
  return taking.taken;
}

/** Each order counts once, however often its shop sends it. */
function flagOfMany({ outbox, database, order, taken }: Taking, seen: SeenState | null): void {
  const { source, nowMs, ofMany = null, lines } = order;
  if (
    ofMany === null ||
    lines === null ||
    (seen !== null && seen.kept !== null && seen.state === order.state)
  )
    return;
  if (knownLinesOf(database, order).length > 0) return;
  flagShop(outbox, { ...ofMany, source, nowMs, reopens: false });
  taken.flagged += 1;
}

/**
 * Flags an order that cannot be read, unless a newer state was seen before. Returns how many flags
 * are new.
 */
export function takeUnreadableOrder(
  outbox: Outbox,
  { orderId, ...order }: UnreadableStorefrontOrder,
): number {
  const { database } = outbox;
  const { source, modifiedMs, nowMs, advice: why = whyUnreadOrder } = order;
  if (orderId === null) return flagWithoutId(database, { orderId, ...order });
  if (modifiedMs !== null) {
    const seen = findSeenState(database, { source, orderId });
    if (seen !== null && modifiedMs < seen.modifiedMs && !isInDoubt({ modifiedMs }, seen)) return 0;
    rememberUnreadState(database).run({ source, orderId, modifiedMs, nowMs });
  }
  // The next state that can be read releases them, or says why not.
  for (const known of knownLinesOf(database, { source, orderId })) {
    const { held } = applyShopHold(outbox, known.id, { why, stillWhy: null }, nowMs);
    auditChange(database, { ...order, orderId }, 'hold', held, why);
  }
  return flagUnreadableState(outbox, { ...order, orderId });
}

/**
 * An older state changes nothing. Where it shows the order as paid, and that is not bought, its
 * lines are flagged, each once: within the same second nobody knows which state came last, and the
 * time of a deletion is not exact.
 */
function takeOlder(taking: Taking, seen: SeenState): StorefrontTaken {
  const { database, order, taken } = taking;
  if (order.state === 'closed' && seen.state !== 'closed' && seen.state !== 'deleted')
    return holdBecauseOfOlder(taking);
  const isUnsure = isSameMoment(order, seen) || seen.state === 'deleted';
  // An order that is read back in a moment is bought or flagged then: also by a state that was read
  // and is no newer.
  if (!isUnsure || (seen.awaitsReadBack === 1 && order.isReadNow !== true)) return taken;
  const { paidAndDeleted, paidAndClosed, paidAndNot } = flags;
  const flag =
    seen.state === 'deleted'
      ? paidAndDeleted
      : seen.state === 'closed'
        ? paidAndClosed
        : paidAndNot;
  for (const { lineId, buy } of order.lines ?? []) {
    if (buy === null) continue;
    const known = findKnownLine(database, order, lineId);
    if (known === undefined || wasCancelledByShop(database, known)) flagLine(taking, lineId, flag);
  }
  return taken;
}

/**
 * The shop says that the order is closed, with a time before that of the newest state. That time may
 * be wrong: nothing more is bought before a newer state, and what was bought is flagged.
 */
function holdBecauseOfOlder({ outbox, database, order, taken }: Taking): StorefrontTaken {
  const flag = flags.closedBefore;
  for (const known of knownLinesOf(database, order)) {
    const hold = { why: flag.rule, stillWhy: null };
    const { held } = applyShopHold(outbox, known.id, hold, order.nowMs);
    auditChange(database, order, 'hold', held, flag.rule);
    taken.flagged += held.length;
    if (held.length === 0 && refundableEntries(database, known).length > 0)
      flagLine({ outbox, database, order, taken }, known.line_id, flag);
  }
  return taken;
}

/** Flags the lines that cannot be read, and withdraws the flags of those that were corrected. */
function flagUnreadable({ outbox, database, order, taken }: Taking): void {
  const lines = order.unreadable.flatMap(({ lineId, field, rule, isDue }) => {
    const known = lineId === null ? undefined : findKnownLine(database, order, lineId);
    if (known !== undefined && refundableEntries(database, known).length > 0) {
      const why = 'changes in the shop after the purchase are not applied';
      return [{ lineId, field, rule: `${rule}; ${why}: ${correctIt}` }];
    }
    return isDue
      ? [{ lineId, field, rule: `${rule}; nothing was bought for it: ${correctIt}` }]
      : [];
  });
  taken.flagged += flagUnreadableLines(outbox, order, lines);
}

/** Whether the order still has this line, perhaps in a form that cannot be read. */
function mayBePresent(order: StorefrontOrder, known: KnownLine): boolean {
  return order.unreadable.some(({ lineId, sku }) =>
    lineId === null
      ? sku === null || isSameSku(sku, orderedAs(known).sku)
      : lineId === known.line_id,
  );
}

/**
 * Holds what is unsent of lines that the newest state does not allow to buy, and releases what it
 * allows again.
 */
function holdAndRelease({ outbox, database, order, taken }: Taking): void {
  for (const known of knownLinesOf(database, order)) {
    const line = lineNow(database, order, known);
    const isUnread = line === undefined && mayBePresent(order, known);
    const why = whyNotBought(order, isUnread ? 'unread' : line, orderedAs(known));
    const stillWhy = line?.hold?.rule ?? null;
    const { held, released } = applyShopHold(outbox, known.id, { why, stillWhy }, order.nowMs);
    taken.flagged += held.length;
    taken.released += released.length;
    auditChange(database, order, 'hold', held, why ?? '');
    auditChange(
      database,
      order,
      'release',
      released,
      'the storefront shows the order as paid again',
    );
  }
}

/**
 * New lines first: one of them may stand for a line that has vanished, of which nothing is refunded
 * then.
 */
function takeLines(taking: Taking): void {
  const { database, order } = taking;
  const isNew = (line: StorefrontLine) => findKnownLine(database, order, line.lineId) === undefined;
  const { added = [], known = [] } = Object.groupBy(order.lines ?? [], (line) =>
    isNew(line) ? 'added' : 'known',
  );
  for (const line of [...added, ...known]) takeLine(taking, line);
  for (const { lineId } of added) {
    const related = selectRelated(database).get(order.source, order.orderId, lineId);
    if (related === undefined) continue;
    taking.taken.accepted -= 1;
    const rows = holdNewLine(taking, lineId, related.why);
    // The other order shows it, too.
    auditChange(database, { ...order, orderId: related.otherId }, 'hold', rows, related.whyOther);
  }
}

function takeLine(taking: Taking, line: StorefrontLine): void {
  const { database, order } = taking;
  const { lineId } = line;
  const isGone = line.remaining === 0;
  const known = findKnownLine(database, order, lineId);
  if (known === undefined) {
    takeNewLine(taking, line);
    if (isGone) endFlags(database).run({ source: order.source, orderId: order.orderId, lineId });
  } else if (!isGone || lineNow(database, order, known) === line) {
    setTakenBack(database).run({ lineId: known.id, takenBack: isGone ? 1 : 0 });
    takeKnownLine(taking, line, known);
  }
}

function takeNewLine(taking: Taking, line: StorefrontLine): void {
  const { outbox, database, order, taken } = taking;
  const { lineId, buy, hold } = line;
  if (buy === null) {
    if (hold !== null) flagLine(taking, lineId, hold);
    return;
  }
  const old = takePlaceOfVanished(taking, line);
  insertLines(outbox, [buy], order.nowMs);
  // An operator who was told that the line was not bought may have bought it elsewhere since.
  const told = findFlagCode(database).get(order.source, order.orderId, lineId);
  if (old !== null) holdNewLine(taking, lineId, whyChanged(old), old.known);
  else if (told === undefined) taken.accepted += 1;
  else holdNewLine(taking, lineId, whyFlagged(told));
}

/**
 * The line that vanished and that a new one may stand for. One of which nothing was bought yet is
 * cancelled instead.
 */
function takePlaceOfVanished(taking: Taking, line: StorefrontLine): VanishedLine | null {
  const { outbox, database, order, taken } = taking;
  const found = vanishedLines(database, order, line.sku).filter(
    ({ known }) => !mayBePresent(order, known),
  );
  const bought = found.find(({ rows }) => !canBeReplaced(database, rows));
  const [old] = found;
  if (bought !== undefined || old === undefined) return bought ?? null;
  const why = `the storefront's order has the line ${line.lineId} in place of this line`;
  for (const row of old.rows) cancelEntry(outbox, row, why, order.nowMs);
  auditChange(database, order, 'cancel', old.rows, why);
  taken.takenBack += old.rows.length;
  return null;
}

/** A line that could be bought now, and that an operator must release. */
function holdNewLine(
  taking: Taking,
  lineId: string,
  why: string,
  old?: KnownLine,
): readonly EntryRow[] {
  const { outbox, database, order, taken } = taking;
  const known = findKnownLine(database, order, lineId);
  assert(known !== undefined, `the line ${lineId} was inserted`);
  if (old !== undefined) markSame(database).run(old.id, known.id);
  const rows = selectEntriesOfLine(database).all(known.id);
  for (const row of rows) holdEntry(outbox, row, { why, by: null }, order.nowMs);
  taken.flagged += rows.length;
  return rows;
}

function takeKnownLine(taking: Taking, line: StorefrontLine, known: KnownLine): void {
  const { database, order, taken } = taking;
  const { lineId, sku, remaining, buy, hold } = line;
  const was = orderedAs(known);
  const bought = boughtInPlaceOf(database, known);
  // An operator said that it is the same purchase: it speaks for the line that was bought.
  if (bought !== null) return takeKnownLine(taking, { ...line, lineId: bought.line_id }, bought);
  if ((buy ?? hold) !== null && wasCancelledByShop(database, known)) {
    const rule = `was cancelled by the shop before it was bought, and now the shop's order shows ${remaining} of "${sku}" as paid: nothing was bought`;
    flagLine(taking, lineId, hold ?? flagOf('paid_after_taken_back', rule));
  } else if (was.sku === sku && was.quantity === remaining && !order.refundUnclear) {
    // SKU and quantity of the shop are compared: another SKU map changes nothing about what was
    // bought.
    if (hold === flags.lessInOneState) return flagLine(taking, lineId, hold);
    taken.known += 1;
    const rows = selectEntriesOfLine(database).all(known.id);
    if (order.state === 'paid' && rows.every(({ state }) => state !== 'cancelled'))
      endChangeFlags(taking, lineId);
  } else if (was.sku === sku && remaining < was.quantity) {
    takeRefund(taking, line, known);
  } else if (order.refundUnclear) {
    const open = order.onRefund === 'ignore' ? [] : refundableEntries(database, known);
    if (open.length > 0 && !areUnsent(open)) flagLine(taking, lineId, flags.unclearRefund);
  } else if (was.sku === sku && changeUnsent(taking, line, known)) {
    taken.known += 1;
  } else if (was.sku === sku || !areUnsent(refundableEntries(database, known))) {
    const rule = `was ordered as ${was.quantity} of "${was.sku}", and the shop's order now has ${remaining} of "${sku}": nothing more was bought`;
    flagLine(taking, lineId, flagOf('changed_after_purchase', rule));
  }
}

/** A line that was removed from the shop's order is treated as refunded. */
function takeRemovedLines(taking: Taking): void {
  const { database, order } = taking;
  if (order.lines === null) return;
  const present = new Set(order.lines.map((line) => line.lineId));
  for (const known of knownLinesOf(database, order)) {
    if (present.has(known.line_id) || mayBePresent(order, known)) continue;
    if (lineNow(database, order, known) !== undefined) continue;
    setTakenBack(database).run({ lineId: known.id, takenBack: 1 });
    const { sku } = orderedAs(known);
    takeRefund(
      taking,
      { lineId: known.line_id, sku, isMapped: true, remaining: 0, buy: null, hold: null },
      known,
    );
  }
}

const insertMarks = statementOf<[source: string, orderId: string, marks: string], never>(
  'INSERT INTO storefront_marks (source, order_id, kind, value) SELECT ?, ?, value ->> 0, value ->> 1 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING',
);
/** Why a new line looks like one of another order: see the view. */
const selectRelated = statementOf<
  [source: string, orderId: string, lineId: string],
  Readonly<Record<'otherId' | 'why' | 'whyOther', string>>
>(
  'SELECT other_id AS otherId, why, why_other AS whyOther FROM storefront_related WHERE source = ? AND order_id = ? AND line_id = ? LIMIT 1',
);

/** Only of orders with lines of ours, also of those that wait for the SKU map. */
function rememberMarks(
  database: Sqlite,
  { source, orderId, lines, marks = [] }: StorefrontOrder,
): void {
  if (lines?.some(({ isMapped, hold }) => isMapped || hold !== null))
    insertMarks(database).run(source, orderId, JSON.stringify(marks));
}
