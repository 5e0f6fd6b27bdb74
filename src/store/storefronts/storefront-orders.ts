import { takeBackFlags } from '../intake/rejections.ts';
import { insertLines } from '../intake/new-lines.ts';
import { assert } from '../../core/order-sync-error.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { cancelEntry, holdEntry, setTakenBack } from '../submission/entry-changes.ts';
import { ChangedLines, whyChanged, type KnownLine, type Vanished } from './changed-lines.ts';
import { samePurchase } from '../../core/operator/operator-decision.ts';
import { isOlder, leastLines, NewestStates, type SeenState } from './newest-states.ts';
import { OrderRecords } from './order-records.ts';
import { endRecheck } from '../submission/rechecks.ts';
import { applyShopHold } from '../submission/shop-holds.ts';
import { areUnsent, ShopRefunds } from './shop-refunds.ts';
import { UnmappedSkus } from './storefront-skus.ts';
import type {
  StorefrontLine,
  StorefrontOrder,
  StorefrontTaken,
  TakenCounts,
  UnreadableStorefrontOrder,
} from './storefronts.ts';
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
} from './why-not-bought.ts';

/**
 * Takes in the state of a storefront's order: buys what is paid for and not bought yet, cancels what was refunded and
 * not bought yet, and flags every other change for review. States may come in any order and any number of times: the
 * newest one counts, and each change acts once. Called inside a transaction.
 */
