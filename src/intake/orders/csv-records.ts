import { Buffer } from 'node:buffer';
import { Readable, pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { DocumentError } from './document-error.ts';
import type { ParseLimits } from './settings.ts';

interface CsvDialect {
  readonly delimiter: string;
  /** The number of lines before the first piece. */
  readonly firstLine: number;
  readonly limits: Pick<ParseLimits, 'rowBytes'>;
}

/** Successive records of a document. */
export interface CsvRecords {
  readonly records: readonly (readonly string[])[];
  /** Whether cells may contain line breaks; without quotes none can. */
  readonly quoted: boolean;
}

const quote = 0x22;
const lineEnd = /\r\n|\n|\r/;

/**
 * Splits UTF-8 text into records and yields several at a time; lines end in LF, CRLF or CR. Up to the first quote of a
 * document, a record is a line that is split at the separators: this costs a tenth of parsing character by character.
 * From the piece with the first quote on, csv-parse reads. Both give the same records (a property test compares them).
 * Throws DocumentError.
 */
export async function* csvRecords(pieces: AsyncIterable<Buffer>, dialect: CsvDialect): AsyncGenerator<CsvRecords> {
  const { delimiter, limits } = dialect;
  const iterator = pieces[Symbol.asyncIterator]();
  let lines = dialect.firstLine;
  // The line that is not complete yet. It may end in a CR whose LF comes with the next piece.
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
        const rest = piecesFrom(Buffer.concat([Buffer.from(begun), piece]), iterator);
        yield* quotedRecords(rest, { ...dialect, firstLine: lines });
        return;
      }
      const text = begun + piece.toString('utf8');
      const endsInCr = text.endsWith('\r');
      const complete = (endsInCr ? text.slice(0, -1) : text).split(text.includes('\r') ? lineEnd : '\n');
      const last = complete.pop() ?? '';
      const records = complete.map(recordOf);
      if (last.length > limits.rowBytes) throw tooLong(lines + 1, limits);
      begun = endsInCr ? `${last}\r` : last;
      if (records.length > 0) yield { records, quoted: false };
    }
    if (begun !== '') yield { records: [recordOf(begun.endsWith('\r') ? begun.slice(0, -1) : begun)], quoted: false };
  } finally {
    await iterator.return?.();
  }
}

/** The pieces of an iterator from which `first` was already taken. */
export async function* piecesFrom(first: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (first.length > 0) yield first;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

/** The same records, read by csv-parse from the start. */
export async function* quotedRecords(pieces: AsyncIterable<Buffer>, dialect: CsvDialect): AsyncGenerator<CsvRecords> {
  const parser = parse({
    columns: false,
    delimiter: dialect.delimiter,
    max_record_size: dialect.limits.rowBytes,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
  });
  // The loop over the parser below throws the error, so the callback ignores it.
  pipeline(Readable.from(pieces, { objectMode: false }), parser, () => undefined);
  try {
    for await (const first of parser as AsyncIterable<string[]>) {
      // A piece has hundreds of records: to await each of them would cost as much as to parse it.
      const records = [first];
      for (let more: unknown = parser.read(); isRecord(more); more = parser.read()) records.push(more);
      yield { records, quoted: true };
    }
  } catch (error) {
    throw error instanceof CsvError ? explained(error, dialect) : error;
  }
}

/** csv-parse is configured to return arrays of text; it returns null when no record is ready. */
const isRecord = (value: unknown): value is string[] => Array.isArray(value);

function explained(error: CsvError, { firstLine, limits }: CsvDialect): DocumentError {
  const lines: unknown = error['lines'];
  const line = firstLine + (typeof lines === 'number' ? lines : 1);
  if (error.code === 'CSV_MAX_RECORD_SIZE') return tooLong(line, limits);
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') {
    return new DocumentError('unclosed_quote', `A quote is opened before line ${line} and never closed.`, {
      line,
      hint: 'The file may be cut off: send all of it again. Inside a quoted cell, write a quote twice ("").',
    });
  }
  return new DocumentError('misplaced_quote', `Line ${line}: a quote is not allowed at this place.`, {
    line,
    hint: 'Put the whole cell in quotes. Inside a quoted cell, write a quote twice ("").',
  });
}

function tooLong(line: number, limits: CsvDialect['limits']): DocumentError {
  return new DocumentError('line_too_long', `Line ${line}: the row is longer than ${limits.rowBytes} bytes.`, {
    line,
    hint: 'Look for a quote before that line that is never closed.',
  });
}
