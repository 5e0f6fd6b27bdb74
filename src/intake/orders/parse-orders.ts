import { fingerprintOf, type OrderDefaults } from '../../core/order/order-request.ts';
import { productOf } from '../../core/order/purchase.ts';
import { type CheckedLine, rejectionOf, shownValue } from './checked-line.ts';
import { checkOrder, type FoundOrder } from './check-order.ts';
import { RowChecker } from './check-row.ts';
import { type CsvHeader, mistakenHeader } from './csv-columns.ts';
import { csvRows } from './csv-rows.ts';
import { ndjsonLines, readJsonDocument, type TextLine } from './json-document.ts';
import type { CountedOrders, OrderFormat, ParseOptions } from './parse-options.ts';
import { JsonSyntaxError, jsonPointer, parseStrictJson } from './strict-json.ts';
import { utf8Pieces } from './utf8-text.ts';

type Line = Extract<CheckedLine, { kind: 'line' }>['line'];

/** Whether two lines with one id are the same in everything else: in CSV, one row that was exported twice. */
const isSameRow = (one: Line, other: Line): boolean =>
  one.notAfterMs === other.notAfterMs && JSON.stringify(one.extra) === JSON.stringify(other.extra);

/**
 * Finds lines of one order that have the same id and buy the same. The outbox would take the second for a repetition of
 * the first, and it would never be bought. (Lines with one id that buy different things are a conflict, which the outbox
 * finds.) Only the ids of the current order are kept, so a long document needs no memory.
 */
class RepeatedLines {
  readonly #inRows: boolean;
  #last: Line | null = null;
  /** The lines of the current order by id. Most orders have one line, so the map is made for the second. */
  #linesById: Map<string, Line> | null = null;

  /** @param inRows whether the lines are rows of CSV, where two rows that are equal in every cell are one line */
  constructor({ inRows }: { inRows: boolean }) {
    this.#inRows = inRows;
  }

  /** Returns the line, or its rejection when it repeats an earlier line. `fieldOf` names the place of its id. */
  check(checked: CheckedLine, fieldOf: () => string): CheckedLine {
    if (checked.kind !== 'line') return checked;
    const { line } = checked;
    const last = this.#last;
    this.#last = line;
    if (last === null || last.orderId !== line.orderId || last.source !== line.source) {
      this.#linesById = null;
      return checked;
    }
    this.#linesById ??= new Map([[last.lineId, last]]);
    const first = this.#linesById.get(line.lineId);
    if (first === undefined) this.#linesById.set(line.lineId, line);
    if (first === undefined || fingerprintOf(first) !== fingerprintOf(line)) return checked;
    return this.#inRows && isSameRow(first, line) ? checked : asRepeated(line, first, fieldOf());
  }
}

function asRepeated(line: Line, first: Line, field: string): CheckedLine {
  const { source, orderId, lineId, lineNumber } = line;
  const rule = `repeats the line_id of the same purchase on line ${first.lineNumber ?? '?'}: give each purchase its own line_id`;
  const problem = { code: 'duplicate_line', field, rule, value: shownValue(lineId) };
  return rejectionOf({ lineNumber, source, orderId, lineId, product: productOf(line) }, [problem]);
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
): AsyncGenerator<readonly CheckedLine[]> {
  const { limits } = options;
  switch (format) {
    case 'json':
      for (const order of await readJsonDocument(parts, limits)) yield checkWholeOrder(order, options);
      return;
    case 'ndjson':
      for await (const line of ndjsonLines(utf8Pieces(parts), limits.orderBytes)) {
        yield checkNdjsonLine(line, options);
      }
      return;
    case 'csv': {
      const checker = new RowChecker(options, counted);
      const repeated = new RepeatedLines({ inRows: true });
      for await (const rows of csvRows(utf8Pieces(parts), options, rejectMistakes))
        yield rows.map((row) => repeated.check(checker.check(row), () => row.header.nameOf(['line_id'])));
    }
  }
}

/** Throws DocumentError. `checkDocument` has found these mistakes before, and those of the rows, too. */
function rejectMistakes({ mistakes }: CsvHeader): void {
  if (mistakes.length > 0) throw mistakenHeader(mistakes, [], mistakes.length);
}

/** An order may occur twice in a document: it is the same order, sent again. The line ids of one order must differ. */
function checkWholeOrder(order: FoundOrder, defaults: OrderDefaults): readonly CheckedLine[] {
  const lines = [...checkOrder(order, defaults)];
  if (lines.length < 2) return lines;
  const repeated = new RepeatedLines({ inRows: false });
  return lines.map((line, index) =>
    repeated.check(line, () => jsonPointer([...order.path, 'lines', index, 'line_id'])),
  );
}

/** A line of NDJSON is one order. A line that is not JSON is rejected alone: the next one is independent of it. */
function checkNdjsonLine(line: TextLine, options: ParseOptions): readonly CheckedLine[] {
  try {
    const { value, findings } = parseStrictJson(line.text, options.limits.depth);
    return checkWholeOrder({ value, findings, path: [], lineNumberOf: () => line.number }, options);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const identity = { lineNumber: line.number, source: null, orderId: null, lineId: null, product: null };
    const rule = `is not JSON: column ${error.offset + 1}: ${error.message}`;
    return [rejectionOf(identity, [{ code: error.code, field: null, rule, value: shownValue(line.text) }])];
  }
}
