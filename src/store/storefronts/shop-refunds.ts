import { insertLines } from '../intake/new-lines.ts';
import type { EntryState } from '../../core/entry/states.ts';
import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { purchaseFields } from '../../core/order/purchase.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { isSurelyUnbought, isSurelyUnsent } from '../submission/after-loss.ts';
import { cancelEntry, endedUnbought, lowerQuantity } from '../submission/entry-changes.ts';
import type { ChangedLines, KnownLine } from './changed-lines.ts';
import type { OrderRecords } from './order-records.ts';
import type { StorefrontLine, StorefrontOrder, TakenCounts } from './storefronts.ts';
import { flagOf } from './why-not-bought.ts';

/** Final states of which no refund asks for anything more. */
const needsNoRefund: ReadonlySet<EntryState> = new Set([...endedUnbought, 'refunded']);

/** The effects of a refund in the shop, or of a removed line. Every method is called inside a transaction. */
export class ShopRefunds {
  readonly #outbox: Outbox;
  readonly #changed: ChangedLines;
  readonly #records: OrderRecords;
  readonly #statements;

  constructor(
    outbox: Outbox,
    parts: {
      changed: ChangedLines;
      records: OrderRecords;
    },
  ) {
    this.#outbox = outbox;
    const { database } = outbox;
    this.#changed = parts.changed;
    this.#records = parts.records;
    this.#statements = {
      lowerLine: database.prepare(
        'UPDATE lines SET quantity = :quantity, extra = :extra, fingerprint = :fingerprint WHERE id = :id',
      ),
      entries: database.prepare<[number], EntryRow>('SELECT * FROM entries WHERE line_id = ? ORDER BY id'),
      esims: database
        .prepare<[number], string>(
          'SELECT s.iccid FROM esims s JOIN entries e ON e.id = s.entry_id WHERE e.line_id = ? ORDER BY s.iccid',
        )
        .pluck(),
    };
  }

  /** The entries of a line of which a refund may ask for something: those that were bought, and those still open. */
  openEntries(known: KnownLine): readonly EntryRow[] {
    return this.#statements.entries.all(known.id).filter((row) => !needsNoRefund.has(row.state));
  }

  /** The shop has fewer of the line than were ordered. */
  take(
    order: StorefrontOrder,
    line: StorefrontLine,
    before: { known: KnownLine; was: number },
    taken: TakenCounts,
  ): void {
    const { known, was } = before;
    if (order.onRefund === 'ignore') return;
    const open = this.openEntries(known);
    if (open.length === 0) return;
    const isWhole = line.remaining === 0;
    if (isWhole) taken.takenBack += this.#cancelUnbought(order, open);
    // Some parts of a split line may be bought and others not.
    const left = isWhole ? open.filter((row) => !isSurelyUnbought(this.#outbox.database, row)) : open;
    if (left.length === 0) return;
    if (isWhole && order.onRefund === 'cancel_esim' && this.#cancelEsims(order, known, left, taken)) return;
    if (!isWhole && this.#lowerUnsent(order, line, known, open)) {
      taken.takenBack += 1;
      return;
    }
    // It is held instead, which flags it.
    if (!isWhole && areUnsent(open)) return;
    const references = left.map((row) => row.reference).join(', ');
    const rule = `${was - line.remaining} of ${was} were refunded or removed in the storefront after it was ordered under ${references}: decide what becomes of it`;
    if (this.#records.flag(order, line.lineId, flagOf('refunded_in_storefront', rule))) taken.flagged += 1;
  }

  /** Cancels the entries that are surely not bought yet: nobody pays for them any more. Returns how many. */
  #cancelUnbought(order: StorefrontOrder, open: readonly EntryRow[]): number {
    const unbought = open.filter((row) => isSurelyUnbought(this.#outbox.database, row));
    for (const row of unbought) {
      cancelEntry(this.#outbox, row, 'the storefront refunded it before it was bought', order.nowMs);
    }
    if (unbought.length > 0) {
      this.#records.audit(order, 'cancel', unbought, 'refunded or cancelled in the storefront before it was bought');
    }
    return unbought.length;
  }

  /** Lowers an entry that was surely not sent yet to what is left. False when it cannot be lowered. */
  #lowerUnsent(order: StorefrontOrder, line: StorefrontLine, known: KnownLine, open: readonly EntryRow[]): boolean {
    const [row] = open;
    const { buy } = line;
    if (row === undefined || open.length > 1 || buy === null || buy.quantity === null) return false;
    if (!isSurelyUnsent(this.#outbox.database, row)) return false;
    // With another SKU map it would become another purchase: a person decides about that.
    const isSame = purchaseFields.every((field) => field === 'quantity' || row[field] === buy[field]);
    if (!isSame || !lowerQuantity(this.#outbox, row, buy.quantity, order.nowMs)) return false;
    const extra = JSON.stringify(buy.extra);
    this.#statements.lowerLine.run({ id: known.id, quantity: buy.quantity, extra, fingerprint: fingerprintOf(buy) });
    this.#records.audit(
      order,
      'lower',
      open,
      `the storefront's order has ${line.remaining} left, and it was not sent yet`,
    );
    return true;
  }

  /** Orders the cancel of each eSIM of a line. False when not all of them can be cancelled. */
  #cancelEsims(order: StorefrontOrder, known: KnownLine, open: readonly EntryRow[], taken: TakenCounts): boolean {
    if (open.some((row) => row.operation !== 'esim_order' || row.state !== 'fulfilled')) return false;
    const iccids = this.#statements.esims.all(known.id);
    if (iccids.length === 0) return false;
    const added = iccids
      .map((iccid) => cancelLine(order, `${known.line_id}:cancel:${iccid}`, iccid))
      .filter(({ lineId }) => this.#changed.find(order, lineId) === undefined);
    for (const line of added) insertLines(this.#outbox, [line], order.nowMs);
    taken.accepted += added.length;
    if (added.length > 0) this.#records.audit(order, 'cancel_esim', open, 'refunded or cancelled in the storefront');
    return true;
  }
}

/** Whether there are entries, and all of them can be held, or are: that flags them. */
export function areUnsent(open: readonly EntryRow[]): boolean {
  return open.length > 0 && open.every(({ state }) => state === 'pending' || state === 'waiting' || state === 'held');
}

function cancelLine(order: StorefrontOrder, lineId: string, iccid: string): AcceptableLine {
  const { source, orderId } = order;
  const none = { variant: null, plan: null, quantity: null, days: null, currency: null, notAfterMs: null };
  return { source, orderId, lineId, operation: 'esim_cancel', iccid, ...none, metadata: {}, extra: {} };
}
