import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { purchaseFields } from '../../core/order/purchase.ts';
import { insertLines } from '../intake/new-lines.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { isEnding, selectEntriesOfLine, type EntryRow } from '../sqlite/rows.ts';
import { isCancellable, isSurelyUnsent } from '../entries/after-loss.ts';
import { cancelEntry, setQuantity } from '../entries/entry-changes.ts';
import { findKnownLine, needsNoRefund, orderedAs, type KnownLine } from './known-lines.ts';
import { auditChange, flagLine } from './order-records.ts';
import type { StorefrontLine, StorefrontOrder, Taking } from './storefront-order.ts';
import { flagOf } from './why-not-bought.ts';

const changeLine = statementOf<
  [quantity: number, extra: string, fingerprint: string, id: number],
  never
>('UPDATE lines SET quantity = ?, extra = ?, fingerprint = ? WHERE id = ?');
const selectEsims = columnOf<[number], string>(
  'SELECT s.iccid FROM esims s JOIN entries e ON e.id = s.entry_id WHERE e.line_id = ? ORDER BY s.iccid',
);

/**
 * The entries of a line of which a refund may ask for something: those that were bought, and those
 * still open.
 */
export function refundableEntries(database: Sqlite, known: KnownLine): readonly EntryRow[] {
  return selectEntriesOfLine(database)
    .all(known.id)
    .filter((row) => !needsNoRefund.has(row.state) && !isEnding(row));
}

/**
 * The shop has fewer of a line than were ordered, because of a refund or because it was removed.
 */
export function takeRefund(taking: Taking, line: StorefrontLine, known: KnownLine): void {
  const { database, order, taken } = taking;
  if (order.onRefund === 'ignore') return;
  const open = refundableEntries(database, known);
  if (open.length === 0) return;
  const isWhole = line.remaining === 0;
  if (isWhole) cancelUnbought(taking, open);
  // Some parts of a split line may be bought and others not.
  const left = isWhole ? open.filter((row) => !isCancellable(database, row)) : open;
  if (left.length === 0) return;
  if (isWhole && order.onRefund === 'cancel_esim' && cancelEsims(taking, known, left)) return;
  if (!isWhole && changeUnsent(taking, line, known, open)) {
    taken.takenBack += 1;
    return;
  }
  // It is held instead, which flags it.
  if (!isWhole && areUnsent(open)) return;
  const was = orderedAs(known).quantity;
  const references = left.map((row) => row.reference).join(', ');
  const rule = `${was - line.remaining} of ${was} pieces were refunded or removed in the storefront after the purchase under ${references}: decide what becomes of these pieces`;
  flagLine(taking, line.lineId, flagOf('refunded_in_storefront', rule));
}

function cancelUnbought(
  { outbox, database, order, taken }: Taking,
  open: readonly EntryRow[],
): void {
  const unbought = open.filter((row) => isCancellable(database, row));
  for (const row of unbought)
    cancelEntry(outbox, row, 'the storefront refunded the line before it was bought', order.nowMs);
  const why = 'refunded or cancelled in the storefront before it was bought';
  auditChange(database, order, 'cancel', unbought, why);
  taken.takenBack += unbought.length;
}

/**
 * Gives an entry that was surely not sent yet the quantity that the order has now. False when that
 * cannot be done.
 */
export function changeUnsent(
  { outbox, database, order }: Taking,
  { buy, remaining }: StorefrontLine,
  known: KnownLine,
  open = refundableEntries(database, known),
): boolean {
  const [row] = open;
  if (row === undefined || open.length > 1 || buy === null || buy.quantity === null) return false;
  if (!isSurelyUnsent(database, row)) return false;
  // With another SKU map it would become another purchase: an operator decides about that.
  const isSame = purchaseFields.every((field) => field === 'quantity' || row[field] === buy[field]);
  if (!isSame || !setQuantity(outbox, row, buy.quantity, order.nowMs)) return false;
  changeLine(database).run(buy.quantity, JSON.stringify(buy.extra), fingerprintOf(buy), known.id);
  const why = `the storefront's order has ${remaining} pieces of this unsent line now`;
  auditChange(
    database,
    order,
    remaining < orderedAs(known).quantity ? 'lower' : 'raise',
    open,
    why,
  );
  return true;
}

/** Orders the cancel of each eSIM of a line. False when not all of them can be cancelled. */
function cancelEsims(taking: Taking, known: KnownLine, open: readonly EntryRow[]): boolean {
  const { outbox, database, order, taken } = taking;
  if (open.some((row) => row.operation !== 'esim_order' || row.state !== 'fulfilled')) return false;
  const iccids = selectEsims(database).all(known.id);
  if (iccids.length === 0) return false;
  const added = iccids
    .map((iccid) => cancelLine(order, `${known.line_id}:cancel:${iccid}`, iccid))
    .filter(({ lineId }) => findKnownLine(database, order, lineId) === undefined);
  for (const line of added) insertLines(outbox, [line], order.nowMs);
  taken.accepted += added.length;
  if (added.length > 0)
    auditChange(database, order, 'cancel_esim', open, 'refunded or cancelled in the storefront');
  return true;
}

/** Whether there are entries, and all of them can be held, or are: that flags them. */
export function areUnsent(open: readonly EntryRow[]): boolean {
  return (
    open.length > 0 &&
    open.every(({ state }) => state === 'pending' || state === 'waiting' || state === 'held')
  );
}

function cancelLine(order: StorefrontOrder, lineId: string, iccid: string): AcceptableLine {
  const { source, orderId } = order;
  const none = {
    variant: null,
    plan: null,
    quantity: null,
    days: null,
    currency: null,
    notAfterMs: null,
  };
  return {
    source,
    orderId,
    lineId,
    operation: 'esim_cancel',
    iccid,
    ...none,
    metadata: {},
    extra: {},
  };
}
