import type { Buffer } from 'node:buffer';
import { Readable, pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { DocumentError } from './document-error.ts';

interface CsvDialect {
  readonly delimiter: string;
  /** The number of lines before the first piece. */
  readonly firstLine: number;
  /** The longest record. */
  readonly rowBytes: number;
}

/** Splits UTF-8 text into records and yields several at a time; lines end in LF, CRLF or CR. Throws DocumentError. */
export async function* csvRecords(
  pieces: AsyncIterable<Buffer>,
  dialect: CsvDialect,
): AsyncGenerator<readonly (readonly string[])[]> {
  const parser = parse({
    columns: false,
    delimiter: dialect.delimiter,
    max_record_size: dialect.rowBytes,
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
      yield records;
    }
  } catch (error) {
    throw error instanceof CsvError ? explained(error, dialect) : error;
  }
}

/** csv-parse is configured to return arrays of text; it returns null when no record is ready. */
const isRecord = (value: unknown): value is string[] => Array.isArray(value);

function explained(error: CsvError, { firstLine, rowBytes }: CsvDialect): DocumentError {
  const lines: unknown = error['lines'];
  const line = firstLine + (typeof lines === 'number' ? lines : 1);
  if (error.code === 'CSV_MAX_RECORD_SIZE') {
    return new DocumentError('line_too_long', `Line ${line}: the row is longer than ${rowBytes} bytes.`, {
      line,
      hint: 'Look for a quote before that line that is never closed.',
    });
  }
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
