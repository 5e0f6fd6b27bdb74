import { Buffer } from 'node:buffer';
import { DocumentError } from './document-error.ts';

export interface TextLine {
  readonly text: string;
  /** Counts from 1. */
  readonly number: number;
  /** False for a last line without a newline: the file may have been cut off there. */
  readonly ended: boolean;
}

/** Yields the lines of an NDJSON document that are not blank. Throws DocumentError on a line that is too long. */
export async function* ndjsonLines(pieces: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<TextLine> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let number = 0;
  const line = (last: Buffer, ended: boolean): TextLine => {
    number += 1;
    const bytes = begun.length === 0 ? last : Buffer.concat([...begun, last]);
    begun = [];
    begunBytes = 0;
    if (bytes.length > maxBytes) throw tooLong(number, maxBytes);
    return { text: bytes.toString('utf8').replace(/\r$/, ''), number, ended };
  };
  for await (const piece of pieces) {
    let start = 0;
    for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, start)) {
      const ended = line(piece.subarray(start, at), true);
      if (ended.text.trim() !== '') yield ended;
      start = at + 1;
    }
    if (start < piece.length) {
      begun.push(Buffer.from(piece.subarray(start)));
      begunBytes += piece.length - start;
      if (begunBytes > maxBytes) throw tooLong(number + 1, maxBytes);
    }
  }
  const last = line(Buffer.alloc(0), false);
  if (last.text.trim() !== '') yield last;
}

function tooLong(line: number, maxBytes: number): DocumentError {
  return new DocumentError('line_too_long', `Line ${line} is longer than ${maxBytes} bytes.`, {
    line,
    hint: 'Split the order, or send one order on each line.',
  });
}
