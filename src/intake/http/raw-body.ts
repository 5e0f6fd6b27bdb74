import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Refusal } from './problem.ts';

/** How many bytes of request bodies may be in memory at once. */
export class BodyBytes {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when so many more are too many: then none are taken. */
  take(bytes: number): boolean {
    if (this.#taken + bytes > this.#limit) return false;
    this.#taken += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
  }
}

const firstBytes = 4096;
/** A body may come in so many parts, and in one more for each so many bytes. */
const freeParts = 1000;
const bytesPerPart = 16;

/**
 * Reads a request body as the bytes that arrived, because signatures are made over bytes, and returns what `use` makes of
 * it. Then another may take its place in memory. Throws Refusal when it is too large, if possible before it is read, when
 * it ends too early, or when the bodies of others fill the memory that bodies may have.
 */
export async function useRawBody<T>(
  incoming: IncomingMessage,
  { maxBytes, memory, onTinyParts }: { maxBytes: number; memory: BodyBytes; onTinyParts: () => void },
  use: (bytes: Buffer) => Promise<T>,
): Promise<T> {
  const announced = Number(incoming.headers['content-length'] ?? maxBytes);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const body = new GrowingBody(maxBytes, announced, memory);
  try {
    await new Promise<void>((resolve, reject) => {
      let isRefused = false;
      const onData = (part: Buffer): void => {
        const refusal = isRefused ? null : body.add(part);
        if (refusal === null) return;
        isRefused = true;
        if (refusal === 'tiny_parts') onTinyParts();
        reject(refusal === 'tiny_parts' ? incomplete('came in too many parts of a few bytes') : refusal);
      };
      // `close` also follows `end`, when the promise has resolved.
      const onClose = (): void => reject(incomplete('did not arrive completely'));
      incoming.on('data', onData).on('end', resolve).on('close', onClose).on('error', onClose);
      if (incoming.destroyed && !incoming.readableEnded) onClose();
    });
    return await use(body.bytes);
  } finally {
    body.release();
  }
}

/**
 * One buffer that grows with what arrives. A buffer for each part would cost some hundred times its bytes when the parts are small; one
 * of the announced length would give memory to a caller that sends nothing.
 */
class GrowingBody {
  readonly #maxBytes: number;
  /** It never needs to be larger. */
  readonly #announced: number;
  readonly #memory: BodyBytes;
  #buffer = Buffer.alloc(0);
  #length = 0;
  #parts = 0;

  constructor(maxBytes: number, announced: number, memory: BodyBytes) {
    this.#maxBytes = maxBytes;
    this.#announced = announced;
    this.#memory = memory;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Returns why the part cannot be added; null: it was. */
  add(part: Buffer): Refusal | 'tiny_parts' | null {
    this.#parts += 1;
    if (this.#parts > freeParts + this.#length / bytesPerPart) return 'tiny_parts';
    const length = this.#length + part.length;
    if (length > this.#maxBytes) return tooLarge(this.#maxBytes);
    if (length > this.#buffer.length && !this.#grow(length)) return noRoom();
    part.copy(this.#buffer, this.#length);
    this.#length = length;
    return null;
  }

  release(): void {
    this.#memory.giveBack(this.#buffer.length);
  }

  #grow(least: number): boolean {
    const size = Math.min(this.#announced, Math.max(least, this.#buffer.length * 2, firstBytes));
    if (!this.#memory.take(size - this.#buffer.length)) return false;
    const grown = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
    return true;
  }
}

function incomplete(what: string): Refusal {
  return new Refusal('incomplete', `The body ${what}.`);
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('too_large', `A body may have at most ${maxBytes} bytes. Split the batch.`, {
    // The rest of the body would have to be read before the next request on this connection.
    headers: { connection: 'close' },
  });
}

function noRoom(): Refusal {
  return new Refusal('overloaded', 'The bodies of other requests fill the memory; nothing of this one was accepted.', {
    headers: { 'retry-after': '1', connection: 'close' },
  });
}
