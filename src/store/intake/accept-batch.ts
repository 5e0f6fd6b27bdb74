import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import { bareNumber } from '../../core/order/spreadsheet.ts';
import { productOf, purchaseFields, type Purchase } from '../../core/order/purchase.ts';
import { foreignEsim, whyForeign } from '../entries/esim-origins.ts';
import { recordCsvRows } from '../results/csv-files.ts';
import { repeatResult } from '../results/due-results.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { purchaseColumnsOf } from '../sqlite/rows.ts';
import { writeMark } from '../sqlite/steady-time.ts';
import { insertLine } from './new-lines.ts';
import { recordRejection, reject, type NewRejection } from './rejections.ts';
import { countReceived, findRequest, requestOf, type Request } from './requests.ts';

/** Lines that came in together, as of a file. */
export interface IntakeBatch {
  readonly nowMs: number;
  readonly fileId: string | null;
  /**
   * The separator of a CSV file: its rows are written back. Absent or null: there is no such file.
   */
  readonly delimiter?: string | null;
  /** Ids that differ only as a spreadsheet changes them are ids of different orders. */
  readonly allowMangledIds?: boolean;
  readonly lines: readonly (AcceptableLine & { readonly lineNumber: number | null })[];
  readonly rejections: readonly NewRejection[];
}

export interface AcceptedLine {
  /** `refused`: it would cancel an eSIM of another source. */
  readonly status: 'accepted' | 'known' | 'conflict' | 'refused';
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
  /** The reference of the line; in a conflict, that of its newest entry; null where refused. */
  readonly reference: string | null;
  readonly differences: readonly { field: string; was: unknown; is: unknown }[];
}

interface TakenLine {
  readonly accepted: AcceptedLine;
  readonly request: Request;
  /** Its row in the file, and its id in the outbox. */
  readonly row: number | null;
  readonly line: number;
  /** It is known, and not because the file was read before. */
  readonly isRepeat: boolean;
}

interface StoredPurchase extends Purchase {
  readonly id: number;
  readonly fingerprint: string;
  readonly file_id: string | null;
  readonly reference: string;
}

const findLine = statementOf<[number, string], StoredPurchase>(
  `SELECT l.id, ${purchaseColumnsOf('l')}, l.fingerprint, l.file_id, e.reference
   FROM lines l JOIN entries e ON e.line_id = l.id
   WHERE l.request_id = ? AND l.line_id = ? ORDER BY e.id DESC LIMIT 1`,
);
interface Ids {
  readonly source: string;
  readonly orderId: string;
  readonly lineId: string;
}

type Like = Pick<Ids, 'orderId' | 'lineId'> & { readonly id: number; readonly reference: string };
// By position: it runs for each new order whose id is a number.
const findLikeOrder = columnOf<
  [string, string, string, number, string, string, string, number],
  number
>(
  `SELECT id FROM requests WHERE source = ? AND order_id IN (?, ?) AND id <> ?
   UNION ALL SELECT id FROM requests INDEXED BY requests_with_zeros
     WHERE source = ? AND order_id GLOB '[0'']*' AND ltrim(order_id, '''0') IN (?, ?) AND id <> ?`,
);
const hasLines = columnOf<[number], number>('SELECT 1 FROM lines WHERE request_id = ? LIMIT 1');
const selectLike = statementOf<[number, string, string, string], Like>(
  `SELECT l.id, r.order_id AS orderId, l.line_id AS lineId, e.reference
   FROM requests r JOIN lines l ON l.request_id = r.id JOIN entries e ON e.line_id = l.id
   WHERE r.id = ? AND (? = '' OR ltrim(l.line_id, '''0') IN (?, ?)) ORDER BY e.id LIMIT 1`,
);
const countFile = statementOf<
  Record<Exclude<AcceptedLine['status'], 'refused'> | 'rejected', number> & { fileId: string },
  never
>(
  `UPDATE files SET accepted_count = accepted_count + :accepted, known_count = known_count + :known,
     conflict_count = conflict_count + :conflict, rejected_count = rejected_count + :rejected WHERE id = :fileId`,
);

