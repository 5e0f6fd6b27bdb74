import { createHash } from 'node:crypto';
import { orderLimits } from '../../core/order/order-request.ts';
import { cellOf, type CountedOrders, type IdColumn, idColumns, orderKeyOf } from './check-row.ts';
import { type CsvRow, csvRows, isWholeRow } from './csv-rows.ts';
import { DocumentError } from './document-error.ts';
import { emptyDocument, ndjsonLines, noOrders, readJsonDocument } from './json-document.ts';
import type { OrderFormat, ParseLimits, ParseOptions } from './settings.ts';
import { utf8Pieces } from './utf8-text.ts';
import { mayMean } from './column-words.ts';
import { unclearColumn } from './csv-columns.ts';

const nothingCounted: CountedOrders = {
  oversized: new Set(),
  severalRows: new Set(),
  numericIds: new Set(),
};

export interface DocumentSummary {
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Order lines, including those that `parseOrders` will reject. */
  readonly rows: number;
  readonly counted: CountedOrders;
  readonly delimiter: string | null;
}

/**
 * Reads a document to its end without accepting anything. Throws DocumentError when it is damaged,
 * too large or cut off: then nothing of it may be bought. Mistakes in single lines are left to
 * `parseOrders`.
 */
export async function checkDocument(
  parts: AsyncIterable<Uint8Array>,
  format: OrderFormat,
  options: ParseOptions,
): Promise<DocumentSummary> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let lastByte = 0;
  let hasLineEnd = false;
  const { limits } = options;
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const part of parts) {
      hash.update(part);
      sizeBytes += part.length;
      lastByte = part.findLast((byte) => byte !== 0x1a) ?? lastByte;
      hasLineEnd ||= part.includes(0x0a) || part.includes(0x0d);
      if (sizeBytes > limits.documentBytes) throw tooLarge(limits);
      yield part;
    }
    if (sizeBytes === 0) throw emptyDocument();
  }
  const count = format === 'csv' ? countCsv : format === 'ndjson' ? countNdjson : countJson;
  const counted = await count(
    hashed(),
    options,
    () => lastByte === 0x0a || lastByte === 0x0d,
  ).catch((error: unknown) => {
    if (error instanceof DocumentError && error.documentCode.includes('column'))
      error.isUnfinished ||= !hasLineEnd;
    throw error;
  });
  if (counted.rows === 0) throw noOrders();
  return { sha256: hash.digest('hex'), sizeBytes, ...counted };
}

export function tooLarge(limits: ParseLimits): DocumentError {
  return new DocumentError(
    'too_large',
    `A document may have at most ${limits.documentBytes} bytes.`,
    {
      hint: 'Split it into several files.',
    },
  );
}

type Counted = Pick<DocumentSummary, 'rows' | 'counted' | 'delimiter'>;

async function countCsv(
  parts: AsyncIterable<Uint8Array>,
  options: ParseOptions,
  endsWithNewline: () => boolean,
): Promise<Counted> {
  const orders = new Map<string, { rows: number; lacksLineId: boolean }>();
  const numericIds = new Set<IdColumn>();
  const quantities = new PossibleQuantities(options);
  let rows = 0;
  let last: CsvRow | null = null;
  for await (const some of csvRows(utf8Pieces(parts), options)) {
    rows = countedRows(rows + some.length, options.limits);
    for (const row of some) {
      quantities.see(row);
      checkSource(row, options.sources);
      const key = orderKeyOf(row, options.source);
      const order = orders.get(key) ?? { rows: 0, lacksLineId: false };
      const lacksLineId =
        order.lacksLineId || (!options.format.lineIdIsSku && cellOf(row, 'line_id') === undefined);
      orders.set(key, { rows: order.rows + 1, lacksLineId });
      for (const column of idColumns)
        if (/^\d+$/.test(cellOf(row, column) ?? '')) numericIds.add(column);
    }
    last = some.at(-1) ?? last;
  }
  if (last !== null && !endsWithNewline() && mayBeCutOff(last))
    throw truncatedTail(last.lineNumber);
  quantities.check();
  const keysWhere = (
    is: (order: { rows: number; lacksLineId: boolean }) => boolean,
  ): ReadonlySet<string> =>
    new Set([...orders].flatMap(([key, order]) => (is(order) ? [key] : [])));
  const oversized = keysWhere((order) => order.rows > orderLimits.linesPerRequest);
  const severalRows = keysWhere((order) => order.rows > 1 && order.lacksLineId);
  return {
    rows,
    counted: { oversized, severalRows, numericIds },
    delimiter: last?.header.delimiter ?? null,
  };
}

