import type { Buffer } from 'node:buffer';
import { checkedBytes } from './utf8-text.ts';
import { csvRows } from './csv-rows.ts';
import { readJsonDocument } from './json-document.ts';
import { jsonPointer } from './json-pointer.ts';
import { type FoundOrder, judgeOrder } from './check-order.ts';
import { rowJudge } from './check-row.ts';
import type { ColumnMapping, ParseLimits } from './settings.ts';
import { type ParsedItem, rejectionOf, shownValue } from './checked-line.ts';
import { NamedLines } from './repeated-lines.ts';
import { JsonSyntaxError, parseStrictJson } from './strict-json.ts';
import { type TextLine, textLines } from './ndjson-lines.ts';

export type OrderFormat = 'json' | 'ndjson' | 'csv';

export interface ParseOptions {
  /** The source of orders that name none. */
  readonly source: string;
  readonly limits: ParseLimits;
  /** What a CSV document calls its columns. */
  readonly columns: ColumnMapping;
  /** Orders of a CSV document that inspection found too long; see `inspectOrders`. */
  readonly oversized?: ReadonlySet<string>;
}

/**
 * Reads a document of orders line by line, some at a time: what may be accepted, and what may not, in the document's
 * own order. Memory is bounded by the limits. Throws DocumentError when the document as a whole cannot be trusted; that may be
 * after lines were yielded, so that a document which must be all right or not touched at all is inspected first.
 */
export async function* parseOrders(
  chunks: AsyncIterable<Uint8Array>,
  format: OrderFormat,
  options: ParseOptions,
): AsyncGenerator<readonly ParsedItem[]> {
  switch (format) {
    case 'json':
      for (const order of await readJsonDocument(chunks, options.limits)) yield judgeWhole(order, options.source);
      return;
    case 'ndjson':
      for await (const line of ndjsonLines(checkedBytes(chunks), options.limits)) yield [...judgeNdjson(line, options)];
      return;
    case 'csv': {
      const judge = rowJudge(options.source, options.oversized ?? new Set());
      const named = new NamedLines({ areRows: true });
      for await (const rows of csvRows(checkedBytes(chunks), options.limits, options.columns))
        yield rows.map((row) => named.judge(judge(row), () => row.header.nameOf('line_id')));
    }
  }
}

/** An order that comes again in the same document is the same order, sent again; within one, each line has its own id. */
function judgeWhole(order: FoundOrder, source: string): readonly ParsedItem[] {
  const items = [...judgeOrder(order, source)];
  if (items.length < 2) return items;
  const named = new NamedLines({ areRows: false });
  return items.map((item, index) => named.judge(item, () => jsonPointer([...order.path, 'lines', index, 'line_id'])));
}

/** The lines of an NDJSON document that hold something. */
export async function* ndjsonLines(pieces: AsyncIterable<Buffer>, limits: ParseLimits): AsyncGenerator<TextLine> {
  for await (const line of textLines(pieces, limits.orderBytes)) {
    if (line.text.trim() !== '') yield line;
  }
}

/** One line of NDJSON is one order; a line that is not JSON is refused alone, because the next one begins anew. */
export function* judgeNdjson(line: TextLine, options: ParseOptions): Generator<ParsedItem> {
  try {
    const { value, findings } = parseStrictJson(line.text, options.limits.depth);
    yield* judgeWhole({ value, findings, path: [], lineNumberOf: () => line.number }, options.source);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const identity = { lineNumber: line.number, source: null, orderId: null, lineId: null };
    const rule = `is not JSON: column ${error.offset + 1}: ${error.message}`;
    yield rejectionOf(identity, [{ code: error.code, field: null, rule, value: shownValue(line.text) }]);
  }
}