/**
 * Accepts each line of a batch by itself, and records the lines that could not be read. A known
 * line is compared with what was accepted first: in a conflict, nothing is bought for the new one.
 */
export function acceptBatch(outbox: Outbox, batch: IntakeBatch): readonly AcceptedLine[] {
  const { nowMs, fileId, delimiter = null, rejections } = batch;
  writeMark(outbox.database, outbox.clock);
  const taken = batch.lines.map((line) => takeLine(outbox, line, batch));
  if (fileId !== null && delimiter !== null) {
    const rows = taken.filter(
      ({ accepted: { status } }) => status === 'accepted' || status === 'known',
    );
    recordCsvRows(outbox.database, { fileId, delimiter }, rows);
  }
  const rejected = rejections.filter(
    (rejection) => !isDelivered(outbox.database, rejection) && reject(outbox, rejection, batch),
  ).length;
  countReceived(
    outbox.database,
    taken.map(({ request }) => request),
    nowMs,
  );
  const repeats = taken.filter(({ isRepeat }) => isRepeat);
  // Sent again: the shop gets its result again, in case it lost it.
  for (const requestId of new Set(repeats.map(({ request }) => request.requestId)))
    repeatResult(outbox, requestId);
  const count = (status: AcceptedLine['status']) =>
    taken.filter(({ accepted }) => accepted.status === status).length;
  if (fileId !== null) {
    const counts = {
      accepted: count('accepted'),
      known: repeats.length,
      conflict: count('conflict'),
      rejected: rejected + count('refused'),
    };
    countFile(outbox.database).run({ ...counts, fileId });
  }
  return taken.map(({ accepted }) => accepted);
}

/**
 * An export shows each order again after it was bought here, as completed or delivered: that asks
 * nobody anything.
 */
function isDelivered(database: Sqlite, { code, source, orderId, lineId }: NewRejection): boolean {
  if (code !== 'payment_unclear' || source === null || orderId === null || lineId === null)
    return false;
  const requestId = findRequest(database).get(source, orderId);
  return requestId !== undefined && findLine(database).get(requestId, lineId) !== undefined;
}

function takeLine(
  outbox: Outbox,
  line: IntakeBatch['lines'][number],
  batch: IntakeBatch,
): TakenLine {
  const { source, orderId, lineId, lineNumber: row } = line;
  const request = requestOf(outbox, line, batch.nowMs, line.metadata);
  const known = request.isNew
    ? undefined
    : findLine(outbox.database).get(request.requestId, lineId);
  if (known === undefined) {
    const like = batch.allowMangledIds === true ? null : findLike(outbox.database, line, request);
    const refused = { request, row, line: like?.id ?? 0, isRepeat: false };
    if (like !== null) return { accepted: recordLike(outbox, line, like, batch), ...refused };
    const foreign = whyForeign(outbox.database, line, false);
    if (foreign !== null)
      return { accepted: recordForeign(outbox, line, foreign, batch), ...refused };
    const { reference, line: inserted } = insertLine(outbox, line, request, batch);
    const accepted = {
      status: 'accepted',
      source,
      orderId,
      lineId,
      reference,
      differences: [],
    } as const;
    return { accepted, request, row, line: inserted, isRepeat: false };
  }
  const accepted = compareLine(outbox.database, line, known, batch);
  // A file that is read again after a crash meets its own lines, which count already.
  const isOfThisFile = batch.fileId !== null && known.file_id === batch.fileId;
  return {
    accepted,
    request,
    row,
    line: known.id,
    isRepeat: accepted.status === 'known' && !isOfThisFile,
  };
}

/**
 * The known line whose id, or that of its order, a spreadsheet may have changed into this one;
 * null: there is none.
 */
const findLike = (database: Sqlite, ids: Ids, request: Request): Like | null =>
  likeOrder(database, ids, request) ?? likeLine(database, ids, request);

