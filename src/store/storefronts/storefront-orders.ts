import type { EntryState } from '../../core/entry/states.ts';
import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { purchaseFields } from '../../core/order/purchase.ts';
import type { AuditTable } from '../operator/audit.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { EntryChanges } from '../submission/entry-changes.ts';
import type { LineTable } from '../intake/accept-lines.ts';
import { textsFrom, type EntryRow } from '../sqlite/rows.ts';
import type { StorefrontLine, StorefrontOrder, StorefrontTaken } from './storefronts.ts';
import { UnmappedSkus } from './storefront-skus.ts';
import type { AfterLoss } from '../submission/after-loss.ts';
import { isUnsent } from '../intake/cancel-unsent.ts';

interface KnownLine {
  readonly id: number;
  readonly extra: string;
}

/** Ends in which nothing was bought: a refund asks for nothing more. */
const nothingBought: ReadonlySet<EntryState> = new Set(['cancelled', 'expired', 'rejected', 'refunded']);

/**
 * Takes in the state of a storefront's order: buys what is paid for and not bought yet, takes back or undoes what was
 * refunded, and tells a person of everything else that changed after it was bought. States may come in any order and
 * any number of times: the newest one counts, and each consequence is drawn once.
 */
export class StorefrontOrders {
  readonly #lines: LineTable;
  readonly #entries: EntryChanges;
  readonly #audit: AuditTable;
  readonly #afterLoss: AfterLoss;
  readonly #unmapped: UnmappedSkus;
  readonly #statements;

