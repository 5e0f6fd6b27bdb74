import { Buffer, isUtf8 } from 'node:buffer';
import { DocumentError } from './document-error.ts';

/**
 * Yields whole characters, without a byte order mark. A decoder that replaces bytes could change
 * what is bought.
 */
export async function* utf8Pieces(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const check = new Utf8Check();
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of parts) {
    // A copy: the source may reuse its buffer for the next part.
    const received = Buffer.concat([rest, part]);
    const end = check.canBegin(received) ? endOfWholeCharacters(received) : 0;
    rest = received.subarray(end);
    const piece = check.next(received.subarray(0, end));
    if (piece.length > 0) yield piece;
  }
  const last = check.next(rest);
  if (last.length > 0) yield last;
}

/** Decodes a document that is in memory, with the same checks. Throws DocumentError. */
export function utf8Text(bytes: Buffer): string {
  return new Utf8Check().next(bytes).toString('utf8');
}

class Utf8Check {
  #bytes = 0;
  #lines = 1;

  /** The first four bytes show a workbook, a byte order mark, and UTF-16 without one. */
  canBegin(piece: Buffer): boolean {
    return this.#bytes > 0 || piece.length >= 4;
  }

  next(received: Buffer): Buffer {
    if (this.#bytes > 0 || received.length === 0) return this.#checked(received);
    const magic = received.toString('latin1', 0, 4);
    if (magic === 'PK\x03\x04' || magic === '\xd0\xcf\x11\xe0')
      throw new DocumentError('spreadsheet_file', 'The file is a workbook, not text.', {
        hint: workbookHint,
      });
    rejectUtf16(received);
    if (received[0] !== 0xef || received[1] !== 0xbb || received[2] !== 0xbf)
      return this.#checked(received);
    this.#bytes = 3;
    return this.#checked(received.subarray(3));
  }

  #checked(piece: Buffer): Buffer {
    const nul = piece.indexOf(0);
    if (nul >= 0) {
      const line = this.#lines + countNewlines(piece.subarray(0, nul));
      const byte = this.#bytes + nul;
      throw new DocumentError(
        'nul_bytes',
        `Byte ${byte} (line ${line}) is NUL, which text never contains.`,
        {
          line,
          byte,
          isUnfinished: true,
          hint: 'The file is incomplete or is not text. Write it again under a temporary name, then rename it.',
        },
      );
    }
    if (!isUtf8(piece)) throw notUtf8(piece, this.#bytes, this.#lines);
    this.#bytes += piece.length;
    this.#lines += countNewlines(piece);
    return piece;
  }
}

const workbookHint = 'In the spreadsheet, save the file as "CSV UTF-8" and send that file.';
const utf8Hint = 'Save the file as UTF-8 (in a spreadsheet: "CSV UTF-8") and send it again.';

function rejectUtf16(piece: Buffer): void {
  const [first, second, third, fourth] = piece;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const looksLikeUtf16 =
    piece.length >= 4 &&
    ((first === 0 && second !== 0 && third === 0 && fourth !== 0) ||
      (first !== 0 && second === 0 && third !== 0 && fourth === 0));
  if (hasMark || looksLikeUtf16) {
    throw new DocumentError('encoding_utf16', 'The text is encoded as UTF-16.', {
      line: 1,
      byte: 0,
      hint: utf8Hint,
    });
  }
}

/** Where the last whole character ends: at most three bytes of an incomplete one follow. */
function endOfWholeCharacters(piece: Buffer): number {
  for (let back = 1; back <= Math.min(3, piece.length); back += 1) {
    const byte = piece[piece.length - back] ?? 0;
    if (byte < 0x80) return piece.length;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? piece.length - back : piece.length;
    }
  }
  return piece.length;
}

function notUtf8(piece: Buffer, bytesBefore: number, linesBefore: number): DocumentError {
  // Decoding replaces invalid bytes, so the first byte that differs afterwards is the first invalid
  // one.
  const replaced = Buffer.from(piece.toString('utf8'));
  const found = piece.findIndex((value, index) => value !== replaced[index]);
  const at = found < 0 ? piece.length - 1 : found;
  const byte = bytesBefore + at;
  const line = linesBefore + countNewlines(piece.subarray(0, at));
  const value = (piece[at] ?? 0).toString(16).toUpperCase().padStart(2, '0');
  return new DocumentError(
    'encoding_not_utf8',
    `Byte ${byte} (line ${line}) is 0x${value}: the text is not UTF-8.`,
    {
      line,
      byte,
      // A character that is cut off comes alone.
      isUnfinished: piece.length < 4,
      hint: `It may be Latin-1 or Windows-1252. ${utf8Hint}`,
    },
  );
}

function countNewlines(piece: Buffer): number {
  let count = 0;
  for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, at + 1)) count += 1;
  return count;
}
