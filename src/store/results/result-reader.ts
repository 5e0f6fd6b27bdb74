import { samePurchase } from '../../core/operator/operator-decision.ts';
import { isoTime } from '../../core/clock.ts';
import type { EntryState } from '../../core/entry/states.ts';
import type { ReferencedPurchase } from '../../core/order/purchase.ts';
import { assert, OrderSyncError } from '../../core/order-sync-error.ts';
import {
  lineStateOf,
  orderStateOf,
  resultFileName,
  type ResultDocument,
  type ResultEntry,
  type ResultLine,
} from '../../core/result/result-document.ts';
import type { OrderedEntries } from '../../core/result/delivered-lines.ts';
import { clientActionFor } from '../../core/answers/wholesale-errors.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { isInQuestion, purchaseColumnsOf, recordFrom, textsFrom } from '../sqlite/rows.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';

/**
 * The parts of a result: the rows of its order, the keys that open its units, and whether the
 * upstream is a sandbox.
 */
export type ResultSource = Pick<Outbox, 'database' | 'units' | 'sandbox'>;

export interface RejectedRow {
  readonly fileId: string | null;
  readonly lineId: string | null;
  readonly product: string | null;
  readonly code: string;
  readonly field: string | null;
  readonly rule: string;
  readonly value: string | null;
}

/** The columns of `rejections` that a result shows. */
export const rejectedColumns =
  'file_id AS fileId, line_id AS lineId, product, code, field, rule, value';

/** A result shows at most so many rejected lines; the outbox has all of them. */
const shownLines = 1000;

// The newest come first: a line that was sent again and again without being corrected is shown as
// it came last.
const selectOpen = statementOf<[string, string], RejectedRow>(`
  SELECT ${rejectedColumns} FROM rejections
  WHERE source = ? AND order_id = ? AND corrected_at_ms IS NULL AND code <> 'conflict'
  ORDER BY id DESC LIMIT ${10 * shownLines}`);

/**
 * The lines of an order that were not accepted and not corrected, each once. `accepted` are the ids
 * of its other lines: a later rejection under one of these ids does not change that line.
 */
function readRejectedLines(
  database: Sqlite,
  { source, order_id: orderId }: { readonly source: string; readonly order_id: string },
  accepted: ReadonlySet<string>,
): { readonly lines: readonly ResultLine[]; readonly flags: readonly ShopFlag[] } {
  const rows = selectOpen(database).all(source, orderId);
  const lines = newestOfEach(
    rows.filter((row) => !isFlagOfOrder(row) && (hasOwnId(row) ? !accepted.has(row.lineId) : true)),
  );
  // A flag on the order as a whole is no line of it. Where nothing of the order was accepted, it is
  // the only reason there is.
  const alone = lines.length === 0 && accepted.size === 0 ? rows.filter(isFlagOfOrder) : [];
  const ofShop = rows.filter(
    (row) => row.fileId === null && (isFlagOfOrder(row) || accepted.has(row.lineId ?? '')),
  );
  const flags = accepted.size === 0 ? [] : ofShop.slice(0, shownLines).toReversed();
  return { lines: [...lines, ...alone].slice(0, shownLines).map(rejectedLine), flags };
}

/** What is wrong with an accepted line, or with its order as a whole, since the shop changed it. */
type ShopFlag = Pick<RejectedRow, 'lineId' | 'code' | 'rule'>;

/** A line of a shop's order whose id cannot be read is a line all the same. */
const isFlagOfOrder = (row: RejectedRow): boolean =>
  row.fileId === null && row.lineId === null && row.code !== 'unreadable_line';

/**
 * A line without an id, or with that of another line, is told apart only by what is wrong with it.
 */
const hasOwnId = (row: RejectedRow): row is RejectedRow & { lineId: string } =>
  row.lineId !== null && row.code !== 'duplicate_line';

/**
 * Each line once, the oldest first: of lines that look the same, those of the file that came last.
 */
function newestOfEach(rows: readonly RejectedRow[]): readonly RejectedRow[] {
  const files = new Map<string, string | null>();
  const seen = new Set<string>();
  const kept = rows.filter((row) => {
    if (hasOwnId(row)) {
      if (seen.has(row.lineId)) return false;
      seen.add(row.lineId);
      return true;
    }
    const { lineId, product, code, field, rule, value } = row;
    const key = JSON.stringify([lineId, product, code, field, rule, value]);
    if (!files.has(key)) files.set(key, row.fileId);
    return files.get(key) === row.fileId;
  });
  return kept.toReversed();
}