  constructor(
    database: Sqlite,
    parts: { lines: LineTable; entries: EntryChanges; audit: AuditTable; afterLoss: AfterLoss },
  ) {
    this.#audit = parts.audit;
    this.#afterLoss = parts.afterLoss;
    this.#lines = parts.lines;
    this.#entries = parts.entries;
    this.#unmapped = new UnmappedSkus(database);
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
      line: database.prepare<[string, string, string], KnownLine>(
        `SELECT l.id, l.extra FROM lines l JOIN requests r ON r.id = l.request_id
         WHERE r.source = ? AND r.order_id = ? AND l.line_id = ?`,
      ),
      leftToPerson: database.prepare<[string, string, string], { line_id: string | null }>(
        `SELECT line_id FROM rejections WHERE file_id IS NULL AND source = ? AND order_id = ?
         AND (line_id = ? OR line_id IS NULL) AND code = 'partially_refunded' ORDER BY line_id IS NULL LIMIT 1`,
      ),
      lines: database.prepare<[string, string], KnownLine & { line_id: string }>(
        `SELECT l.id, l.line_id, l.extra FROM lines l JOIN requests r ON r.id = l.request_id
         WHERE r.source = ? AND r.order_id = ? AND json_extract(l.extra, '$.sku') IS NOT NULL`,
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

  /** Called inside a transaction. */
  take(order: StorefrontOrder): StorefrontTaken {
    const seen = this.#statements.seen.get(order.source, order.orderId);
    if (seen !== undefined && isOlder(order, seen)) {
      return { ...nothing, stale: true, flagged: order.modifiedMs === seen.modified_ms ? this.#tellTie(order) : 0 };
    }
    const { source, orderId, modifiedMs, nowMs } = order;
    const [closed, awaitsReadBack] = [order.closed ? 1 : 0, order.lines === null ? 1 : 0];
    this.#statements.remember.run({ source, orderId, modifiedMs, closed, nowMs, awaitsReadBack });
    const taken = { ...nothing };
    if (order.lines === null) return taken;
    if (seen === undefined) {
      const skus = order.lines.filter((line) => !line.isMapped).map((line) => line.sku);
      this.#unmapped.seen(order, skus);
    }
    for (const line of order.lines) this.#takeLine(order, line, taken);
    if (seen !== undefined) this.#takeRemoved(order, order.lines, taken);
    return taken;
  }

  /** Paid and closed in the same second, nobody knows which came last: it is not bought, but not without a word. */
  #tellTie(order: StorefrontOrder): number {
    const flagged = (order.lines ?? []).filter((line) => {
      if (line.buy === null) return false;
      const known = this.#statements.line.get(order.source, order.orderId, line.lineId);
      return (known === undefined || this.#wasTakenBack(known)) && this.#tell(order, line.lineId, paidAndClosed);
    });
    return flagged.length;
  }

  #takeLine(order: StorefrontOrder, line: StorefrontLine, taken: Counts): void {
    const known = this.#statements.line.get(order.source, order.orderId, line.lineId);
    if (known === undefined) {
      // Somebody who was told that it was not bought may have bought it elsewhere since.
      const left = this.#statements.leftToPerson.get(order.source, order.orderId, line.lineId);
      if (line.buy !== null && left === undefined) {
        this.#lines.insertNew({ ...line.buy, lineNumber: null }, order.nowMs);
        taken.accepted += 1;
      } else if (line.buy !== null && left?.line_id === null) {
        // Told of the order as a whole, which may not have had this line then.
        if (this.#tell(order, line.lineId, leftWithOrder)) taken.flagged += 1;
      } else if (line.hold !== null && this.#tell(order, line.lineId, line.hold)) taken.flagged += 1;
      return;
    }
    const was = factsFrom(known.extra);
    if ((line.buy ?? line.hold) !== null && this.#wasTakenBack(known)) {
      const rule = `was taken back before it was bought, and the shop's order is paid for ${line.remaining} of "${line.sku}" now: nothing was bought`;
      const what = line.hold ?? { code: 'paid_after_taken_back', field: null, rule, value: null };
      if (this.#tell(order, line.lineId, what)) taken.flagged += 1;
      return;
    }
    // What is wanted is told by the shop's own words: another SKU map changes nothing about what was bought.
    if (was.sku === line.sku && was.quantity === line.remaining && !order.refundUnclear) {
      taken.known += 1;
      return;
    }
    if (was.sku === line.sku && line.remaining < was.quantity) this.#refund(order, line, known, was.quantity, taken);
    else if (order.refundUnclear) {
      if (order.onRefund !== 'ignore' && this.#hasPurchase(known) && this.#tell(order, line.lineId, unclearRefund)) {
        taken.flagged += 1;
      }
    } else {
      const rule = `was bought as ${was.quantity} of "${was.sku}", and the shop's order now has ${line.remaining} of "${line.sku}": nothing more was bought`;
      if (this.#tell(order, line.lineId, { code: 'changed_after_purchase', field: null, rule, value: null })) {
        taken.flagged += 1;
      }
    }
  }

  /** What was ordered for a line that somebody has removed from the shop's order is like what was refunded. */
  #takeRemoved(order: StorefrontOrder, lines: readonly StorefrontLine[], taken: Counts): void {
    const there = new Set(lines.map((line) => line.lineId));
    for (const known of this.#statements.lines.all(order.source, order.orderId)) {
      if (there.has(known.line_id)) continue;
      const was = factsFrom(known.extra);
      const gone = { lineId: known.line_id, sku: was.sku, isMapped: true, remaining: 0, buy: null, hold: null };
      this.#refund(order, gone, known, was.quantity, taken);
    }
  }

  #hasPurchase(known: KnownLine): boolean {
    return this.#statements.entries.all(known.id).some((row) => !nothingBought.has(row.state));
  }

  #refund(order: StorefrontOrder, line: StorefrontLine, known: KnownLine, was: number, taken: Counts): void {
    if (order.onRefund === 'ignore') return;
    const open = this.#statements.entries.all(known.id).filter((row) => !nothingBought.has(row.state));
    if (open.length === 0) return;
    const isWhole = line.remaining === 0;
    if (isWhole) {
      const unbought = open.filter((row) => this.#isSurelyUnbought(row));
      for (const row of unbought) {
        this.#entries.cancelUnsentResult(row, 'the storefront refunded it before it was bought', order.nowMs);
      }
      if (unbought.length > 0) {
        this.#record(order, 'cancel', unbought, 'refunded or cancelled in the storefront before it was bought');
        taken.takenBack += unbought.length;
      }
    }
    // Of a line that was parted, some may be bought and others not.
    const left = isWhole ? open.filter((row) => !this.#isSurelyUnbought(row)) : open;
    if (left.length === 0) return;
    if (isWhole && order.onRefund === 'cancel_esim' && this.#cancelEsims(order, line, known, left, taken)) return;
    if (!isWhole && this.#lowerUnsent(order, line, known, open)) {
      taken.takenBack += 1;
      return;
    }
    const references = left.map((row) => row.reference).join(', ');
    const rule = `${was - line.remaining} of ${was} were refunded or removed in the storefront after it was ordered under ${references}: decide what becomes of it`;
    if (this.#tell(order, line.lineId, { code: 'refunded_in_storefront', field: null, rule, value: null })) {
      taken.flagged += 1;
    }
  }

  /** Never sent, or refused in a way that time may change: then it would be bought later, although nobody pays any more. */
  #isSurelyUnbought(row: EntryRow): boolean {
    if (this.#isSurelyUnsent(row)) return true;
    const isWaiting = (row.state === 'held' ? row.held_from : row.state) === 'waiting';
    const isClean =
      row.outcome_unknown === 0 && row.order_number === null && row.units === null && row.outcome_row !== null;
    return isWaiting && isClean && !this.#afterLoss.appliesTo(row);
  }

  /** Nothing of it was bought, because the shop or its caller took all of it back. */
  #wasTakenBack(known: KnownLine): boolean {
    const rows = this.#statements.entries.all(known.id).filter((row) => row.replaced === 0);
    return rows.every((row) => row.state === 'cancelled' && row.error_code !== 'cancelled_by_person');
  }

  /** Unsent by this outbox, and by no other one that was lost. */
  #isSurelyUnsent(row: EntryRow): boolean {
    return isUnsent(row) && !this.#afterLoss.appliesTo(row);
  }

  /** What was surely not sent yet is ordered with what is left. False when something speaks against it. */
  #lowerUnsent(order: StorefrontOrder, line: StorefrontLine, known: KnownLine, open: readonly EntryRow[]): boolean {
    const [row] = open;
    const { buy } = line;
    if (row === undefined || open.length > 1 || buy === null || buy.quantity === null) return false;
    if (!this.#isSurelyUnsent(row)) return false;
    // With another SKU map it would become another purchase: that is for a person.
    const isSame = purchaseFields.every((field) => field === 'quantity' || row[field] === buy[field]);
    if (!isSame || !this.#entries.lowerUnsent(row, buy.quantity, order.nowMs)) return false;
    const extra = JSON.stringify(buy.extra);
    this.#statements.lowerLine.run({ id: known.id, quantity: buy.quantity, extra, fingerprint: fingerprintOf(buy) });
    this.#record(order, 'lower', open, `the storefront's order has ${line.remaining} left, and it was not sent yet`);
    return true;
  }

  /** Orders the cancel of each eSIM of a line. False when that cannot be done for all of them: a person is told then. */
  #cancelEsims(
    order: StorefrontOrder,
    line: StorefrontLine,
    known: KnownLine,
    open: readonly EntryRow[],
    taken: Counts,
  ): boolean {
    if (open.some((row) => row.operation !== 'esim_order' || row.state !== 'fulfilled')) return false;
    const iccids = this.#statements.esims.all(known.id);
    if (iccids.length === 0) return false;
    const before = taken.accepted;
    for (const iccid of iccids) {
      const lineId = `${line.lineId}:cancel:${iccid}`;
      if (this.#statements.line.get(order.source, order.orderId, lineId) !== undefined) continue;
      this.#lines.insertNew({ ...cancelLine(order, lineId, iccid), lineNumber: null }, order.nowMs);
      taken.accepted += 1;
    }
    if (taken.accepted > before) this.#record(order, 'cancel_esim', open, 'refunded or cancelled in the storefront');
    return true;
  }

  /** Puts it before a person, once. Returns whether it is news. */
  #tell(order: StorefrontOrder, lineId: string, what: NonNullable<StorefrontLine['hold']>): boolean {
    const { source, orderId, nowMs } = order;
    return this.#lines.tellOnce({ ...what, lineNumber: null, source, orderId, lineId }, nowMs);
  }

  #record(order: StorefrontOrder, action: string, rows: readonly EntryRow[], reason: string): void {
    const { actor, nowMs } = order;
    const detail = { references: rows.map((row) => row.reference) };
    this.#audit.record({ actor, reason, nowMs, action, subject: `${order.source}/${order.orderId}`, detail });
  }
}

interface Counts {
  accepted: number;
  known: number;
  flagged: number;
  takenBack: number;
  stale: boolean;
}

const nothing: Counts = { accepted: 0, known: 0, flagged: 0, takenBack: 0, stale: false };

const unclearRefund = {
  code: 'refunded_in_storefront',
  field: null,
  rule: 'the order was refunded in part after it was bought, and the storefront does not say which line: decide what becomes of it',
  value: null,
};

const leftWithOrder = {
  code: 'partially_refunded',
  field: null,
  rule: 'belongs to an order that was left to a person when its partial refund was not said; nothing was bought for this line',
  value: null,
};

const paidAndClosed = {
  code: 'paid_and_closed',
  field: null,
  rule: 'the order was paid and closed within the same second of the storefront, so nothing was bought: look at it there. It is bought when the storefront shows it as paid again',
  value: null,
};

/** At the same second an order that is closed stays closed: not buying can be made good, buying cannot. */
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
