import { Buffer } from 'node:buffer';
import { type CsvHeader, readCsvHeader } from './csv-columns.ts';
import { csvRecords, piecesFrom } from './csv-records.ts';
import { DocumentError } from './document-error.ts';
import type { ColumnMapping, ParseLimits } from './settings.ts';

export interface CsvRow {
  readonly cells: readonly string[];
  /** The line of text on which the row begins. */
  readonly lineNumber: number;
  readonly header: CsvHeader;
}

/**
 * Reads the rows of a CSV document and yields several at a time: a header, then one order line in each row. The
 * separator is a comma, or the character that a first line `sep=;` names; lines end in LF, CRLF or CR. Rows of empty
 * cells are skipped: spreadsheets leave them behind. Throws DocumentError when quotes, header or row lengths show that
 * the rows may have been split at the wrong places.
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
  // A record is one line, plus one for each line break in its cells.
  let nextLine = firstLine + 1;
  for await (const { records, quoted } of csvRecords(rest, { delimiter, firstLine, limits })) {
    const rows: CsvRow[] = [];
    for (const record of records) {
      const lineNumber = nextLine;
      nextLine += quoted ? 1 + lineBreaksIn(record) : 1;
      if (record.every(isBlank)) continue;
      if (header === null) {
        header = readCsvHeader(record, mapping, lineNumber);
        continue;
      }
      if (quoted) rejectSwallowedRows(record, header, delimiter, lineNumber);
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

/** Whether the row has as many cells as the header has columns. If the last row has not, the file may be cut off. */
export function isWholeRow(row: CsvRow): boolean {
  return row.cells.length === row.header.width;
}

const isBlank = (cell: string): boolean => cell === '' || cell.trim() === '';
const hasLineBreak = (cell: string): boolean => cell.includes('\n') || cell.includes('\r');

function lineBreaksIn(cells: readonly string[]): number {
  let count = 0;
  for (const cell of cells) if (hasLineBreak(cell)) count += cell.match(/\r\n|\n|\r/g)?.length ?? 0;
  return count;
}

/**
 * Two stray quotes in different rows turn everything between them into one cell, and the rows in it would be lost
 * without a trace. Such a cell contains line breaks and at least as many separators as a row.
 */
function rejectSwallowedRows(cells: readonly string[], header: CsvHeader, delimiter: string, line: number): void {
  const hasRows = (cell: string): boolean => hasLineBreak(cell) && cell.split(delimiter).length >= header.width;
  if (header.width > 1 && cells.some(hasRows)) {
    throw new DocumentError('suspicious_quote', `Line ${line}: a quoted cell seems to contain whole rows.`, {
      line,
      hint: 'Look for a stray quote at that line. Inside a quoted cell, write a quote twice ("").',
    });
  }
}

/** Reads a spreadsheet's `sep=;` line, if there is one; `rest` is the document after it. */
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
    throw new DocumentError('bad_separator', 'The first line begins with "sep=" but names no known separator.', {
      line: 1,
      hint: 'Use a comma, a semicolon, a tab or "|", alone on that line.',
    });
  }
  return { separator: match?.[1] ?? null, rest: piecesFrom(begin.subarray(match?.[0].length ?? 0), iterator) };
}
