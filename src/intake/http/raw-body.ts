import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Refusal } from './problem.ts';

/** From where a body comes, and whether somebody proved himself from there lately. */
export interface BodySender {
  readonly address: string;
  readonly isProven: boolean;
}

/** The share of the memory that one address of strangers may have, and the share of all of them. */
const shareOfAddress = 1 / 8;
const shareOfStrangers = 3 / 4;

/** How many bytes of request bodies may be in memory at once. */
export class BodyBytes {
  readonly #limit: number;
  #taken = 0;
  #ofStrangers = 0;
  readonly #ofAddress = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False when so many more are too many: then none are taken. */
  take(bytes: number, { address, isProven }: BodySender): boolean {
    if (this.#taken + bytes > this.#limit) return false;
    if (!isProven) {
      const own = (this.#ofAddress.get(address) ?? 0) + bytes;
      const all = this.#ofStrangers + bytes;
      if (own > this.#limit * shareOfAddress || all > this.#limit * shareOfStrangers) return false;
      this.#ofAddress.set(address, own);
      this.#ofStrangers = all;
    }
    this.#taken += bytes;
    return true;
  }

  giveBack(bytes: number, { address, isProven }: BodySender): void {
    this.#taken -= bytes;
    if (isProven) return;
    this.#ofStrangers -= bytes;
    const own = (this.#ofAddress.get(address) ?? 0) - bytes;
    if (own > 0) this.#ofAddress.set(address, own);
    else this.#ofAddress.delete(address);
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
  {
    maxBytes,
    onTinyParts,
    ...place
  }: { maxBytes: number; memory: BodyBytes; sender: BodySender; onTinyParts: () => void },
  use: (bytes: Buffer) => Promise<T>,
): Promise<T> {
  const announced = Number(incoming.headers['content-length'] ?? maxBytes);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const body = new GrowingBody(maxBytes, announced, place);
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
  readonly #sender: BodySender;
  #buffer = Buffer.alloc(0);
  #length = 0;
  #parts = 0;

  constructor(
    maxBytes: number,
    announced: number,
    { memory, sender }: { readonly memory: BodyBytes; readonly sender: BodySender },
  ) {
    this.#maxBytes = maxBytes;
    this.#announced = announced;
    this.#memory = memory;
    this.#sender = sender;
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
    this.#memory.giveBack(this.#buffer.length, this.#sender);
  }

  #grow(least: number): boolean {
    const size = Math.min(this.#announced, Math.max(least, this.#buffer.length * 2, firstBytes));
    if (!this.#memory.take(size - this.#buffer.length, this.#sender)) return false;
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
