import { Buffer } from 'node:buffer';
import { Readable, pipeline } from 'node:stream';
import { type CsvError, parse } from 'csv-parse';
import { countKnownNames, type CsvHeader, headerExample, readCsvHeader } from './csv-columns.ts';
import { DocumentError, rejectHtml } from './document-error.ts';
import type { ParseOptions } from './settings.ts';

interface CsvRecord {
  readonly cells: readonly string[];
  /** The line of text on which it begins. */
  readonly lineNumber: number;
}

export interface CsvRow extends CsvRecord {
  readonly header: CsvHeader;
}

/**
 * Reads the rows of a CSV document and yields several at a time: a header, then one order line in
 * each row. The separator is the character that a first line `sep=;` names, else it is found by the
 * header; lines end in LF, CRLF or CR. Rows of empty cells are skipped: spreadsheets leave them
 * behind. Throws DocumentError when nobody can say where the rows are.
 */
export async function* csvRows(
  pieces: AsyncIterable<Buffer>,
  options: ParseOptions,
): AsyncGenerator<readonly CsvRow[]> {
  const { delimiter, firstLine, rest } = await readDialect(pieces, options);
  let header: CsvHeader | null = null;
  for await (const records of csvRecords(rest, {
    delimiter,
    firstLine,
    rowBytes: options.limits.rowBytes,
  })) {
    const rows: CsvRow[] = [];
    for (const { cells, lineNumber } of records) {
      if (isBlankRecord(cells)) continue;
      if (header === null) header = readCsvHeader(cells, options, { line: lineNumber, delimiter });
      else rows.push({ cells, lineNumber, header });
    }
    if (rows.length > 0) yield rows;
  }
  if (header === null) {
    throw new DocumentError('missing_column', 'There is no header line.', {
      line: 1,
      isUnfinished: true,
      hint: headerExample,
    });
  }
}

/** How many lines of text a record has: one, plus one for each line break in its cells. */
function linesOf(cells: readonly string[]): number {
  let lines = 1;
  for (const cell of cells) if (hasLineBreak(cell)) lines += cell.match(/\r\n|\n|\r/g)?.length ?? 0;
  return lines;
}

/** Old programs end a file with Ctrl-Z. */
export const isBlankRecord = (cells: readonly string[]): boolean =>
  cells.every((cell) => cell === '' || cell.replaceAll('\x1a', '').trim() === '');

/**
 * Whether the row has as many cells as the header has columns. If the last row has not, the file
 * may be cut off.
 */
export function isWholeRow(row: CsvRow): boolean {
  return row.cells.length === row.header.width;
}

export const hasLineBreak = (cell: string): boolean => cell.includes('\n') || cell.includes('\r');

const separators = [',', ';', '\t'] as const;

