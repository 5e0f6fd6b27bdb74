import type { AcceptableLine } from '../../core/order/order-request.ts';
import { productOf } from '../../core/order/purchase.ts';
import { resultChanged } from '../results/due-results.ts';
import { indexOrder } from '../search/record-words.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { countReceived, requestOf } from './requests.ts';

/**
 * A line that was not accepted, or a flag on a shop's order, which comes from no file. It is
 * corrected when its line comes again and is accepted; every other one stays open for an operator.
 */
export interface Rejection {
  readonly lineNumber: number | null;
  readonly source: string | null;
  readonly orderId: string | null;
  readonly lineId: string | null;
  /**
   * The product of the line, where it can be read: by it a line whose id was wrong is found again.
   */
  readonly product?: string | null;
  /** A stable name of the rule's kind, for example `invalid_field`, `unknown_field`, `conflict`. */
  readonly code: string;
  readonly field: string | null;
  readonly rule: string;
  /** The value that was found, cut to a limit; null when there is none. */
  readonly value: string | null;
  readonly createdAtMs: number;
}

export type NewRejection = Omit<Rejection, 'createdAtMs'>;

export interface Arrival {
  readonly nowMs: number;
  readonly fileId: string | null;
}

type Line = Pick<AcceptableLine, 'source' | 'orderId' | 'lineId'>;

export const rejectionColumns = `line_number AS lineNumber, source, order_id AS orderId, line_id AS lineId, code, field,
  rule, value, created_at_ms AS createdAtMs`;

const insert = statementOf<NewRejection & Arrival, never>(
  `INSERT INTO rejections (file_id, line_number, source, order_id, line_id, product, code, field, rule, value, created_at_ms)
   VALUES (:fileId, :lineNumber, :source, :orderId, :lineId, :product, :code, :field, :rule, :value, :nowMs)
   ON CONFLICT DO NOTHING`,
);
const correctById = columnOf<Line & Arrival, string | null>(
  `UPDATE rejections SET corrected_at_ms = :nowMs
   WHERE source = :source AND order_id = :orderId AND line_id = :lineId AND corrected_at_ms IS NULL
     AND code <> 'conflict' AND code <> 'duplicate_line' AND (file_id IS NULL OR file_id IS NOT :fileId)
   RETURNING file_id`,
);
// One of each earlier file, because the new line is one line of it. One that names its product
// comes first.
const correctByProduct = statementOf<
  Line & Arrival & { product: string | null; filesById: string },
  never
>(
  `UPDATE rejections SET corrected_at_ms = :nowMs WHERE id IN (
     SELECT id FROM (
       SELECT id, row_number() OVER (PARTITION BY file_id ORDER BY product IS NULL, id) AS place FROM rejections
       WHERE source = :source AND order_id = :orderId AND (line_id IS NULL OR code = 'duplicate_line')
         AND (product IS NULL OR product = :product) AND corrected_at_ms IS NULL
         AND file_id IS NOT NULL AND file_id IS NOT :fileId
         AND file_id NOT IN (SELECT value FROM json_each(:filesById)))
     WHERE place = 1)`,
);

/** Returns whether it is new: a file that is read again brings its rejections again. */
export function recordRejection(
  database: Sqlite,
  rejection: NewRejection,
  { nowMs, fileId }: Arrival,
): boolean {
  const { product = null } = rejection;
  return insert(database).run({ ...rejection, product, fileId, nowMs }).changes === 1;
}

/** Records a rejection, and reports it to the shop. Returns whether it is new. */
export function reject(
  outbox: Outbox,
  rejection: NewRejection,
  arrival: Arrival,
  metadata: AcceptableLine['metadata'] = {},
): boolean {
  const { database } = outbox;
  if (!recordRejection(database, rejection, arrival)) return false;
  const { source, orderId } = rejection;
  if (source === null || orderId === null) return true;
  const request = requestOf(outbox, { source, orderId }, arrival.nowMs, metadata);
  countReceived(database, [request], arrival.nowMs);
  if (request.newMetadata !== null) indexOrder(database, request.requestId, request.newMetadata);
  resultChanged(outbox, request.requestId, arrival.nowMs);
  return true;
}

/**
 * A line of an order was accepted for the first time, which corrects the earlier rejection of its
 * id. A line whose id could not be read, or was that of another line, is corrected by a new line of
 * the same product from a later file; if its product could not be read either, by any new line. One
 * new line corrects one line of a file.
 */
export function correctRejections(database: Sqlite, line: AcceptableLine, arrival: Arrival): void {
  const { source, orderId, lineId } = line;
  const accepted = { source, orderId, lineId, ...arrival };
  const files = correctById(database)
    .all(accepted)
    .filter((file) => file !== null);
  correctByProduct(database).run({
    ...accepted,
    product: productOf(line),
    filesById: JSON.stringify(files),
  });
}
