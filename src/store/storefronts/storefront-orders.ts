import type { EntryState } from '../../core/entry/states.ts';
import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { purchaseFields } from '../../core/order/purchase.ts';
import type { LineTable } from '../intake/accept-lines.ts';
import type { AuditTable } from '../operator/audit.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { textsFrom, type EntryRow } from '../sqlite/rows.ts';
import type { AfterLoss } from '../submission/after-loss.ts';
import { endedUnbought, type EntryChanges } from '../submission/entry-changes.ts';
import { UnmappedSkus } from './storefront-skus.ts';
import type { StorefrontLine, StorefrontOrder, StorefrontTaken, UnreadableStorefrontOrder } from './storefronts.ts';
import { UnreadableFlags } from './unreadable-flags.ts';

interface KnownLine {
  readonly id: number;
  readonly line_id: string;
  readonly extra: string;
}

type Flag = NonNullable<StorefrontLine['hold']>;

/** Final states of which no refund asks for anything more. */
const needsNoRefund: ReadonlySet<EntryState> = new Set([...endedUnbought, 'refunded']);

/**
 * Takes in the state of a storefront's order: buys what is paid for and not bought yet, cancels what was refunded and
 * not bought yet, and flags every other change for review. States may come in any order and any number of times: the
 * newest one counts, and each change acts once. Called inside a transaction.
 */
export class StorefrontOrders {
  readonly #lines: LineTable;
  readonly #entries: EntryChanges;
  readonly #audit: AuditTable;
  readonly #afterLoss: AfterLoss;
  readonly #unmapped: UnmappedSkus;
  readonly #unreadable: UnreadableFlags;
  readonly #statements;

  constructor(
    database: Sqlite,
    parts: { lines: LineTable; entries: EntryChanges; audit: AuditTable; afterLoss: AfterLoss },
  ) {
    this.#lines = parts.lines;
    this.#entries = parts.entries;
    this.#audit = parts.audit;
    this.#afterLoss = parts.afterLoss;
    this.#unmapped = new UnmappedSkus(database);
    this.#unreadable = new UnreadableFlags(database, parts.lines);
    this.#statements = {
      seen: database.prepare<[string, string], { modified_ms: number; closed: number }>(
        'SELECT modified_ms, closed FROM storefront_orders WHERE source = ? AND order_id = ?',
      ),
      remember: database.prepare(
        `INSERT INTO storefront_orders (source, order_id, modified_ms, closed, seen_at_ms, awaits_read_back)
         VALUES (:source, :orderId, :modifiedMs, :closed, :nowMs, :awaitsReadBack)
         ON CONFLICT (source, order_id) DO UPDATE SET modified_ms = :modifiedMs, closed = :closed, seen_at_ms = :nowMs,
           awaits_read_back = :awaitsReadBack`,
      ),
      rememberUnread: database.prepare(
        `INSERT INTO storefront_orders (source, order_id, modified_ms, closed, seen_at_ms) VALUES (:source, :orderId, :modifiedMs, 0, :nowMs)
         ON CONFLICT (source, order_id) DO UPDATE SET modified_ms = :modifiedMs, seen_at_ms = :nowMs`,
      ),
      line: database.prepare<[string, string, string], KnownLine>(
        `SELECT l.id, l.line_id, l.extra FROM lines l JOIN requests r ON r.id = l.request_id
         WHERE r.source = ? AND r.order_id = ? AND l.line_id = ?`,
      ),
      linesOfShop: database.prepare<[string, string], KnownLine>(
        `SELECT l.id, l.line_id, l.extra FROM lines l JOIN requests r ON r.id = l.request_id
         WHERE r.source = ? AND r.order_id = ? AND json_extract(l.extra, '$.sku') IS NOT NULL`,
      ),
      flaggedRefund: database.prepare<[string, string, string], { line_id: string | null }>(
        `SELECT line_id FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
         AND (line_id = ? OR line_id IS NULL) AND code = 'partially_refunded' ORDER BY line_id IS NULL LIMIT 1`,
      ),
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

  take(order: StorefrontOrder): StorefrontTaken {
    const { source, orderId, modifiedMs, nowMs, lines } = order;
    const seen = this.#statements.seen.get(source, orderId);
    if (seen !== undefined && isOlder(order, seen)) {
      return { ...nothing, stale: true, flagged: modifiedMs === seen.modified_ms ? this.#flagTie(order) : 0 };
    }
    const closed = order.closed ? 1 : 0;
    this.#statements.remember.run({
      source,
      orderId,
      modifiedMs,
      closed,
      nowMs,
      awaitsReadBack: lines === null ? 1 : 0,
    });
    const taken = { ...nothing };
    if (lines === null) return taken;
    if (seen === undefined) {
      const skus = lines.filter((line) => !line.isMapped).map((line) => line.sku);
      this.#unmapped.seen(order, skus);
    }
    taken.flagged += this.#flagUnreadable(order);
    for (const line of lines) this.#takeLine(order, line, taken);
    if (seen !== undefined) this.#takeRemoved(order, lines, taken);
    if (order.closed) this.#lines.takeBackFlags({ source, orderId, lineId: null });
    return taken;
  }