/** Whether a line that has more in it than separators, spaces and empty quotes has ended. */
function hasFilledLine(text: string): boolean {
  const start = text.search(/[^\s,;"]/);
  return start >= 0 && /[\n\r]/.test(text.slice(start));
}

/**
 * The separator that a line `sep=;` names, else the one that finds most known names; `rest` is
 * without that line.
 */
async function readDialect(
  pieces: AsyncIterable<Buffer>,
  options: ParseOptions,
): Promise<{ delimiter: string; firstLine: number; rest: AsyncIterable<Buffer> }> {
  const { rowBytes } = options.limits;
  const iterator = pieces[Symbol.asyncIterator]();
  let begin: Buffer = Buffer.alloc(0);
  let text = '';
  while (begin.length < rowBytes && (begin.length < 8 || !hasFilledLine(text))) {
    const next = await iterator.next();
    if (next.done === true) break;
    begin = Buffer.concat([begin, next.value]);
    // The length of the pieces must make no difference.
    text = begin.subarray(0, rowBytes).toString('utf8');
  }
  rejectHtml(text);
  const match = /^"?sep=([,;\t|])"?(\r\n|\n|\r|$)/i.exec(text);
  if (match?.[1] !== undefined) {
    return {
      delimiter: match[1],
      firstLine: 1,
      rest: piecesFrom(begin.subarray(match[0].length), iterator),
    };
  }
  if (/^"?sep=/i.test(text)) {
    throw new DocumentError(
      'bad_separator',
      'The first line begins with "sep=" but names no known separator.',
      {
        line: 1,
        hint: 'Use a comma, a semicolon, a tab or "|", alone on that line.',
      },
    );
  }
  return {
    delimiter: separatorOf(headerIn(text), options),
    firstLine: 0,
    rest: piecesFrom(begin, iterator),
  };
}

async function* piecesFrom(first: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (first.length > 0) yield first;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
      yield next.value;
  } finally {
    await iterator.return?.();
  }
}

/**
 * The line of the first character that is neither a space, a separator nor a quote: the header, in
 * most files the first line.
 */
function headerIn(text: string): string {
  const filled = text.search(/[^\s,;"]/);
  const start = Math.max(text.lastIndexOf('\n', filled), text.lastIndexOf('\r', filled)) + 1;
  return /^[^\n\r]*/.exec(text.slice(start))?.[0] ?? '';
}

function separatorOf(header: string, options: ParseOptions): string {
  let best = { separator: ',', known: 0, cells: 0 };
  for (const separator of separators) {
    const names = header.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
    const known = countKnownNames(names, options);
    // Of names that are all mistyped, the number tells: then the header gets suggestions.
    if (known > best.known || (known === best.known && names.length > best.cells)) {
      best = { separator, known, cells: names.length };
    }
  }
  return best.separator;
}

interface CsvDialect {
  readonly delimiter: string;
  /** The number of lines before the first piece. */
  readonly firstLine: number;
  readonly rowBytes: number;
}

/**
 * Splits UTF-8 text into records and yields several at a time; lines end in LF, CRLF or CR. A quote
 * at a wrong place is a part of its cell. Throws DocumentError.
 */
export async function* csvRecords(
  pieces: AsyncIterable<Buffer>,
  dialect: CsvDialect,
): AsyncGenerator<readonly CsvRecord[]> {
  let lineNumber = dialect.firstLine + 1;
  const recordOf = (cells: readonly string[]): CsvRecord => {
    const record = { cells, lineNumber };
    lineNumber += linesOf(cells);
    return record;
  };
  const errors: CsvError[] = [];
  async function* untilError(): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      yield piece;
      if (errors.length > 0) return;
    }
  }
  const parser = parse({
    columns: false,
    delimiter: dialect.delimiter,
    max_record_size: dialect.rowBytes,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    // Thrown by the parser, an error would overtake records, by which its line is known.
    skip_records_with_error: true,
    on_skip: (error) => void (error !== undefined && errors.push(error)),
  });
  // The loop over the parser below throws the error, so the callback ignores it.
  pipeline(Readable.from(untilError(), { objectMode: false }), parser, () => undefined);
  for await (const first of parser as AsyncIterable<string[]>) {
    // A piece has hundreds of records: to await each of them would cost as much as to parse it.
    const records = [recordOf(first)];
    for (let more: unknown = parser.read(); isRecord(more); more = parser.read())
      records.push(recordOf(more));
    yield records;
  }
  for (const error of errors) throw explained(error, lineNumber, dialect);
}

/** csv-parse is configured to return arrays of text; it returns null when no record is ready. */
const isRecord = (value: unknown): value is string[] => Array.isArray(value);

/** `line`: where the record begins that could not be read. */
function explained(error: CsvError, line: number, { rowBytes }: CsvDialect): Error {
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    return new DocumentError(
      'line_too_long',
      `Line ${line}: the row is longer than ${rowBytes} bytes.`,
      {
        line,
        hint: 'Look for a quote on that line that is never closed.',
      },
    );
  }
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') {
    return new DocumentError('unclosed_quote', `Line ${line}: a quote opens and is never closed.`, {
      line,
      isUnfinished: true,
      hint: 'The file is perhaps cut off: send the whole file again. Inside a quoted cell, write a quote twice ("").',
    });
  }
  return error;
}
