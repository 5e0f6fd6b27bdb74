import { fingerprintOf } from '../../core/order/order-request.ts';
import { productOf } from '../../core/order/purchase.ts';
import { BrokenRows } from './broken-rows.ts';
import { type CheckedLine, rejectionOf, shownValue, unidentified } from './check-line.ts';
import { checkOrder } from './check-order.ts';
import { type CheckedRow, type CountedOrders, RowChecker } from './check-row.ts';
import { type CsvRow, csvRows } from './csv-rows.ts';
import { ndjsonLines, readJsonDocument, type TextLine } from './json-document.ts';
import type { OrderFormat, ParseOptions } from './settings.ts';
import { JsonSyntaxError, parseStrictJson } from './strict-json.ts';
import { utf8Pieces } from './utf8-text.ts';

type Line = Extract<CheckedLine, { kind: 'line' }>['line'];

/** Whether two lines with one id are the same in everything else: one row that was exported twice. */
const isSameRow = (one: Line, other: Line): boolean =>
  one.notAfterMs === other.notAfterMs && JSON.stringify(one.extra) === JSON.stringify(other.extra);

/**
 * Finds rows of one order that have the same id and buy the same, and are not equal in every cell. The outbox would take the
 * second for a repetition of the first, and it would never be bought. (Rows with one id that buy different things are a
 * conflict, which the outbox finds.) Only the ids of the current order are kept, so a long document needs no memory.
 */
class RepeatedRows {
  #last: Line | null = null;
  /** The lines of the current order by id. Most orders have one line, so the map is made for the second. */
  #linesById: Map<string, Line> | null = null;

  check(checked: CheckedRow, { header }: CsvRow): CheckedRow {
    if (checked.kind !== 'line') return checked;
    const { line } = checked;
    const { source, orderId, lineId, lineNumber } = line;
    const last = this.#last;
    this.#last = line;
    if (last === null || last.orderId !== orderId || last.source !== source) {
      this.#linesById = null;
      return checked;
    }
    this.#linesById ??= new Map([[last.lineId, last]]);
    const first = this.#linesById.get(lineId);
    if (first === undefined) this.#linesById.set(lineId, line);
    if (first === undefined || fingerprintOf(first) !== fingerprintOf(line) || isSameRow(first, line)) return checked;
    const rule = `repeats the line_id of the same purchase on line ${first.lineNumber}: give each purchase its own line_id`;
    const problem = { code: 'duplicate_line', field: header.nameOf(['line_id']), rule, value: shownValue(lineId) };
    return rejectionOf({ lineNumber, source, orderId, lineId, product: productOf(line) }, [problem]);
  }
}

/**
 * Reads a document of orders and yields its lines in their order, several at a time, each accepted or rejected. Memory is
 * bounded by the limits. Throws DocumentError when the whole document is to be rejected, possibly after lines were
 * yielded: if it must be accepted whole or not at all, call `checkDocument` first.
 */
export async function* parseOrders(
  parts: AsyncIterable<Uint8Array>,
  format: OrderFormat,
  options: ParseOptions,
  counted: CountedOrders,
): AsyncGenerator<readonly CheckedRow[]> {
  const { limits } = options;
  if (format === 'json') {
    for (const order of await readJsonDocument(parts, limits)) yield [...checkOrder(order, options)];
  } else if (format === 'ndjson') {
    for await (const line of ndjsonLines(utf8Pieces(parts), limits.orderBytes)) yield checkNdjsonLine(line, options);
  } else {
    const checker = new RowChecker(options, counted);
    const broken = new BrokenRows();
    const repeated = new RepeatedRows();
    for await (const rows of csvRows(utf8Pieces(parts), options))
      yield rows.map((row) => repeated.check(broken.check(checker.check(row), row), row));
  }
}

/** A line of NDJSON is one order. A line that is not JSON is rejected alone: the next one is independent of it. */
function checkNdjsonLine({ text, number }: TextLine, options: ParseOptions): readonly CheckedLine[] {
  try {
    const { value, findings } = parseStrictJson(text, options.limits.depth);
    return [...checkOrder({ value, findings, path: [], lineNumberOf: () => number }, options)];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const rule = `is not JSON: column ${error.offset + 1}: ${error.message}`;
    return [rejectionOf(unidentified(number), [{ code: error.code, field: null, rule, value: shownValue(text) }])];
  }
}