  /** Flags an order that cannot be read, unless a newer state was seen before. Returns how many flags are new. */
  takeUnreadable({ orderId, ...order }: UnreadableStorefrontOrder): number {
    const { source, modifiedMs, nowMs } = order;
    if (orderId === null) return this.#unreadable.addWithoutId({ orderId, ...order });
    if (modifiedMs !== null) {
      if (modifiedMs < (this.#statements.seen.get(source, orderId)?.modified_ms ?? 0)) return 0;
      this.#statements.rememberUnread.run({ source, orderId, modifiedMs, nowMs });
    }
    return this.#unreadable.setOrder({ ...order, orderId });
  }

  /**
   * Flags the lines that cannot be read, and withdraws the flags of those that were corrected. What is known of such a
   * line stays as it is.
   */
  #flagUnreadable(order: StorefrontOrder): number {
    const lines = order.unreadable.flatMap(({ lineId, field, rule, isDue }) => {
      const known = lineId === null ? undefined : this.#knownLine(order, lineId);
      if (known !== undefined && this.#openEntries(known).length > 0) {
        const why = 'what changed after it was ordered is not applied';
        return [{ lineId, field, rule: `${rule}; ${why}: ${correctIt}` }];
      }
      return isDue ? [{ lineId, field, rule: `${rule}; nothing was bought for it: ${correctIt}` }] : [];
    });
    return this.#unreadable.setLines(order, lines);
  }

  /** Whether the order still has this line, perhaps in a form that cannot be read. */
  #mayBePresent(order: StorefrontOrder, { line_id: lineId, extra }: KnownLine): boolean {
    return order.unreadable.some((line) =>
      line.lineId === null ? line.sku === null || line.sku === factsFrom(extra).sku : line.lineId === lineId,
    );
  }

  /** Paid and closed in the same second: nobody knows which came last, so it is not bought, and it is flagged. */
  #flagTie(order: StorefrontOrder): number {
    const flagged = (order.lines ?? []).filter((line) => {
      if (line.buy === null) return false;
      const known = this.#knownLine(order, line.lineId);
      return (known === undefined || this.#wasCancelledByShop(known)) && this.#flag(order, line.lineId, paidAndClosed);
    });
    return flagged.length;
  }