export class StorefrontOrders {
  readonly #outbox: Outbox;
  readonly #records: OrderRecords;
  readonly #refunds: ShopRefunds;
  readonly #unmapped: UnmappedSkus;
  readonly #unreadable: UnreadableFlags;
  readonly #newest: NewestStates;
  readonly #changed: ChangedLines;
  readonly #statements;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
    const { database } = outbox;
    this.#records = new OrderRecords(database, { outbox });
    this.#unmapped = new UnmappedSkus(database);
    this.#unreadable = new UnreadableFlags(database, outbox);
    this.#newest = new NewestStates(database);
    this.#changed = new ChangedLines(database);
    this.#refunds = new ShopRefunds(outbox, { changed: this.#changed, records: this.#records });
    this.#statements = {
      flag: database.prepare<[string, string, string], { code: string }>(
        `SELECT code FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
         AND (line_id = ? OR line_id IS NULL) AND code NOT IN ('paid_and_closed', 'two_states_in_one_second', 'unreadable_line', 'unreadable_order', 'too_many_flags')
         ORDER BY line_id IS NULL LIMIT 1`,
      ),
      entries: database.prepare<[number], EntryRow>('SELECT * FROM entries WHERE line_id = ? ORDER BY id'),
    };
  }

  take(given: StorefrontOrder): StorefrontTaken {
    const seen = this.#newest.find(given);
    if (seen !== null && isOlder(given, seen)) return { ...nothing, stale: true, flagged: this.#flagTie(given, seen) };
    const least = leastLines(given, seen);
    // A line that is missing in one of two states of the same second is not ordered later either.
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
    const isKnown = new Map(lines.map((line) => [line, this.#changed.find(order, line.lineId) !== undefined]));
    for (const line of lines.toSorted((a, b) => Number(isKnown.get(a)) - Number(isKnown.get(b)))) {
      this.#takeLine(order, line, taken);
    }
    if (seen !== null && order.lines !== null) this.#takeRemoved(order, lines, taken);
    const { source, orderId, state } = order;
    if (state === 'closed' || state === 'deleted')
      takeBackFlags(this.#outbox.database, { source, orderId, lineId: null });
    this.#applyHolds(order, taken);
    // The claim judges by the age of this state, so one that a webhook brings is enough if it is new.
    const isNewer = seen === null || order.modifiedMs > seen.modifiedMs;
    if (order.isReadNow === true || isNewer) taken.released += endRecheck(this.#outbox.database, order);
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
      const { held } = applyShopHold(this.#outbox, known.id, { why: whyUnreadOrder, stillWhy: null }, nowMs);
      if (held.length > 0) this.#records.audit({ ...order, orderId }, 'hold', held, whyUnreadOrder);
    }
    return this.#unreadable.setOrder({ ...order, orderId });
  }

  /**
   * Flags the lines that cannot be read, and withdraws the flags of those that were corrected. The unsent entries of such a
   * line are held.
   */
  #flagUnreadable(order: StorefrontOrder): number {
    const lines = order.unreadable.flatMap(({ lineId, field, rule, isDue }) => {
      const known = lineId === null ? undefined : this.#changed.find(order, lineId);
      if (known !== undefined && this.#refunds.openEntries(known).length > 0) {
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
      const known = this.#changed.find(order, line.lineId);
      return (known === undefined || this.#wasCancelledByShop(known)) && this.#records.flag(order, line.lineId, flag);
    });
    return flagged.length;
  }

  /** Holds what is unsent of lines that the newest state does not allow to buy, and releases what it allows again. */
  #applyHolds(order: StorefrontOrder, taken: TakenCounts): void {
    const { nowMs } = order;
    const ofOrder = whyOrderIsNotBought(order);
    for (const known of this.#changed.linesOf(order)) {
      const line = this.#changed.lineNow(order, known);
      const isUnknown = line === undefined && this.#mayBePresent(order, known);
      const why = ofOrder ?? (isUnknown ? whyUnreadLine : whyLineIsNotBought(order, line, factsFrom(known.extra)));
      const { held, released } = applyShopHold(
        this.#outbox,
        known.id,
        { why, stillWhy: line?.hold?.rule ?? null },
        nowMs,
      );
      taken.flagged += held.length;
      taken.released += released.length;
      if (held.length > 0) this.#records.audit(order, 'hold', held, why ?? '');
      if (released.length > 0)
        this.#records.audit(order, 'release', released, 'the storefront shows the order as paid again');
    }
  }

  #takeLine(order: StorefrontOrder, line: StorefrontLine, taken: TakenCounts): void {
    const known = this.#changed.find(order, line.lineId);
    if (known !== undefined) {
      if (line.remaining === 0 && this.#changed.lineNow(order, known) !== line) return;
      setTakenBack(this.#outbox.database, known.id, line.remaining === 0);
      this.#takeKnownLine(order, line, known, taken);
      return;
    }
    this.#takeNewLine(order, line, taken);
    const { source, orderId } = order;
    if (line.remaining === 0) takeBackFlags(this.#outbox.database, { source, orderId, lineId: line.lineId });
  }

  #takeNewLine(order: StorefrontOrder, line: StorefrontLine, taken: TakenCounts): void {
    const { lineId, buy, hold } = line;
    if (buy === null) {
      if (hold !== null && this.#records.flag(order, lineId, hold)) taken.flagged += 1;
      return;
    }
    const old = this.#vanished(order, line, taken);
    insertLines(this.#outbox, [buy], order.nowMs);
    // A person who was told that the line was not bought may have bought it elsewhere since.
    const told = this.#statements.flag.get(order.source, order.orderId, lineId);
    if (old !== null) this.#holdNewLine(order, lineId, whyChanged(old), taken, old.known);
    else if (told === undefined) taken.accepted += 1;
    else this.#holdNewLine(order, lineId, whyFlagged(told.code), taken);
  }

  /**
   * The line that vanished and that a new one may stand for. A line of which nothing was bought yet is cancelled, because
   * the new one takes its place; then there is none.
   */
  #vanished(order: StorefrontOrder, line: StorefrontLine, taken: TakenCounts): Vanished | null {
    const found = this.#changed.vanishedFor(order, line.sku).filter(({ known }) => !this.#mayBePresent(order, known));
    const bought = found.find(({ rows }) => !this.#changed.canBeReplaced(rows));
    const [old] = found;
    if (bought !== undefined || old === undefined) return bought ?? null;
    const why = `the storefront's order has the line ${line.lineId} in its place`;
    for (const row of old.rows) cancelEntry(this.#outbox, row, why, order.nowMs);
    this.#records.audit(order, 'cancel', old.rows, why);
    taken.takenBack += old.rows.length;
    return null;
  }

  /** A line that could be bought now, and that a person must release. */
  #holdNewLine(order: StorefrontOrder, lineId: string, why: string, taken: TakenCounts, old?: KnownLine): void {
    const known = this.#changed.find(order, lineId);
    assert(known !== undefined, `the line ${lineId} was inserted`);
    if (old !== undefined) this.#changed.markSame(known, old);
    for (const row of this.#statements.entries.all(known.id)) {
      holdEntry(this.#outbox, row, { why, by: null }, order.nowMs);
      taken.flagged += 1;
    }
  }

  #takeKnownLine(order: StorefrontOrder, line: StorefrontLine, known: KnownLine, taken: TakenCounts): void {
    const { lineId, sku, remaining, buy, hold } = line;
    const was = factsFrom(known.extra);
    const boughtAs = this.#changed.boughtAs(known);
    // A person said that it is the same purchase: it speaks for the line that was bought.
    if (boughtAs !== null) return this.#takeKnownLine(order, { ...line, lineId: boughtAs.line_id }, boughtAs, taken);
    if ((buy ?? hold) !== null && this.#wasCancelledByShop(known)) {
      const rule = `was taken back before it was bought, and the shop's order is paid for ${remaining} of "${sku}" now: nothing was bought`;
      if (this.#records.flag(order, lineId, hold ?? flagOf('paid_after_taken_back', rule))) taken.flagged += 1;
    } else if (was.sku === sku && was.quantity === remaining && !order.refundUnclear) {
      // SKU and quantity of the shop are compared: another SKU map changes nothing about what was bought.
      taken.known += 1;
    } else if (was.sku === sku && remaining < was.quantity) {
      this.#refunds.take(order, line, { known, was: was.quantity }, taken);
    } else if (order.refundUnclear) {
      const open = order.onRefund === 'ignore' ? [] : this.#refunds.openEntries(known);
      if (open.length > 0 && !areUnsent(open) && this.#records.flag(order, lineId, unclearRefund)) taken.flagged += 1;
    } else if (was.sku === sku || !areUnsent(this.#refunds.openEntries(known))) {
      const rule = `was bought as ${was.quantity} of "${was.sku}", and the shop's order now has ${remaining} of "${sku}": nothing more was bought`;
      if (this.#records.flag(order, lineId, flagOf('changed_after_purchase', rule))) taken.flagged += 1;
    }
  }

  /** A line that was removed from the shop's order is treated as refunded. */
  #takeRemoved(order: StorefrontOrder, lines: readonly StorefrontLine[], taken: TakenCounts): void {
    const present = new Set(lines.map((line) => line.lineId));
    for (const known of this.#changed.linesOf(order)) {
      if (present.has(known.line_id) || this.#mayBePresent(order, known)) continue;
      if (this.#changed.lineNow(order, known) !== undefined) continue;
      setTakenBack(this.#outbox.database, known.id, true);
      const was = factsFrom(known.extra);
      const removed = { lineId: known.line_id, sku: was.sku, isMapped: true, remaining: 0, buy: null, hold: null };
      this.#refunds.take(order, removed, { known, was: was.quantity }, taken);
    }
  }

  /** Whether nothing of the line was bought because the shop, or its caller, took all of it back. */
  #wasCancelledByShop(known: KnownLine): boolean {
    const rows = this.#statements.entries.all(known.id).filter((row) => row.replaced === 0);
    const byPerson = ['cancelled_by_person', samePurchase];
    return rows.every((row) => row.state === 'cancelled' && !byPerson.includes(row.error_code ?? ''));
  }
}

const nothing: TakenCounts = { accepted: 0, known: 0, flagged: 0, takenBack: 0, released: 0, stale: false };