/** It is a conflict: the same purchase would be made again. */
function recordLike(
  outbox: Outbox,
  line: IntakeBatch['lines'][number],
  like: Like,
  batch: IntakeBatch,
): AcceptedLine {
  const { orderId, lineId } = line;
  const [field, was, is] =
    like.orderId === orderId
      ? (['line_id', like.lineId, lineId] as const)
      : (['order_id', like.orderId, orderId] as const);
  const rule = `may be the known ${field} ${was}, changed by a spreadsheet, so nothing was bought for this line. If these are two ids, set intake.folders[].allow_mangled_ids`;
  rejectLine(outbox, line, { code: 'id_mangled', field, rule, value: is }, batch);
  return {
    ...idsOf(line),
    reference: like.reference,
    status: 'conflict',
    differences: [{ field, was, is }],
  };
}

/** It would cancel the eSIM of another source. */
function recordForeign(
  outbox: Outbox,
  line: IntakeBatch['lines'][number],
  rule: string,
  batch: IntakeBatch,
): AcceptedLine {
  const [field, value] = ['iccid', line.iccid];
  rejectLine(outbox, line, { code: foreignEsim, field, rule, value }, batch);
  const differences = [{ field, was: rule, is: value }];
  return { ...idsOf(line), reference: null, status: 'refused', differences };
}

const idsOf = ({ source, orderId, lineId }: Ids): Ids => ({ source, orderId, lineId });

function rejectLine(
  outbox: Outbox,
  line: IntakeBatch['lines'][number],
  why: Pick<NewRejection, 'code' | 'field' | 'rule' | 'value'>,
  batch: IntakeBatch,
): void {
  const { lineNumber } = line;
  reject(outbox, { ...idsOf(line), lineNumber, product: productOf(line), ...why }, batch);
}

function likeOrder(
  database: Sqlite,
  { source, orderId }: Ids,
  { requestId, isNew }: Request,
): Like | null {
  const bare = bareNumber(orderId);
  // One that was only flagged has no lines.
  if (bare === null || (!isNew && hasLines(database).get(requestId) !== undefined)) return null;
  const decimal = `${bare}.0`;
  const found = findLikeOrder(database).all(
    source,
    bare,
    decimal,
    requestId,
    source,
    bare,
    decimal,
    requestId,
  );
  for (const id of found) {
    const like = selectLike(database).get(id, '', '', '');
    if (like !== undefined) return like;
  }
  return null;
}

function likeLine(database: Sqlite, { lineId }: Ids, { requestId, isNew }: Request): Like | null {
  const bare = isNew ? null : bareNumber(lineId);
  return bare === null
    ? null
    : (selectLike(database).get(requestId, bare, bare, `${bare}.0`) ?? null);
}

function compareLine(
  database: Sqlite,
  line: IntakeBatch['lines'][number],
  known: StoredPurchase,
  batch: IntakeBatch,
): AcceptedLine {
  const { source, orderId, lineId, lineNumber } = line;
  const { reference } = known;
  const ids = { source, orderId, lineId };
  const base = { ...ids, reference };
  if (known.fingerprint === fingerprintOf(line))
    return { ...base, status: 'known', differences: [] };
  const differences = lineDifferences(known, line);
  const changes = differences.map(
    ({ field, was, is }) => `${field}: ${String(was)} then, ${String(is)} now`,
  );
  const conflict = {
    ...ids,
    lineNumber,
    product: productOf(line),
    code: 'conflict',
    field: differences.map(({ field }) => field).join(', '),
    rule: `was ordered before with other content (${changes.join('; ')}); nothing was bought for the new content, and the first content keeps the reference ${reference}`,
    value: null,
  };
  recordRejection(database, conflict, batch);
  return { ...base, status: 'conflict', differences };
}

/** The fields in which two contents of a line differ, by the names that a shop knows. */
export function lineDifferences(was: Purchase, is: Purchase): AcceptedLine['differences'] {
  return purchaseFields
    .filter((field) => was[field] !== is[field])
    .map((field) => ({
      field: field === 'operation' ? 'type' : field,
      was: was[field],
      is: is[field],
    }));
}
