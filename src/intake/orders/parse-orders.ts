import { fingerprintOf } from '../../core/order/order-request.ts';
import { productOf } from '../../core/order/purchase.ts';
import { type CheckedLine, rejectionOf, shownValue, unidentified } from './check-line.ts';
import { checkOrder } from './check-order.ts';
import { type CheckedRow, type CountedOrders, RowChecker, cellOf } from './check-row.ts';
import { type CsvRow, csvRows, hasLineBreak } from './csv-rows.ts';
import { ndjsonLines, readJsonDocument, type TextLine } from './json-document.ts';
import type { OrderFormat, ParseOptions } from './settings.ts';
import { JsonSyntaxError, parseStrictJson } from './strict-json.ts';
import { utf8Pieces } from './utf8-text.ts';
import type { CsvHeader } from './csv-columns.ts';

type Line = Extract<CheckedLine, { kind: 'line' }>['line'];

/**
 * Whether two lines with one id are the same in everything else: one row that was exported twice.
 */
const isSameRow = (one: Line, other: Line): boolean =>
  one.notAfterMs === other.notAfterMs && JSON.stringify(one.extra) === JSON.stringify(other.extra);

/**
 * Finds rows of one order that have the same id and buy the same, and are not equal in every cell.
 * The outbox would take the second for a repetition of the first, and it would never be bought.
 * (Rows with one id that buy different things are a conflict, which the outbox finds.) Only the ids
 * of the current order are kept, so a long document needs no memory.
 */
class RepeatedRows {
  #last: Line | null = null;
  /**
   * The lines of the current order by id. Most orders have one line, so the map is made for the
   * second.
   */
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
    if (
      first === undefined ||
      fingerprintOf(first) !== fingerprintOf(line) ||
      isSameRow(first, line)
    )
      return checked;
    const rule = `repeats the line_id of line ${first.lineNumber}, which has the same purchase: give each purchase its own line_id`;
    const problem = {
      code: 'duplicate_line',
      field: header.nameOf(['line_id']),
      rule,
      value: shownValue(lineId),
    };
    return rejectionOf({ lineNumber, source, orderId, lineId, product: productOf(line) }, [
      problem,
    ]);
  }
}

/**
 * Reads a document of orders and yields its lines in their order, several at a time, each accepted
 * or rejected. Memory is bounded by the limits. Throws DocumentError when the whole document is to
 * be rejected, possibly after lines were yielded: if it must be accepted whole or not at all, call
 * `checkDocument` first.
 */
export async function* parseOrders(
  parts: AsyncIterable<Uint8Array>,
  format: OrderFormat,
  options: ParseOptions,
  counted: CountedOrders,
): AsyncGenerator<readonly CheckedRow[]> {
  const { limits } = options;
  if (format === 'json') {
    for (const order of await readJsonDocument(parts, limits))
      yield [...checkOrder(order, options)];
  } else if (format === 'ndjson') {
    for await (const line of ndjsonLines(utf8Pieces(parts), limits.orderBytes))
      yield checkNdjsonLine(line, options);
  } else {
    const checker = new RowChecker(options, counted);
    const broken = new BrokenRows();
    const repeated = new RepeatedRows();
    for await (const rows of csvRows(utf8Pieces(parts), options))
      yield rows.map((row) => repeated.check(broken.check(checker.check(row), row), row));
  }
}

/**
 * A line of NDJSON is one order. A line that is not JSON is rejected alone: the next one is
 * independent of it.
 */
function checkNdjsonLine(
  { text, number }: TextLine,
  options: ParseOptions,
): readonly CheckedLine[] {
  try {
    const { value, findings } = parseStrictJson(text, options.limits.depth);
    return [...checkOrder({ value, findings, path: [], lineNumberOf: () => number }, options)];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const rule = `is not JSON: column ${error.offset + 1}: ${error.message}`;
    return [
      rejectionOf(unidentified(number), [
        { code: error.code, field: null, rule, value: shownValue(text) },
      ]),
    ];
  }
}

const idOf = (row: CsvRow): string => cellOf(row, 'order_id') ?? '';

/**
 * Whether an id may be of the same shop as another one: a customer's text mostly has no digit, or
 * has spaces.
 */
const isIdLike = (id: string, other: string): boolean =>
  (/\d/.test(id) || !/\d/.test(other)) && (!/\s/.test(id) || /\s/.test(other));

/**
 * Rejects rows that a line break without quotes, or a stray quote, has made of others: their cells
 * are not their own.
 */
class BrokenRows {
  /** Of the last accepted row. */
  #id: string | null = null;
  /** The line of a rejected row, as long as the next rows may be its rest. */
  #brokenLine: number | null = null;

  check(checked: CheckedRow, row: CsvRow): CheckedRow {
    const id = idOf(row);
    this.#id ??= id;
    if (checked.kind === 'rejection') {
      this.#brokenLine ??= row.lineNumber;
      return checked;
    }
    const { cells, header } = row;
    const rejected = (code: string, rule: string): CheckedLine => {
      return rejectionOf(unidentified(row.lineNumber), [
        { code, field: null, rule, value: shownValue(id) },
      ]);
    };
    if (this.#brokenLine !== null && !isIdLike(id, this.#id)) {
      const rule = `seems to be the rest of the row on line ${this.#brokenLine}: put cells with line breaks in quotes`;
      return rejected('rest_of_row', rule);
    }
    this.#brokenLine = null;
    this.#id = id;
    // A spreadsheet writes ="1" for a text. Of a SKU, the map says whether it is right.
    const hasQuote = cells.some(
      (cell, at) =>
        cell.includes('"') &&
        !/^="[^"]*"$/.test(cell) &&
        at !== header.known.get('sku') &&
        isKnown(header, at),
    );
    if (hasQuote)
      return rejected('misplaced_quote', 'has a quote within a cell: put the whole cell in quotes');
    if (!hasSwallowedRow(row)) return checked;
    return rejected(
      'suspicious_quote',
      'has a cell that seems to contain the next rows: look for a stray quote',
    );
  }
}

const isKnown = ({ known }: CsvHeader, at: number): boolean => [...known.values()].includes(at);

/**
 * Between two stray quotes is one cell. It begins with the end of a row, and ends with the begin of
 * another, with its id.
 */
function hasSwallowedRow(row: CsvRow): boolean {
  const { cells, header } = row;
  return cells.some((cell, index) => {
    if (!hasLineBreak(cell)) return false;
    const lines = cell.split(/[\r\n]+/).map((line) => line.split(header.delimiter));
    const [first = [], last = []] = [lines[0], lines.at(-1)];
    const one = [...cells.slice(0, index), ...first];
    const other = [...last, ...cells.slice(index + 1)];
    if (one.length !== header.width || other.length !== header.width) return false;
    return isIdLike(idOf({ ...row, cells: other }), idOf({ ...row, cells: one }));
  });
}
