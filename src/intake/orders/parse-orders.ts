import type { OrderDefaults } from '../../core/order/order-request.ts';
import { checkOrder, type FoundOrder } from './check-order.ts';
import { rowChecker } from './check-row.ts';
import { type CheckedLine, rejectionOf, shownValue } from './checked-line.ts';
import { type CsvHeader, mistakenHeader } from './csv-columns.ts';
import { csvRows } from './csv-rows.ts';
import { readJsonDocument } from './json-document.ts';
import { ndjsonLines, type TextLine } from './ndjson-lines.ts';
import { columnRules, type CountedOrders, type OrderFormat, type ParseOptions } from './parse-options.ts';
import { RepeatedLines } from './repeated-lines.ts';
import { JsonSyntaxError, jsonPointer, parseStrictJson } from './strict-json.ts';
import { utf8Pieces } from './utf8-text.ts';

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
      const check = rowChecker(options, counted);
      const repeated = new RepeatedLines({ inRows: true });
      for await (const rows of csvRows(utf8Pieces(parts), limits, columnRules(options), rejectMistakes))
        yield rows.map((row) => repeated.check(check(row), () => row.header.nameOf('line_id')));
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
