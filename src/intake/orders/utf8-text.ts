import { Buffer, isUtf8 } from 'node:buffer';
import { DocumentError } from './document-error.ts';

const utf8Hint = 'Save it as UTF-8 (in a spreadsheet: "CSV UTF-8") and send it again.';

/**
 * Passes a document's bytes on in pieces of whole characters, without its byte order mark, and throws on what is not
 * UTF-8 text: a decoder that replaces what it does not know would buy something else than was asked for.
 */
export async function* checkedBytes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const check = new ByteCheck();
  for await (const chunk of chunks) {
    const checked = check.next(chunk);
    if (checked.length > 0) yield checked;
  }
  const last = check.end();
  if (last.length > 0) yield last;
}

/** The text of a document that is in memory as a whole, by the same rules. Throws DocumentError. */
export function checkedText(bytes: Buffer): string {
  const check = new ByteCheck();
  const text = check.next(bytes).toString('utf8');
  const last = check.end();
  return last.length === 0 ? text : text + last.toString('utf8');
}

class ByteCheck {
  #carry = nothing;
  #started = false;
  #bytes = 0;
  #lines = 1;

  /** What of the chunk, and of what was kept back before, is whole characters. A view of the chunk where that will do. */
  next(chunk: Uint8Array): Buffer {
    const bufferOfChunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let piece = this.#carry.length === 0 ? bufferOfChunk : Buffer.concat([this.#carry, bufferOfChunk]);
    if (!this.#started) {
      if (piece.length < 4) {
        this.#carry = Buffer.from(piece);
        return nothing;
      }
      this.#started = true;
      refuseUtf16(piece);
      if (hasByteOrderMark(piece)) {
        piece = piece.subarray(3);
        this.#bytes = 3;
      }
    }
    const whole = wholeCharacters(piece);
    // A copy: the source may fill its buffer again before the next piece is asked for.
    this.#carry = whole === piece.length ? nothing : Buffer.from(piece.subarray(whole));
    const checked = piece.subarray(0, whole);
    this.#check(checked);
    return checked;
  }

  end(): Buffer {
    if (!this.#started) {
      refuseUtf16(this.#carry);
      if (hasByteOrderMark(this.#carry)) this.#carry = this.#carry.subarray(3);
    }
    this.#check(this.#carry);
    return this.#carry;
  }

  #check(piece: Buffer): void {
    const nul = piece.indexOf(0);
    if (nul >= 0) {
      const line = this.#lines + countNewlines(piece.subarray(0, nul));
      const byte = this.#bytes + nul;
      throw new DocumentError('nul_bytes', `Byte ${byte} (line ${line}) is NUL, which text never holds.`, {
        line,
        byte,
        hint: 'The file looks half written or is not text. Write it again, under a temporary name, then rename it.',
      });
    }
    if (!isUtf8(piece)) throw notUtf8(piece, this.#bytes, this.#lines);
    this.#bytes += piece.length;
    this.#lines += countNewlines(piece);
  }
}

const nothing: Buffer = Buffer.alloc(0);

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
