import { Buffer } from 'node:buffer';
import { DocumentError } from './document-error.ts';

export interface TextLine {
  readonly text: string;
  /** Counts from 1. */
  readonly number: number;
  /** False for a last line that no newline ends: it may have been cut. */
  readonly ended: boolean;
}

/** Divides checked UTF-8 into its lines, without their ends. Throws DocumentError on one that is too long. */
export async function* textLines(pieces: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<TextLine> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let number = 0;
  const line = (last: Buffer, ended: boolean): TextLine => {
    number += 1;
    const bytes = begun.length === 0 ? last : Buffer.concat([...begun, last]);
    begun = [];
    begunBytes = 0;
    if (bytes.length > maxBytes) throw tooLong(number, maxBytes);
    const text = bytes.toString('utf8');
    return { text: text.endsWith('\r') ? text.slice(0, -1) : text, number, ended };
  };
  for await (const piece of pieces) {
    let start = 0;
    for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, start)) {
      yield line(piece.subarray(start, at), true);
      start = at + 1;
    }
    if (start < piece.length) {
      begun.push(Buffer.from(piece.subarray(start)));
      begunBytes += piece.length - start;
      if (begunBytes > maxBytes) throw tooLong(number + 1, maxBytes);
    }
  }
  if (begunBytes > 0) yield line(Buffer.alloc(0), false);
}

function tooLong(line: number, maxBytes: number): DocumentError {
  return new DocumentError('line_too_long', `Line ${line} is longer than ${maxBytes} bytes.`, {
    line,
    hint: 'Divide the order, or send one order on each line.',
  });
}
