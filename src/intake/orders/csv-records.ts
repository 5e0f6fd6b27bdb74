import { Buffer } from 'node:buffer';
import { Readable, pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { DocumentError } from './document-error.ts';
import type { ParseLimits } from './settings.ts';

export interface CsvDialect {
  readonly delimiter: string;
  /** Lines of text before the first piece. */
  readonly firstLine: number;
  readonly limits: ParseLimits;
}

/** Some records of a document, in its order. */
export interface CsvRecords {
  readonly records: readonly (readonly string[])[];
  /** Whether a cell may hold line breaks; where no quote stands, none can. */
  readonly quoted: boolean;
}

const quote = 0x22;
const lineEnd = /\r\n|\n|\r/;

/**
 * Divides checked UTF-8 into records, one to several at a time; lines end in LF, CRLF or CR. Up to the first quote of
 * a document a record is a line and a cell is what stands between two separators, which costs a tenth of what reading
 * sign by sign does; from the piece with the first quote on csv-parse reads. Both give the same (a property test holds
 * them against each other). Throws DocumentError.
 */
export async function* csvRecords(pieces: AsyncIterable<Buffer>, dialect: CsvDialect): AsyncGenerator<CsvRecords> {
  const { delimiter, limits } = dialect;
  const iterator = pieces[Symbol.asyncIterator]();
  let lines = dialect.firstLine;
  // A line that is begun, and a CR that may be the first half of a CRLF.
  let begun = '';
  const recordOf = (line: string): readonly string[] => {
    lines += 1;
    if (line.length > limits.rowBytes) throw tooLong(lines, limits);
    return line.split(delimiter);
  };
  try {
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      const piece = next.value;
      if (piece.includes(quote)) {
        const rest = following(Buffer.concat([Buffer.from(begun), piece]), iterator);
        yield* quotedRecords(rest, { ...dialect, firstLine: lines });
        return;
      }
      const text = begun + piece.toString('utf8');
      const isHalf = text.endsWith('\r');
      const whole = (isHalf ? text.slice(0, -1) : text).split(text.includes('\r') ? lineEnd : '\n');
      const last = whole.pop() ?? '';
      const records = whole.map(recordOf);
      if (last.length > limits.rowBytes) throw tooLong(lines + 1, limits);
      begun = isHalf ? `${last}\r` : last;
      if (records.length > 0) yield { records, quoted: false };
    }
    if (begun !== '') yield { records: [recordOf(begun.endsWith('\r') ? begun.slice(0, -1) : begun)], quoted: false };
  } finally {
    await iterator.return?.();
  }
}

/** A first piece that was read already, then the rest of its iterator, which is closed at the end. */
export async function* following(first: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (first.length > 0) yield first;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

/** The same by csv-parse, for any document. */
export async function* quotedRecords(pieces: AsyncIterable<Buffer>, dialect: CsvDialect): AsyncGenerator<CsvRecords> {
  const parser = parse({
    columns: false,
    delimiter: dialect.delimiter,
    max_record_size: dialect.limits.rowBytes,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
  });
  // The parser's own iteration reports the failure; a second report here would be one too many.
  pipeline(Readable.from(pieces, { objectMode: false }), parser, () => undefined);
  try {
    for await (const first of parser as AsyncIterable<string[]>) {
      // A piece gives hundreds of records: to await each of them costs as much as to read it.
      const records = [first];
      for (let more = nextOf(parser); more !== null; more = nextOf(parser)) records.push(more);
      yield { records, quoted: true };
    }
  } catch (error) {
    throw error instanceof CsvError ? explained(error, dialect) : error;
  }
}

function nextOf(parser: ReturnType<typeof parse>): string[] | null {
  const record: unknown = parser.read();
  return isRecord(record) ? record : null;
}

/** The parser was told to give arrays of text, and gives nothing else but null for "not now". */
const isRecord = (value: unknown): value is string[] => Array.isArray(value);

function explained(error: CsvError, { firstLine, limits }: CsvDialect): DocumentError {
  const lines: unknown = error['lines'];
  const line = firstLine + (typeof lines === 'number' ? lines : 1);
  if (error.code === 'CSV_MAX_RECORD_SIZE') return tooLong(line, limits);
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') {
    return new DocumentError('unclosed_quote', `A quote is opened before line ${line} and never closed.`, {
      line,
      hint: 'Is the file cut off? Send it again, whole; a quote within a cell is written twice ("").',
    });
  }
  return new DocumentError('misplaced_quote', `Line ${line}: a quote stands where none may.`, {
    line,
    hint: 'Put the whole cell in quotes; a quote within a cell is written twice ("").',
  });
}

function tooLong(line: number, limits: ParseLimits): DocumentError {
  return new DocumentError('line_too_long', `Line ${line}: the row is longer than ${limits.rowBytes} bytes.`, {
    line,
    hint: 'Look for a quote that is never closed before that line.',
  });
}
