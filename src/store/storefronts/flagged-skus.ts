import { insertLines } from '../intake/new-lines.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { AcceptableLine } from '../../core/order/order-request.ts';
import { purchaseOf } from '../../core/order/purchase.ts';
import type { AcceptedLine } from '../intake/accept-batch.ts';
import { selectEntriesOfLine } from '../sqlite/rows.ts';
import { whyFlagged } from './why-not-bought.ts';
import { findFlagCode } from './take-order.ts';
import { findKnownLine, markSame, vanishedLines, whyChanged, type KeptLine } from './known-lines.ts';
import { selectRelated } from './related-orders.ts';
import { holdEntry } from '../submission/entry-changes.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { recordAudit, type AuditedRequest } from '../sqlite/audit.ts';

/** A line of a shop's order whose SKU was not in the map. */
export interface FlaggedSku {
  readonly id: string;
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  /** The order as it was read, with such lines only; null: its newest state is not paid, or asks for nothing unmapped. */
  readonly keptOrder: string | null;
  /** How many of each line the customer keeps in that state, by line id, as JSON; null: that was not read. */
  readonly linesLeft: string | null;
}

export interface TakeFlaggedRequest extends AuditedRequest {
  /** Names the flag in the attention list. */
  readonly id: string;
  readonly line: AcceptableLine;
  /** Nobody asked for it: it is refused where somebody may have delivered the line. */
  readonly byItself?: boolean;
}

/** A line of an order that is kept, as far as it is compared. */
type LineOfKeptOrder = KeptLine & { readonly sku: string };

const findReference = columnOf<[source: string, orderId: string, lineId: string], string>(
  `SELECT e.reference FROM requests r JOIN lines l ON l.request_id = r.id JOIN entries e ON e.line_id = l.id
   WHERE r.source = ? AND r.order_id = ? AND l.line_id = ? ORDER BY e.id DESC LIMIT 1`,
);

// With any other status, nobody knows whether the order is paid.
const flagsWhere = <Given extends unknown[]>(which: string) =>
  statementOf<Given, FlaggedSku>(
    `SELECT 'line:' || j.id AS id, j.source, j.order_id AS orderId, j.line_id AS lineId, o.kept_order AS keptOrder,
     o.lines_left AS linesLeft
   FROM rejections j LEFT JOIN storefront_orders o ON o.state = 'paid' AND o.awaits_read_back = 0 AND o.source = j.source AND o.order_id = j.order_id
   WHERE ${which} AND j.code = 'unknown_sku' AND j.file_id IS NULL AND j.line_number IS NULL
     AND j.line_id IS NOT NULL AND j.corrected_at_ms IS NULL AND j.taken_back = 0`,
  );

const selectFlag = flagsWhere<[number]>('j.id = ?');
/** Of a shop: those that nobody acknowledged, of orders that still ask for it. */
export const selectKeptFlags = flagsWhere<[string]>(
  'o.kept_order IS NOT NULL AND j.acknowledged_at_ms IS NULL AND j.source = ?',
);

/** @param id names a row of the attention list; null: it is no open flag for a SKU of a shop's order */
export function readFlaggedSku(database: Sqlite, id: string): FlaggedSku | null {
  const [, number] = /^line:(\d{1,15})$/.exec(id) ?? [];
  return number === undefined ? null : (selectFlag(database).get(Number(number)) ?? null);
}

export function takeFlagged(outbox: Outbox, request: TakeFlaggedRequest): AcceptedLine {
  const { id, line, byItself = false, nowMs } = request;
  const { database } = outbox;
  const flag = readFlaggedSku(database, id);
  if (flag === null) {
    throw new OrderSyncError('NOT_FOUND', `${id} is no open flag for a SKU of a shop's order`, {
      hint: '`order-sync queue status` shows the ids of those that are open',
    });
  }
  const { source, orderId, lineId } = flag;
  const isSame = line.source === source && line.orderId === orderId && line.lineId === lineId;
  const { sku = '', shop_quantity: quantity } = line.extra;
  const isShown = keptLines(flag).some(
    (kept) => kept.lineId === lineId && kept.sku === sku && String(kept.remaining) === quantity,
  );
  if (!isSame || !isShown) {
    throw new OrderSyncError('REFUSED', `the shop's order ${source}/${orderId} does not ask for this any more`, {
      hint: 'look at the order in the shop: it is taken in when the shop shows it as paid',
    });
  }
  const told = byItself ? findFlagCode(database).get(source, orderId, lineId) : undefined;
  if (told !== undefined) throw new OrderSyncError('REFUSED', whyFlagged(told));
  const known = findReference(database).get(source, orderId, lineId);
  if (known !== undefined) {
    throw new OrderSyncError('REFUSED', `line ${lineId} of ${source}/${orderId} was ordered before, as ${known}`, {
      hint: `order it again with \`order-sync orders reorder ${known}\``,
    });
  }
  // This corrects the flag: it leaves the attention list.
  const [reference = ''] = insertLines(outbox, [line], nowMs).references;
  holdIfChanged(outbox, flag, sku, nowMs);
  const subject = `${source}/${orderId}`;
  const detail = { id, line_id: lineId, reference, orders: purchaseOf(line) };
  recordAudit(database, { ...request, action: 'take_flagged', subject, detail });
  return { status: 'accepted', source, orderId, lineId, reference, differences: [] };
}

/** It may stand for a line that vanished and was bought, or be that of a related order: then an operator decides. */
function holdIfChanged(outbox: Outbox, flag: FlaggedSku, sku: string, nowMs: number): void {
  const { database } = outbox;
  const lines = linesLeft(flag).filter(({ lineId }) => lineId !== flag.lineId);
  const own = findKnownLine(database, flag, flag.lineId);
  const [old] = vanishedLines(database, { ...flag, lines }, sku).filter(({ known }) => known.line_id !== flag.lineId);
  const related = selectRelated(database).get(flag.source, flag.orderId, flag.lineId);
  const why = old === undefined ? related?.why : whyChanged(old);
  if (own === undefined || why === undefined) return;
  if (old !== undefined) markSame(database).run(old.known.id, own.id);
  for (const row of selectEntriesOfLine(database).all(own.id)) holdEntry(outbox, row, { why, by: null }, nowMs);
}

function linesLeft({ linesLeft: text }: FlaggedSku): readonly KeptLine[] {
  const left: Readonly<Record<string, number>> = text === null ? {} : JSON.parse(text);
  return Object.entries(left).map(([lineId, remaining]) => ({ lineId, remaining }));
}

function keptLines({ keptOrder }: FlaggedSku): readonly LineOfKeptOrder[] {
  return keptOrder === null ? [] : JSON.parse(keptOrder).lines;
}
