import { Buffer, isUtf8 } from 'node:buffer';
import { DocumentError } from './document-error.ts';

const utf8Hint = 'Save it as UTF-8 (in a spreadsheet: "CSV UTF-8") and send it again.';

/**
 * Passes a document's bytes on in pieces of whole characters, without its byte order mark, and throws on what is not
 * UTF-8 text: a decoder that replaces what it does not know would buy something else than was asked for.
 */
export async function* checkedBytes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let carry: Buffer = Buffer.alloc(0);
  let started = false;
  let bytes = 0;
  let lines = 1;

  const check = (piece: Buffer): void => {
    const nul = piece.indexOf(0);
    if (nul >= 0) {
      const line = lines + countNewlines(piece.subarray(0, nul));
      throw new DocumentError('nul_bytes', `Byte ${bytes + nul} (line ${line}) is NUL, which text never holds.`, {
        line,
        byte: bytes + nul,
        hint: 'The file looks half written or is not text. Write it again, under a temporary name, then rename it.',
      });
    }
    if (!isUtf8(piece)) throw notUtf8(piece, bytes, lines);
    bytes += piece.length;
    lines += countNewlines(piece);
  };

  for await (const chunk of chunks) {
    const bufferOfChunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let piece = carry.length === 0 ? bufferOfChunk : Buffer.concat([carry, bufferOfChunk]);
    if (!started) {
      if (piece.length < 4) {
        carry = Buffer.from(piece);
        continue;
      }
      started = true;
      refuseUtf16(piece);
      if (hasByteOrderMark(piece)) {
        piece = piece.subarray(3);
        bytes = 3;
      }
    }
    const whole = wholeCharacters(piece);
    // A copy: the source may fill its buffer again before the next piece is asked for.
    carry = Buffer.from(piece.subarray(whole));
    const checked = piece.subarray(0, whole);
    check(checked);
    if (checked.length > 0) yield checked;
  }
  if (!started) {
    refuseUtf16(carry);
    if (hasByteOrderMark(carry)) carry = carry.subarray(3);
  }
  check(carry);
  if (carry.length > 0) yield carry;
}

function hasByteOrderMark(piece: Buffer): boolean {
  return piece[0] === 0xef && piece[1] === 0xbb && piece[2] === 0xbf;
}

function refuseUtf16(piece: Buffer): void {
  const [first, second, third, fourth] = piece;
  const marked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const bare =
    piece.length >= 4 &&
    ((first === 0 && second !== 0 && third === 0 && fourth !== 0) ||
      (first !== 0 && second === 0 && third !== 0 && fourth === 0));
  if (marked || bare) {
    throw new DocumentError('encoding_utf16', 'The text is encoded as UTF-16.', { line: 1, byte: 0, hint: utf8Hint });
  }
}

/** How many bytes of the piece are whole characters: at most three bytes of a begun one stay behind. */
function wholeCharacters(piece: Buffer): number {
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
  let start = 0;
  let line = linesBefore;
  for (;;) {
    const newline = piece.indexOf(0x0a, start);
    const end = newline < 0 ? piece.length : newline + 1;
    if (!isUtf8(piece.subarray(start, end)) || newline < 0) break;
    start = end;
    line += 1;
  }
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let offset = start;
  try {
    while (offset < piece.length) {
      decoder.decode(piece.subarray(offset, offset + 1), { stream: true });
      offset += 1;
    }
  } catch {
    // The byte at `offset` is the one that cannot continue the text.
  }
  const byte = bytesBefore + Math.min(offset, piece.length - 1);
  const value = (piece[Math.min(offset, piece.length - 1)] ?? 0).toString(16).toUpperCase().padStart(2, '0');
  return new DocumentError('encoding_not_utf8', `Byte ${byte} (line ${line}) is 0x${value}: the text is not UTF-8.`, {
    line,
    byte,
    hint: `It may be Latin-1 or Windows-1252. ${utf8Hint}`,
  });
}

export function countNewlines(piece: Buffer): number {
  let count = 0;
  for (let at = piece.indexOf(0x0a); at >= 0; at = piece.indexOf(0x0a, at + 1)) count += 1;
  return count;
}