  #takeLine(order: StorefrontOrder, line: StorefrontLine, taken: Counts): void {
    const known = this.#knownLine(order, line.lineId);
    if (known !== undefined) {
      this.#entries.takeBack(known.id, line.remaining === 0);
      this.#takeKnownLine(order, line, known, taken);
      return;
    }
    this.#takeNewLine(order, line, taken);
    const { source, orderId } = order;
    if (line.remaining === 0) this.#lines.takeBackFlags({ source, orderId, lineId: line.lineId });
  }

  #takeNewLine(order: StorefrontOrder, line: StorefrontLine, taken: Counts): void {
    const { lineId, buy, hold } = line;
    // A person who was told that the line was not bought may have bought it elsewhere since.
    const flagged = this.#statements.flaggedRefund.get(order.source, order.orderId, lineId);
    if (buy !== null && flagged === undefined) {
      this.#lines.insertNew({ ...buy, lineNumber: null }, order.nowMs);
      taken.accepted += 1;
      return;
    }
    // The flag may be on the order as a whole, from a time when it did not have this line.
    const flag = buy !== null && flagged?.line_id === null ? orderWasFlagged : hold;
    if (flag !== null && this.#flag(order, lineId, flag)) taken.flagged += 1;
  }

  #takeKnownLine(order: StorefrontOrder, line: StorefrontLine, known: KnownLine, taken: Counts): void {
    const { lineId, sku, remaining, buy, hold } = line;
    const was = factsFrom(known.extra);
    if ((buy ?? hold) !== null && this.#wasCancelledByShop(known)) {
      const rule = `was taken back before it was bought, and the shop's order is paid for ${remaining} of "${sku}" now: nothing was bought`;
      if (this.#flag(order, lineId, hold ?? flagOf('paid_after_taken_back', rule))) taken.flagged += 1;
    } else if (was.sku === sku && was.quantity === remaining && !order.refundUnclear) {
      // SKU and quantity of the shop are compared: another SKU map changes nothing about what was bought.
      taken.known += 1;
    } else if (was.sku === sku && remaining < was.quantity) {
      this.#refund(order, line, { known, was: was.quantity }, taken);
    } else if (order.refundUnclear) {
      const isOpen = order.onRefund !== 'ignore' && this.#openEntries(known).length > 0;
      if (isOpen && this.#flag(order, lineId, unclearRefund)) taken.flagged += 1;
    } else {
      const rule = `was bought as ${was.quantity} of "${was.sku}", and the shop's order now has ${remaining} of "${sku}": nothing more was bought`;
      if (this.#flag(order, lineId, flagOf('changed_after_purchase', rule))) taken.flagged += 1;
    }
  }

  /** A line that was removed from the shop's order is treated as refunded. */
  #takeRemoved(order: StorefrontOrder, lines: readonly StorefrontLine[], taken: Counts): void {
    const present = new Set(lines.map((line) => line.lineId));
    for (const known of this.#statements.linesOfShop.all(order.source, order.orderId)) {
      if (present.has(known.line_id) || this.#mayBePresent(order, known)) continue;
      this.#entries.takeBack(known.id, true);
      const was = factsFrom(known.extra);
      const removed = { lineId: known.line_id, sku: was.sku, isMapped: true, remaining: 0, buy: null, hold: null };
      this.#refund(order, removed, { known, was: was.quantity }, taken);
    }
  }

  #knownLine(order: StorefrontOrder, lineId: string): KnownLine | undefined {
    return this.#statements.line.get(order.source, order.orderId, lineId);
  }

  #openEntries(known: KnownLine): readonly EntryRow[] {
    return this.#statements.entries.all(known.id).filter((row) => !needsNoRefund.has(row.state));
  }

  /** The shop has fewer of the line than were ordered. */
  #refund(
    order: StorefrontOrder,
    line: StorefrontLine,
    before: { known: KnownLine; was: number },
    taken: Counts,
  ): void {
    const { known, was } = before;
    if (order.onRefund === 'ignore') return;
    const open = this.#openEntries(known);
    if (open.length === 0) return;
    const isWhole = line.remaining === 0;
    if (isWhole) taken.takenBack += this.#cancelUnbought(order, open);
    // Of a line that was split, some parts may be bought and others not.
    const left = isWhole ? open.filter((row) => !this.#afterLoss.isSurelyUnbought(row)) : open;
    if (left.length === 0) return;
    if (isWhole && order.onRefund === 'cancel_esim' && this.#cancelEsims(order, known, left, taken)) return;
    if (!isWhole && this.#lowerUnsent(order, line, known, open)) {
      taken.takenBack += 1;
      return;
    }
    const references = left.map((row) => row.reference).join(', ');
    const rule = `${was - line.remaining} of ${was} were refunded or removed in the storefront after it was ordered under ${references}: decide what becomes of it`;
    if (this.#flag(order, line.lineId, flagOf('refunded_in_storefront', rule))) taken.flagged += 1;
  }

  /** Cancels the entries that are surely not bought yet: nobody pays for them any more. Returns how many. */
  #cancelUnbought(order: StorefrontOrder, open: readonly EntryRow[]): number {
    const unbought = open.filter((row) => this.#afterLoss.isSurelyUnbought(row));
    for (const row of unbought) {
      this.#entries.cancel(row, 'the storefront refunded it before it was bought', order.nowMs);
    }
    if (unbought.length > 0) {
      this.#record(order, 'cancel', unbought, 'refunded or cancelled in the storefront before it was bought');
    }
    return unbought.length;
  }

  /** Whether nothing of the line was bought because the shop, or its caller, took all of it back. */
  #wasCancelledByShop(known: KnownLine): boolean {
    const rows = this.#statements.entries.all(known.id).filter((row) => row.replaced === 0);
    return rows.every((row) => row.state === 'cancelled' && row.error_code !== 'cancelled_by_person');
  }

  /** Lowers an entry that was surely not sent yet to what is left. False when it cannot be lowered. */
  #lowerUnsent(order: StorefrontOrder, line: StorefrontLine, known: KnownLine, open: readonly EntryRow[]): boolean {
    const [row] = open;
    const { buy } = line;
    if (row === undefined || open.length > 1 || buy === null || buy.quantity === null) return false;
    if (!this.#afterLoss.isSurelyUnsent(row)) return false;
    // With another SKU map it would become another purchase: a person decides about that.
    const isSame = purchaseFields.every((field) => field === 'quantity' || row[field] === buy[field]);
    if (!isSame || !this.#entries.lowerQuantity(row, buy.quantity, order.nowMs)) return false;
    const extra = JSON.stringify(buy.extra);
    this.#statements.lowerLine.run({ id: known.id, quantity: buy.quantity, extra, fingerprint: fingerprintOf(buy) });
    this.#record(order, 'lower', open, `the storefront's order has ${line.remaining} left, and it was not sent yet`);
    return true;
  }

  /** Orders the cancel of each eSIM of a line. False when not all of them can be cancelled. */
  #cancelEsims(order: StorefrontOrder, known: KnownLine, open: readonly EntryRow[], taken: Counts): boolean {
    if (open.some((row) => row.operation !== 'esim_order' || row.state !== 'fulfilled')) return false;
    const iccids = this.#statements.esims.all(known.id);
    if (iccids.length === 0) return false;
    const added = iccids
      .map((iccid) => cancelLine(order, `${known.line_id}:cancel:${iccid}`, iccid))
      .filter(({ lineId }) => this.#knownLine(order, lineId) === undefined);
    for (const line of added) this.#lines.insertNew({ ...line, lineNumber: null }, order.nowMs);
    taken.accepted += added.length;
    if (added.length > 0) this.#record(order, 'cancel_esim', open, 'refunded or cancelled in the storefront');
    return true;
  }

  /** Flags a line for review, once. Returns whether it is new. */
  #flag(order: StorefrontOrder, lineId: string, flag: Flag): boolean {
    const { source, orderId, nowMs } = order;
    return this.#lines.flagOnce({ ...flag, lineNumber: null, source, orderId, lineId }, nowMs);
  }

  #record(order: StorefrontOrder, action: string, rows: readonly EntryRow[], reason: string): void {
    const { actor, nowMs } = order;
    const detail = { references: rows.map((row) => row.reference) };
    this.#audit.record({ actor, reason, nowMs, action, subject: `${order.source}/${order.orderId}`, detail });
  }
}

