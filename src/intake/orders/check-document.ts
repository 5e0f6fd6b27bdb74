import { createHash } from 'node:crypto';
import { orderLimits } from '../../core/order/order-request.ts';
import { checkedBytes } from './utf8-text.ts';
import { type CsvRow, csvRows, isWholeRow } from './csv-rows.ts';
import { DocumentError } from './document-error.ts';
import { emptyDocument, noOrders, readJsonDocument } from './json-document.ts';
import { orderKeyOf } from './check-row.ts';
import type { ParseLimits } from './settings.ts';
import { type OrderFormat, type ParseOptions, ndjsonLines } from './parse-orders.ts';
import type { TextLine } from './ndjson-lines.ts';

/** What is known of a document that can be trusted as a whole. */
export interface Inspection {
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Order lines, of which some may still be refused one by one. */
  readonly rows: number;
  /** Orders of a CSV document with more lines than an order may have, for `parseOrders`. */
  readonly oversized: ReadonlySet<string>;
}

/**
 * Reads a document to its end and changes nothing. Throws DocumentError when it is damaged, too large or cut off:
 * then nothing of it is to be sent. What is wrong with a single line is left to `parseOrders`.
 */
export async function inspectOrders(
  chunks: AsyncIterable<Uint8Array>,
  format: OrderFormat,
  options: ParseOptions,
): Promise<Inspection> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let lastByte = 0;
  const { limits } = options;
  async function* tapped(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      lastByte = chunk.at(-1) ?? lastByte;
      if (sizeBytes > limits.documentBytes) throw tooLarge(limits);
      yield chunk;
    }
    if (sizeBytes === 0) throw emptyDocument();
  }
  const count = format === 'csv' ? inspectCsv : format === 'ndjson' ? inspectNdjson : inspectJson;
  const counted = await count(tapped(), options, () => lastByte === 0x0a || lastByte === 0x0d);
  if (counted.rows === 0) throw noOrders();
  return { sha256: hash.digest('hex'), sizeBytes, ...counted };
}

export function tooLarge(limits: ParseLimits): DocumentError {
  return new DocumentError('too_large', `A document may have at most ${limits.documentBytes} bytes.`, {
    hint: 'Divide it into several files.',
  });
}

type Counted = Pick<Inspection, 'rows' | 'oversized'>;

async function inspectCsv(
  chunks: AsyncIterable<Uint8Array>,
  options: ParseOptions,
  isEnded: () => boolean,
): Promise<Counted> {
  const linesOfOrder = new Map<string, number>();
  const oversized = new Set<string>();
  let rows = 0;
  let last: CsvRow | null = null;
  for await (const some of csvRows(checkedBytes(chunks), options.limits, options.columns)) {
    rows += some.length;
    if (rows > options.limits.rows) throw tooManyRows(options.limits);
    for (const row of some) {
      const key = orderKeyOf(row);
      const lines = (linesOfOrder.get(key) ?? 0) + 1;
      linesOfOrder.set(key, lines);
      if (lines > orderLimits.linesPerRequest) oversized.add(key);
    }
    last = some.at(-1) ?? last;
  }
  if (last !== null && !isEnded() && !isWholeRow(last)) throw truncatedTail(last.lineNumber);
  return { rows, oversized };
}

async function inspectNdjson(chunks: AsyncIterable<Uint8Array>, options: ParseOptions): Promise<Counted> {
  let rows = 0;
  let last: TextLine | null = null;
  for await (const line of ndjsonLines(checkedBytes(chunks), options.limits)) {
    const value = parsedOrUndefined(line.text);
    if (!line.ended && value === undefined) throw truncatedTail(line.number);
    rows += linesIn(value);
    if (rows > options.limits.rows) throw tooManyRows(options.limits);
    last = line;
  }
  if (last === null) throw emptyDocument();
  return { rows, oversized: new Set() };
}

async function inspectJson(chunks: AsyncIterable<Uint8Array>, options: ParseOptions): Promise<Counted> {
  let rows = 0;
  for (const order of await readJsonDocument(chunks, options.limits)) rows += linesIn(order.value);
  if (rows > options.limits.rows) throw tooManyRows(options.limits);
  return { rows, oversized: new Set() };
}

/** The strict reader judges the line later; here it only matters whether it is whole. */
function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How many order lines a value seems to hold; whatever it is, it counts as one. */
function linesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null || !('lines' in value)) return 1;
  return Array.isArray(value.lines) ? Math.max(1, value.lines.length) : 1;
}

function truncatedTail(line: number): DocumentError {
  return new DocumentError('truncated_tail', `Line ${line} is the last, is not whole, and no newline ends it.`, {
    line,
    hint: 'The file looks cut off. Send it again, whole. If it is whole, correct that line and end it with a newline.',
  });
}

function tooManyRows(limits: ParseLimits): DocumentError {
  return new DocumentError('too_many_rows', `A document may hold at most ${limits.rows} order lines.`, {
    hint: 'Divide it into several files.',
  });
}
