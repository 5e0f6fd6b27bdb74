import type { EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { purchaseFields } from '../../core/order/purchase.ts';
import type { LineTable } from '../intake/accept-lines.ts';
import type { AuditTable } from '../operator/audit.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import type { AfterLoss } from '../submission/after-loss.ts';
import { endedUnbought, type EntryChanges } from '../submission/entry-changes.ts';
import { ChangedLines, whyChanged, type KnownLine, type Vanished } from './changed-lines.ts';
import { samePurchase } from '../../core/entry/operator-decision.ts';
import { isOlder, leastLines, NewestStates, type SeenState } from './newest-states.ts';
import type { Rechecks } from './rechecks.ts';
import type { ShopHolds } from './shop-holds.ts';
import { UnmappedSkus } from './storefront-skus.ts';
import type { StorefrontLine, StorefrontOrder, StorefrontTaken, UnreadableStorefrontOrder } from './storefronts.ts';
import { UnreadableFlags } from './unreadable-flags.ts';
import {
  correctIt,
  factsFrom,
  flagOf,
  paidAndClosed,
  paidAndDeleted,
  paidAndNot,
  unclearRefund,
  whyFlagged,
  whyLineIsNotBought,
  whyOrderIsNotBought,
  whyUnreadLine,
  whyUnreadOrder,
  type Flag,
} from './why-not-bought.ts';

/** Whose order leads to a change. */
type Acting = Pick<StorefrontOrder, 'source' | 'orderId' | 'actor' | 'nowMs'>;

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
  readonly #newest: NewestStates;
  readonly #holds: ShopHolds;
  readonly #rechecks: Rechecks;
  readonly #changed: ChangedLines;
  readonly #statements;

  constructor(
    database: Sqlite,
    parts: {
      lines: LineTable;
      entries: EntryChanges;
      audit: AuditTable;
      afterLoss: AfterLoss;
      shopHolds: ShopHolds;
      rechecks: Rechecks;
    },
  ) {
    this.#lines = parts.lines;
    this.#entries = parts.entries;
    this.#audit = parts.audit;
    this.#afterLoss = parts.afterLoss;
    this.#unmapped = new UnmappedSkus(database);
    this.#unreadable = new UnreadableFlags(database, parts.lines);
    this.#newest = new NewestStates(database);
    this.#holds = parts.shopHolds;
    this.#rechecks = parts.rechecks;
    this.#changed = new ChangedLines(database, parts.afterLoss);
    this.#statements = {
      line: database.prepare<[string, string, string], KnownLine>(
        `SELECT l.id, l.line_id, l.extra, l.same_as FROM lines l JOIN requests r ON r.id = l.request_id
         WHERE r.source = ? AND r.order_id = ? AND l.line_id = ?`,
      ),
      flag: database.prepare<[string, string, string], { code: string; isAcknowledged: number }>(
        `SELECT code, acknowledged_at_ms IS NOT NULL AS isAcknowledged FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
         AND (line_id = ? OR line_id IS NULL) AND code NOT IN ('paid_and_closed', 'two_states_in_one_second', 'unreadable_line', 'unreadable_order', 'too_many_flags')
         ORDER BY line_id IS NULL LIMIT 1`,
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

  take(given: StorefrontOrder): StorefrontTaken {
    const seen = this.#newest.find(given);
    if (seen !== null && isOlder(given, seen)) return { ...nothing, stale: true, flagged: this.#flagTie(given, seen) };
    const least = leastLines(given, seen);
    // Of what one of two states in the same second does not have, nothing is ordered later either.
    const isSame = least === null || least.every((line, index) => line === given.lines?.[index]);
    const order = { ...given, lines: least, keptOrder: isSame ? (given.keptOrder ?? null) : null };
    this.#newest.remember(order, seen);
    const taken = { ...nothing };
    const lines = order.lines ?? [];
    if (seen === null) {
      const skus = lines.filter((line) => !line.isMapped).map((line) => line.sku);
      this.#unmapped.seen(order, skus);
    }
    taken.flagged += this.#flagUnreadable(order);
    // New lines first: one of them may stand for a line that has vanished, of which nothing is refunded then.
    const isKnown = new Map(lines.map((line) => [line, this.#knownLine(order, line.lineId) !== undefined]));
    for (const line of lines.toSorted((a, b) => Number(isKnown.get(a)) - Number(isKnown.get(b)))) {
      this.#takeLine(order, line, taken);
    }
    if (seen !== null && order.lines !== null) this.#takeRemoved(order, lines, taken);
    const { source, orderId, state } = order;
    if (state === 'closed' || state === 'deleted') this.#lines.takeBackFlags({ source, orderId, lineId: null });
    this.#applyHolds(order, taken);
    // The claim judges by the age of this state, so one that a webhook brings is enough if it is new.
    const isNewer = seen === null || order.modifiedMs > seen.modifiedMs;
    if (order.isReadNow === true || isNewer) taken.released += this.#rechecks.end(order);
    return taken;
  }

  /** Flags an order that cannot be read, unless a newer state was seen before. Returns how many flags are new. */
  takeUnreadable({ orderId, ...order }: UnreadableStorefrontOrder): number {
    const { source, modifiedMs, nowMs } = order;
    if (orderId === null) return this.#unreadable.addWithoutId({ orderId, ...order });
    if (modifiedMs !== null) {
      if (modifiedMs < (this.#newest.find({ source, orderId })?.modifiedMs ?? 0)) return 0;
      this.#newest.rememberUnread({ source, orderId, modifiedMs, nowMs });
    }
    // The next state that can be read releases them, or says why not.
    for (const known of this.#changed.linesOf({ source, orderId })) {
      const { held } = this.#holds.apply(known.id, { why: whyUnreadOrder, stillWhy: null }, nowMs);
      if (held.length > 0) this.#record({ ...order, orderId }, 'hold', held, whyUnreadOrder);
    }
    return this.#unreadable.setOrder({ ...order, orderId });
  }

  /**
   * Flags the lines that cannot be read, and withdraws the flags of those that were corrected. What is unsent of such a
   * line is held.
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

  /**
   * An older state shows the order as paid, and it is not bought: within the same second nobody knows which state came last,
   * and for a deleted order the time of the deletion is not exact. Each line is flagged once.
   */
  #flagTie(order: StorefrontOrder, seen: SeenState): number {
    const isUnsure = order.modifiedMs === seen.modifiedMs || seen.state === 'deleted';
    // An order that is read back in a moment is bought or flagged then.
    if (!isUnsure || seen.awaitsReadBack) return 0;
    const flag = seen.state === 'deleted' ? paidAndDeleted : seen.state === 'closed' ? paidAndClosed : paidAndNot;
    const flagged = (order.lines ?? []).filter((line) => {
      if (line.buy === null) return false;
      const known = this.#knownLine(order, line.lineId);
      return (known === undefined || this.#wasCancelledByShop(known)) && this.#flag(order, line.lineId, flag);
    });
    return flagged.length;
  }

  /** Holds what is unsent of lines that the newest state does not allow to buy, and releases what it allows again. */
  #applyHolds(order: StorefrontOrder, taken: Counts): void {
    const { nowMs } = order;
    const ofOrder = whyOrderIsNotBought(order);
    for (const known of this.#changed.linesOf(order)) {
      const line = this.#changed.lineNow(order, known);
      const isUnknown = line === undefined && this.#mayBePresent(order, known);
      const why = ofOrder ?? (isUnknown ? whyUnreadLine : whyLineIsNotBought(order, line, factsFrom(known.extra)));
      const { held, released } = this.#holds.apply(known.id, { why, stillWhy: line?.hold?.rule ?? null }, nowMs);
      taken.flagged += held.length;
      taken.released += released.length;
      if (held.length > 0) this.#record(order, 'hold', held, why ?? '');
      if (released.length > 0) this.#record(order, 'release', released, 'the storefront shows the order as paid again');
    }
  }

  #takeLine(order: StorefrontOrder, line: StorefrontLine, taken: Counts): void {
    const known = this.#knownLine(order, line.lineId);
    if (known !== undefined) {
      if (line.remaining === 0 && this.#changed.lineNow(order, known) !== line) return;
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
    if (buy === null) {
      if (hold !== null && this.#flag(order, lineId, hold)) taken.flagged += 1;
      return;
    }
    const old = this.#vanished(order, line, taken);
    this.#lines.insertNew({ ...buy, lineNumber: null }, order.nowMs);
    // A person who was told that the line was not bought may have bought it elsewhere since.
    const told = this.#statements.flag.get(order.source, order.orderId, lineId);
    if (old !== null) this.#holdNewLine(order, lineId, whyChanged(old), taken, old.known);
    else if (told === undefined || (order.takesUnmapped === true && isOpenForSku(told))) taken.accepted += 1;
    else this.#holdNewLine(order, lineId, whyFlagged(told.code), taken);
  }

  /**
   * The line that vanished and that a new one may stand for. A line of which nothing was bought yet is cancelled, because
   * the new one takes its place; then there is none.
   */
  #vanished(order: StorefrontOrder, line: StorefrontLine, taken: Counts): Vanished | null {
    const found = this.#changed.vanishedFor(order, line.sku).filter(({ known }) => !this.#mayBePresent(order, known));
    const bought = found.find(({ rows }) => !this.#changed.canBeReplaced(rows));
    const [old] = found;
    if (bought !== undefined || old === undefined) return bought ?? null;
    const why = `the storefront's order has the line ${line.lineId} in its place`;
    for (const row of old.rows) this.#entries.cancel(row, why, order.nowMs);
    this.#record(order, 'cancel', old.rows, why);
    taken.takenBack += old.rows.length;
    return null;
  }

  /** A line that could be bought now, and that a person must release. */
  #holdNewLine(order: StorefrontOrder, lineId: string, why: string, taken: Counts, old?: KnownLine): void {
    const known = this.#knownLine(order, lineId);
    assert(known !== undefined, `the line ${lineId} was inserted`);
    if (old !== undefined) this.#changed.markSame(known, old);
    for (const row of this.#statements.entries.all(known.id)) {
      this.#entries.hold(row, { why, by: null }, order.nowMs);
      taken.flagged += 1;
    }
  }

  #takeKnownLine(order: StorefrontOrder, line: StorefrontLine, known: KnownLine, taken: Counts): void {
    const { lineId, sku, remaining, buy, hold } = line;
    const was = factsFrom(known.extra);
    const boughtAs = this.#changed.boughtAs(known);
    // A person said that it is the same purchase: it speaks for the line that was bought.
    if (boughtAs !== null) return this.#takeKnownLine(order, { ...line, lineId: boughtAs.line_id }, boughtAs, taken);
    if ((buy ?? hold) !== null && this.#wasCancelledByShop(known)) {
      const rule = `was taken back before it was bought, and the shop's order is paid for ${remaining} of "${sku}" now: nothing was bought`;
      if (this.#flag(order, lineId, hold ?? flagOf('paid_after_taken_back', rule))) taken.flagged += 1;
    } else if (was.sku === sku && was.quantity === remaining && !order.refundUnclear) {
      // SKU and quantity of the shop are compared: another SKU map changes nothing about what was bought.
      taken.known += 1;
    } else if (was.sku === sku && remaining < was.quantity) {
      this.#refund(order, line, { known, was: was.quantity }, taken);
    } else if (order.refundUnclear) {
      const open = order.onRefund === 'ignore' ? [] : this.#openEntries(known);
      if (open.length > 0 && !areUnsent(open) && this.#flag(order, lineId, unclearRefund)) taken.flagged += 1;
    } else if (was.sku === sku || !areUnsent(this.#openEntries(known))) {
      const rule = `was bought as ${was.quantity} of "${was.sku}", and the shop's order now has ${remaining} of "${sku}": nothing more was bought`;
      if (this.#flag(order, lineId, flagOf('changed_after_purchase', rule))) taken.flagged += 1;
    }
  }

  /** A line that was removed from the shop's order is treated as refunded. */
  #takeRemoved(order: StorefrontOrder, lines: readonly StorefrontLine[], taken: Counts): void {
    const present = new Set(lines.map((line) => line.lineId));
    for (const known of this.#changed.linesOf(order)) {
      if (present.has(known.line_id) || this.#mayBePresent(order, known)) continue;
      if (this.#changed.lineNow(order, known) !== undefined) continue;
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
    // It is held instead, which flags it.
    if (!isWhole && areUnsent(open)) return;
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
    const byPerson = ['cancelled_by_person', samePurchase];
    return rows.every((row) => row.state === 'cancelled' && !byPerson.includes(row.error_code ?? ''));
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
    return this.#lines.flagOnce({ ...flag, lineNumber: null, source, orderId, lineId }, nowMs, order.metadata);
  }

  #record(order: Acting, action: string, rows: readonly EntryRow[], reason: string): void {
    const { actor, nowMs, source, orderId } = order;
    const detail = { references: rows.map((row) => row.reference) };
    this.#audit.record({ actor, reason, nowMs, action, subject: `${source}/${orderId}`, detail });
  }
}

/** Whether a line was flagged because of its SKU, and nobody has said since that it is dealt with. */
function isOpenForSku({ code, isAcknowledged }: { code: string; isAcknowledged: number }): boolean {
  return code === 'unknown_sku' && isAcknowledged === 0;
}

/** Whether there are entries, and all of them can be held, or are: that flags them. */
function areUnsent(open: readonly EntryRow[]): boolean {
  return open.length > 0 && open.every(({ state }) => state === 'pending' || state === 'waiting' || state === 'held');
}

type Counts = { -readonly [Key in keyof StorefrontTaken]: StorefrontTaken[Key] };

const nothing: Counts = { accepted: 0, known: 0, flagged: 0, takenBack: 0, released: 0, stale: false };

function cancelLine(order: StorefrontOrder, lineId: string, iccid: string): AcceptableLine {
  const { source, orderId } = order;
  const none = { variant: null, plan: null, quantity: null, days: null, currency: null, notAfterMs: null };
  return { source, orderId, lineId, operation: 'esim_cancel', iccid, ...none, metadata: {}, extra: {} };
}
