import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { productOf } from '../../core/order/purchase.ts';
import { customerIn } from '../../core/order/customer.ts';
import { customerMark, referenceFor } from '../../core/order/reference.ts';
import { indexLine } from '../search/record-words.ts';
import { statementOf } from '../sqlite/database.ts';
import { countNewEntry } from '../sqlite/entry-counts.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { purchaseColumns } from '../sqlite/rows.ts';
import { writeMark } from '../sqlite/steady-time.ts';
import { laneOf } from '../entries/lanes.ts';
import { correctRejections, type Arrival } from './rejections.ts';
import { countReceived, requestOf, type Request } from './requests.ts';

const insertLineRow = statementOf<unknown[], never>(
  `INSERT INTO lines (request_id, line_id, ${purchaseColumns}, not_after_ms, extra, fingerprint, file_id, received_at_ms, email_mark, phone_mark)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
);
const insertEntryRow = statementOf<unknown[], never>(
  `INSERT INTO entries (reference, line_id, ${purchaseColumns}, not_after_ms, state, rules, lane, due_steady, created_at_ms, updated_at_ms)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?)`,
);

/**
 * Inserts a line of a request with its entry, to be bought under a reference. The database refuses
 * a known line.
 */
export function insertLine(
  outbox: Outbox,
  line: AcceptableLine,
  { requestId, isNew, newMetadata }: Request,
  arrival: Arrival,
): { readonly line: number; readonly reference: string } {
  const { database, namespace, requireSpace } = outbox;
  const { nowMs, fileId } = arrival;
  // For a new order this was asked already.
  if (!isNew) requireSpace();
  const { source, orderId, lineId, notAfterMs, rules = {} } = line;
  const reference = referenceFor(namespace, { source, orderId, lineId, generation: 0, part: 0 });
  // One by one, in the order of the columns: to map the names costs 5 % of all that accepting a
  // line costs.
  const { operation, variant, plan, iccid, quantity, days, currency } = line;
  const purchase = [operation, variant, plan, iccid, quantity, days, currency, notAfterMs];
  const extra = JSON.stringify(line.extra);
  const { email, phone } = line.customer ?? customerIn({ ...line.metadata, ...line.extra });
  const marks = [email, phone].map((name) => name && customerMark(namespace, name));
  const print = fingerprintOf(line);
  const values = [requestId, lineId, ...purchase, extra, print, fileId, nowMs, ...marks];
  const lineRowId = Number(insertLineRow(database).run(...values).lastInsertRowid);
  const lane = laneOf(source, line, rules.fallback_currency);
  const entry = [
    reference,
    lineRowId,
    ...purchase,
    JSON.stringify(rules),
    lane,
    outbox.clock.steadyMs(),
    nowMs,
    nowMs,
  ];
  countNewEntry(database, Number(insertEntryRow(database).run(...entry).lastInsertRowid));
  indexLine(database, lineRowId, productOf(line), line.extra, newMetadata);
  // An order that is new has no rejections yet.
  if (!isNew) correctRejections(database, line, arrival);
  return { line: lineRowId, reference };
}

/** Inserts lines of one order, none of which is known; their references in the same order. */
export function insertLines(
  outbox: Outbox,
  lines: readonly [AcceptableLine, ...AcceptableLine[]],
  nowMs: number,
): { readonly requestId: number; readonly references: readonly string[] } {
  const [first] = lines;
  writeMark(outbox.database, outbox.clock);
  const request = requestOf(outbox, first, nowMs, first.metadata);
  countReceived(outbox.database, [request], nowMs);
  const references = lines.map((line, index) => {
    const newMetadata = index === 0 ? request.newMetadata : null;
    return insertLine(outbox, line, { ...request, newMetadata }, { nowMs, fileId: null }).reference;
  });
  return { requestId: request.requestId, references };
}