type Counts = { -readonly [Key in keyof StorefrontTaken]: StorefrontTaken[Key] };

const nothing: Counts = { accepted: 0, known: 0, flagged: 0, takenBack: 0, stale: false };

function flagOf(code: string, rule: string): Flag {
  return { code, field: null, rule, value: null };
}

const correctIt = 'correct the line in the shop, and it is taken in by itself';

const unclearRefund = flagOf(
  'refunded_in_storefront',
  'the order was refunded in part after it was bought, and the storefront does not say which line: decide what becomes of it',
);

const orderWasFlagged = flagOf(
  'partially_refunded',
  'belongs to an order that was flagged for review, because its partial refund named no line; nothing was bought for this line',
);

const paidAndClosed = flagOf(
  'paid_and_closed',
  'the order was paid and closed within the same second of the storefront, so nothing was bought: look at it there. It is bought when the storefront shows it as paid again',
);

/** Within the same second a closed order stays closed: what was not bought can be bought later, but not the reverse. */
function isOlder(order: StorefrontOrder, seen: { modified_ms: number; closed: number }): boolean {
  if (order.modifiedMs !== seen.modified_ms) return order.modifiedMs < seen.modified_ms;
  return seen.closed === 1 && !order.closed;
}

function factsFrom(extra: string): { sku: string; quantity: number } {
  const facts = textsFrom(extra);
  return { sku: facts['sku'] ?? '', quantity: Number(facts['shop_quantity'] ?? 0) };
}

function cancelLine(order: StorefrontOrder, lineId: string, iccid: string): AcceptableLine {
  const { source, orderId } = order;
  const none = { variant: null, plan: null, quantity: null, days: null, currency: null, notAfterMs: null };
  return { source, orderId, lineId, operation: 'esim_cancel', iccid, ...none, metadata: {}, extra: {} };
}