export function rejectedLine(row: RejectedRow): ResultLine {
  const product = hasOwnId(row) || row.product === null ? '' : `${row.product}: `;
  const value = row.value === null ? '' : `, got ${row.value}`;
  return {
    line_id: row.lineId,
    state: 'rejected',
    entries: [],
    error: {
      code: row.code,
      message: `${product}${row.field ?? 'line'}: ${row.rule}${value}`,
      action: 'Correct the line and send it again; nothing was bought for it.',
    },
  };
}

interface RequestRow {
  readonly source: string;
  readonly order_id: string;
  readonly metadata: string;
  readonly version: number;
  readonly updated_at_ms: number;
}

export interface LineEntryRow extends ReferencedPurchase {
  readonly line_id: string;
  readonly extra: string;
  readonly same_line_id: string | null;
  readonly state: EntryState;
  readonly outcome_unknown: number;
  readonly replaced: number;
  readonly units_missing: number;
  readonly resolved_by: string | null;
  readonly order_number: string | null;
  readonly charged_currency: string | null;
  readonly cost: string | null;
  readonly units: string | null;
  readonly unit_count: number;
  readonly shredded_at_ms: number | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly review_reason: string | null;
  readonly settled_at_ms: number | null;
  readonly cancelled_iccids: string | null;
  readonly held_by: string | null;
  readonly in_question: string | null;
}

const selectRequest = statementOf<[number], RequestRow>(
  'SELECT source, order_id, metadata, version, updated_at_ms FROM requests WHERE id = ?',
);
/** The columns of a line `l` and an entry `e` that a result shows. */
export const lineEntryColumns = `l.line_id, l.extra, (SELECT line_id FROM lines WHERE id = l.same_as) AS same_line_id, e.reference,
  ${purchaseColumnsOf('e')}, e.state, e.outcome_unknown, e.replaced, e.units_missing, e.resolved_by, e.order_number, e.charged_currency, e.cost, e.units,
  e.unit_count, e.shredded_at_ms, e.error_code, e.error_message, e.review_reason, e.settled_at_ms, e.held_by, e.in_question,
  (SELECT group_concat(DISTINCT s.iccid) FROM esims s JOIN entries c ON c.iccid = s.iccid
   WHERE s.entry_id = e.id AND c.operation = 'esim_cancel' AND c.state = 'fulfilled') AS cancelled_iccids`;
const selectEntries = statementOf<[number], LineEntryRow>(`
  SELECT ${lineEntryColumns}
  FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = ? ORDER BY l.id, e.generation, e.part`);
const inReview: readonly EntryState[] = ['needs_review', 'held'];

function errorOf(row: LineEntryRow): ResultEntry['error'] {
  if (row.error_code === null && row.review_reason === null) return null;
  // The outcome of an earlier call is not the reason of the hold.
  const code = row.state === 'held' ? 'held' : (row.error_code ?? 'needs_review');
  return {
    code,
    message: row.review_reason ?? row.error_message ?? '',
    action: inReview.includes(row.state)
      ? 'Do not order it again: an operator is looking at it.'
      : row.state === 'unknown'
        ? `Do not order it again: ${row.outcome_unknown === 1 ? 'it may have been bought' : 'the worker is confirming that it was not bought'}.`
        : clientActionFor(code),
  };
}

export function resultEntryOf(row: LineEntryRow, units: SealedUnits): ResultEntry {
  return {
    reference: row.reference,
    operation: row.operation,
    // A line that an operator found to be bought is delivered only as far as its units are known.
    state: row.units_missing > 0 ? 'needs_manual_delivery' : row.state,
    resolved_by: row.resolved_by,
    order_number: row.order_number,
    currency: row.charged_currency ?? row.currency,
    cost: row.cost,
    // Which of them the customer gets, an operator decides.
    units: row.state === 'needs_review' || isInQuestion(row) ? [] : units.of(row),
    ...(row.cancelled_iccids === null ? {} : { cancelled_iccids: row.cancelled_iccids.split(',') }),
    ...(row.shredded_at_ms === null
      ? {}
      : { shredded: { units: row.unit_count, at: isoTime(row.shredded_at_ms) } }),
    error: errorOf(row),
  };
}

/** The line that was bought in the place of this one, as an operator said; null: there is none. */
function boughtInPlaceOf(rows: readonly LineEntryRow[]): string | null {
  const current = rows.filter(({ replaced }) => replaced === 0);
  return current.every(({ error_code: code }) => code === samePurchase)
    ? (current[0]?.same_line_id ?? null)
    : null;
}

