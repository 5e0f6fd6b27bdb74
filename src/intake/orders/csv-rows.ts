import { Buffer } from 'node:buffer';
import { type CsvHeader, readCsvHeader } from './csv-columns.ts';
import { csvRecords, following } from './csv-records.ts';
import { DocumentError } from './document-error.ts';
import type { ColumnMapping, ParseLimits } from './settings.ts';

export interface CsvRow {
  readonly cells: readonly string[];
  /** The line of text on which the row begins. */
  readonly lineNumber: number;
  readonly header: CsvHeader;
}

/**
 * Reads the rows of a CSV document, some at a time: a header, then one order line in each row. Commas, or the sign that
 * a first line `sep=;` names; lines end in LF, CRLF or CR. Rows without any content are passed over: spreadsheets leave
 * them behind. Throws DocumentError when quotes, header or row lengths make the division into rows doubtful.
 */
export async function* csvRows(
  pieces: AsyncIterable<Buffer>,
  limits: ParseLimits,
  mapping: ColumnMapping,
): AsyncGenerator<readonly CsvRow[]> {
  const { separator, rest } = await readSeparator(pieces);
  const delimiter = separator ?? ',';
  const firstLine = separator === null ? 0 : 1;
  let header: CsvHeader | null = null;
  // Counted here: every record is one line, and one more for each line break in its cells.
  let nextLine = firstLine + 1;
  for await (const { records, quoted } of csvRecords(rest, { delimiter, firstLine, limits })) {
    const rows: CsvRow[] = [];
    for (const record of records) {
      const lineNumber = nextLine;
      nextLine += quoted ? 1 + innerLines(record) : 1;
      if (record.every(isBlank)) continue;
      if (header === null) {
        header = readCsvHeader(record, mapping, lineNumber);
        continue;
      }
      if (quoted) refuseSwallowedRows(record, header, delimiter, lineNumber);
      rows.push({ cells: record, lineNumber, header });
    }
    if (rows.length > 0) yield rows;
  }
  if (header === null) {
    throw new DocumentError('missing_column', 'There is no header line.', {
      line: 1,
      hint: 'The first line names the columns: order_id,line_id,type,variant,plan,iccid,quantity,days,currency',
    });
  }
}

/** Whether the row has as many cells as the header has columns: a last row that has not may have been cut. */
export function isWholeRow(row: CsvRow): boolean {
  return row.cells.length === row.header.width;
}

const isBlank = (cell: string): boolean => cell === '' || cell.trim() === '';
const lineBreak = /\r\n|\n|\r/g;

function innerLines(cells: readonly string[]): number {
  let count = 0;
  for (const cell of cells) {
    if (cell.includes('\n') || cell.includes('\r')) count += cell.match(lineBreak)?.length ?? 0;
  }
  return count;
}

/**
 * Two stray quotes, rows apart, turn everything between them into one cell, and the rows in it would be lost in
 * silence. Such a cell holds line breaks and at least as many separators as a row has.
 */
function refuseSwallowedRows(cells: readonly string[], header: CsvHeader, delimiter: string, line: number): void {
  for (const cell of cells) {
    if (!cell.includes('\n') && !cell.includes('\r')) continue;
    if (header.width > 1 && cell.split(delimiter).length >= header.width) {
      throw new DocumentError('suspicious_quote', `Line ${line}: a quoted cell seems to contain whole rows.`, {
        line,
        hint: 'Look for a stray quote at that line; a quote within a cell is written twice ("").',
      });
    }
  }
}

/** A spreadsheet's `sep=;` line, when there is one, and the pieces that follow it. */
async function readSeparator(
  pieces: AsyncIterable<Buffer>,
): Promise<{ separator: string | null; rest: AsyncIterable<Buffer> }> {
  const iterator = pieces[Symbol.asyncIterator]();
  let begin: Buffer = Buffer.alloc(0);
  while (begin.length < 8) {
    const next = await iterator.next();
    if (next.done === true) break;
    begin = Buffer.concat([begin, next.value]);
  }
  const text = begin.subarray(0, 8).toString('latin1');
  const match = /^sep=([,;\t|])(\r\n|\n|\r|$)/i.exec(text);
  if (match === null && /^sep=/i.test(text)) {
    throw new DocumentError('bad_separator', 'The first line begins with "sep=" but names no separator we know.', {
      line: 1,
      hint: 'Use a comma, a semicolon, a tab or "|", alone on that line.',
    });
  }
  const remaining = match === null ? begin : begin.subarray(match[0].length);
  return { separator: match?.[1] ?? null, rest: following(remaining, iterator) };
}