/**
 * The exports of shops have a column of this name that says something else: each of its texts would
 * be a shop of its own.
 */
function checkSource(row: CsvRow, sources: readonly string[]): void {
  const source = cellOf(row, 'source');
  if (source === undefined || sources.length > 1 || sources.includes(source)) return;
  const [column, value] = [row.header.nameOf(['source']), source.slice(0, 64)].map((text) =>
    JSON.stringify(text),
  );
  throw new DocumentError(
    'unknown_source',
    `Line ${row.lineNumber}: the column ${column} has ${value}.`,
    {
      line: row.lineNumber,
      hint: `Set intake.folders[].columns to { source: null } if this column does not name the source of the orders. If it does, list the value: source: [${sources[0]}, ${value}].`,
    },
  );
}

/**
 * A last row without a newline that is not whole, or whose last known cell is empty: that would
 * change what is bought.
 */
function mayBeCutOff(row: CsvRow): boolean {
  if (!isWholeRow(row)) return true;
  return row.cells.at(-1) === '' && [...row.header.known.values()].includes(row.header.width - 1);
}

async function countNdjson(
  parts: AsyncIterable<Uint8Array>,
  { limits }: ParseOptions,
): Promise<Counted> {
  let rows = 0;
  for await (const line of ndjsonLines(utf8Pieces(parts), limits.orderBytes)) {
    const value = parsedOrUndefined(line.text);
    if (!line.ended && value === undefined) throw truncatedTail(line.number);
    rows = countedRows(rows + linesIn(value), limits);
  }
  if (rows === 0) throw emptyDocument();
  return { rows, counted: nothingCounted, delimiter: null };
}

async function countJson(
  parts: AsyncIterable<Uint8Array>,
  { limits }: ParseOptions,
): Promise<Counted> {
  let rows = 0;
  for (const order of await readJsonDocument(parts, limits)) rows += linesIn(order.value);
  return { rows: countedRows(rows, limits), counted: nothingCounted, delimiter: null };
}

/** Only tells whether the line is complete; `parseOrders` reads it strictly. */
function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The number of lines of an order; any other value counts as one. */
function linesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || !('lines' in value)) return 1;
  return Array.isArray(value.lines) ? Math.max(1, value.lines.length) : 1;
}

function countedRows(rows: number, limits: ParseLimits): number {
  if (rows <= limits.rows) return rows;
  throw new DocumentError(
    'too_many_rows',
    `A document may have at most ${limits.rows} order lines.`,
    {
      hint: 'Split it into several files.',
    },
  );
}

function truncatedTail(line: number): DocumentError {
  return new DocumentError(
    'truncated_tail',
    `Line ${line} is the last one, is incomplete, and has no newline.`,
    {
      line,
      isUnfinished: true,
      hint: 'The file looks cut off: send the whole file again. If it is complete, correct that line and add a newline.',
    },
  );
}

interface Column {
  readonly name: string;
  readonly index: number;
  filled: number;
  areAllOne: boolean;
}

/** `2`, `2.0`, `2x`. */
const smallNumber = /^(?:x ?)?(\d{1,3})(?:[.,]0+)?(?: ?[x×])?$/i;

/**
 * Notices the quantities of a file by their cells, where no column is named as them: small whole
 * numbers that are not all 1.
 */
class PossibleQuantities {
  readonly #isNamed: boolean;
  #columns: Column[] | null = null;
  #rows = 0;

  constructor({ columns }: Pick<ParseOptions, 'columns'>) {
    this.#isNamed = columns.quantity !== undefined;
  }

  see({ cells, header }: CsvRow): void {
    if (this.#isNamed || header.known.has('quantity')) return;
    this.#rows += 1;
    this.#columns ??= header.extra
      .filter(({ name }) => !mayMean('other_numbers', name))
      .map(({ name, index }) => ({ name, index, filled: 0, areAllOne: true }));
    if (this.#columns.length > 0)
      this.#columns = this.#columns.filter((column) => this.#mayBe(column, cells));
  }

  #mayBe(column: Column, cells: readonly string[]): boolean {
    const cell = cells[column.index]?.trim() ?? '';
    if (cell === '') return true;
    const number = Number(smallNumber.exec(cell)?.[1] ?? 0);
    column.filled += 1;
    column.areAllOne &&= number === 1;
    return number > 0;
  }

  /**
   * @throws DocumentError when a column may be the quantity: by default, each row would be for one
   */
  check(): void {
    const found = this.#columns?.find((it) => it.filled * 2 > this.#rows && !it.areAllOne);
    if (found === undefined) return;
    const { code, message, hint } = unclearColumn('quantity', found.name);
    throw new DocumentError(code, message, { line: 1, hint });
  }
}