function acceptedLine(
  lineId: string,
  rows: readonly LineEntryRow[],
  units: SealedUnits,
): ResultLine {
  const entries = rows.map((row) => resultEntryOf(row, units));
  const extra = textsFrom(rows[0]?.extra ?? '{}');
  return {
    line_id: lineId,
    // A replaced entry says nothing about the line any more.
    state: lineStateOf(
      entries.flatMap(({ state }, index) => (rows[index]?.replaced === 0 ? state : [])),
    ),
    entries,
    error: null,
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  };
}

export type StoredResult = Readonly<ReturnType<typeof readResult>>;

/**
 * Builds the result of an order from the database alone: neither the time nor anything else changes
 * it.
 */
export function readResult({ database, units, sandbox }: ResultSource, requestId: number) {
  const request = selectRequest(database).get(requestId);
  assert(request !== undefined, `request ${requestId} exists`);
  const rows = selectEntries(database).all(requestId);
  const lines = Map.groupBy(rows, ({ line_id: lineId }) => lineId);
  const accepted = [...lines].map(([lineId, ofLine]) => acceptedLine(lineId, ofLine, units));
  const rejected = readRejectedLines(database, request, new Set(lines.keys()));
  const all = [...accepted, ...rejected.lines];
  const document: ResultDocument = {
    source: request.source,
    order_id: request.order_id,
    state: orderStateOf(all.map((line) => line.state)),
    sandbox,
    metadata: recordFrom(request.metadata),
    lines: all,
    updated_at: isoTime(request.updated_at_ms),
  };
  const ordered: OrderedEntries = new Map(
    rows.map(({ reference, variant, plan, iccid, quantity, replaced, held_by: heldBy }) => [
      reference,
      { variant, plan, iccid, quantity, replaced: replaced === 1, isHeldByShop: heldBy === 'shop' },
    ]),
  );
  /**
   * The line that was bought in the place of another one, as an operator said: its id by that of the
   * other.
   */
  const inPlaceOf = [...lines].flatMap(([lineId, ofLine]): [string, string][] => {
    const bought = boughtInPlaceOf(ofLine);
    return bought === null ? [] : [[lineId, bought]];
  });
  /** When something was delivered last; 0: never. */
  const deliveredAtMs = Math.max(
    0,
    ...rows.map(({ state, settled_at_ms: atMs }) => (state === 'fulfilled' ? (atMs ?? 0) : 0)),
  );
  const more = { boughtInPlaceOf: new Map(inPlaceOf), flags: rejected.flags, deliveredAtMs };
  return { version: request.version, document, ordered, ...more };
}

/** The sender would replace the codes that it has by none. */
export function shreddedError(whose: string, what: string): OrderSyncError {
  const message = `the codes of ${whose} were shredded (retention.codes_days): ${what} is not written again, because it would lack these codes`;
  return new OrderSyncError('NOT_ALLOWED', message, {
    hint: 'the result that was written before stays as it is',
  });
}

/** @throws OrderSyncError NOT_ALLOWED when codes of the result were shredded */
export function refuseShredded({ source, order_id: orderId, lines }: ResultDocument): void {
  const isShredded = lines.some(({ entries }) =>
    entries.some(({ shredded }) => shredded !== undefined),
  );
  if (isShredded) throw shreddedError(`${source}/${orderId}`, 'its result');
}

type NamedRequest = { readonly id: number } & Readonly<Record<'source' | 'orderId', string>>;

// Of two ids that differ in capital letters only, at least one has some: the index has only those.
const selectSharing = statementOf<NamedRequest, unknown>(
  `SELECT 1 FROM requests WHERE source = lower(:source) AND order_id = lower(:orderId) AND id < :id
   UNION ALL
   SELECT 1 FROM requests WHERE lower(source) = lower(:source) AND lower(order_id) = lower(:orderId)
     AND (source GLOB '*[A-Z]*' OR order_id GLOB '*[A-Z]*') AND id < :id
   LIMIT 1`,
);

/**
 * Whether an earlier order has the same source and id but for capital letters: see
 * `resultFileName`.
 */
export function sharesResultName(database: Sqlite, request: NamedRequest): boolean {
  return selectSharing(database).get(request) !== undefined;
}

export function resultFileOf(database: Sqlite, request: NamedRequest): string {
  const { source, orderId } = request;
  return `${source}/${resultFileName({ source, order_id: orderId }, sharesResultName(database, request))}`;
}
