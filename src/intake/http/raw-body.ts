import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { HttpProblem } from './problem.ts';

/** How many bytes of request bodies may be in memory at once. */
export class BodyBytes {
  readonly #limit: number;
  #taken = 0;
  /** Incomplete bodies of callers that have not proved who they are. */
  readonly #unverified = new Set<GrowingBody>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  began(body: GrowingBody): void {
    this.#unverified.add(body);
  }

  ended(body: GrowingBody): void {
    this.#unverified.delete(body);
  }

  /**
   * Where there are not enough, unverified bodies give theirs to others. False: that is not enough;
   * none are taken.
   */
  take(bytes: number, taker: GrowingBody): boolean {
    while (this.#taken + bytes > this.#limit) {
      const largest = this.#largestFor(taker);
      if (largest === undefined) return false;
      largest.giveWay();
    }
    this.#taken += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
  }

  /**
   * The one that gives way: of a stranger, before one of an address from which somebody proved
   * himself: no order of usual size.
   */
  #largestFor(taker: GrowingBody): GrowingBody | undefined {
    const others = [...this.#unverified].filter((body) => body !== taker);
    const bodies = others.toSorted((a, b) => b.size - a.size);
    return bodies.find(({ isProven }) => !isProven) ?? (taker.isProven ? bodies[0] : undefined);
  }
}

const firstBytes = 4096;
/** A body may come in so many parts, and in one more for each so many bytes. */
const freeParts = 1000;
const bytesPerPart = 16;

interface BodyPlace {
  readonly memory: BodyBytes;
  readonly maxBytes: number;
  /** The caller proved who it is before its body is read. */
  readonly isVerified: boolean;
  /** Somebody did so lately, from the address of the caller. */
  readonly isProven: boolean;
  readonly onTinyParts: () => void;
}

/**
 * Reads a request body as the bytes that arrived, because signatures are made over bytes, and
 * returns what `use` makes of it. Then another may take its place in memory. Throws HttpProblem when it
 * is too large, if possible before it is read, when it ends too early, or when the bodies of others
 * fill the memory that bodies may have.
 */
export async function useRawBody<T>(
  incoming: IncomingMessage,
  { maxBytes, memory, isVerified, isProven, onTinyParts }: BodyPlace,
  use: (bytes: Buffer) => Promise<T>,
): Promise<T> {
  const announced = Number(incoming.headers['content-length'] ?? maxBytes);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const { promise: refused, reject } = Promise.withResolvers<never>();
  let isRefused = false;
  const refuse = (why: HttpProblem): void => {
    isRefused = true;
    reject(why);
  };
  const body = new GrowingBody({
    maxBytes,
    announced,
    memory,
    isProven,
    onGivenWay: () => refuse(noRoom()),
  });
  const onData = (part: Buffer): void => {
    const refusal = isRefused ? null : body.add(part);
    if (refusal === 'tiny_parts') onTinyParts();
    if (refusal === null) return;
    refuse(
      refusal === 'tiny_parts' ? incomplete('came in too many parts of a few bytes') : refusal,
    );
  };
  // `close` also follows `end`, when the body is complete.
  const onClose = (): void => refuse(incomplete('did not arrive completely'));
  if (!isVerified) memory.began(body);
  try {
    const arrived = new Promise<void>((resolve) => incoming.on('data', onData).on('end', resolve));
    incoming.on('close', onClose).on('error', onClose);
    if (incoming.destroyed && !incoming.readableEnded) onClose();
    await Promise.race([arrived, refused]);
    memory.ended(body);
    return await use(body.bytes);
  } finally {
    memory.ended(body);
    body.release();
  }
}

/**
 * One buffer that grows with what arrives. A buffer for each part would cost some hundred times its
 * bytes when the parts are small; one of the announced length would give memory to a caller that
 * sends nothing.
 */
class GrowingBody {
  readonly isProven: boolean;
  readonly #maxBytes: number;
  /** It never needs to be larger. */
  readonly #announced: number;
  readonly #memory: BodyBytes;
  readonly #onGivenWay: () => void;
  #buffer = Buffer.alloc(0);
  #length = 0;
  #parts = 0;

  constructor(
    place: Pick<BodyPlace, 'maxBytes' | 'memory' | 'isProven'> & {
      announced: number;
      onGivenWay: () => void;
    },
  ) {
    this.isProven = place.isProven;
    this.#maxBytes = place.maxBytes;
    this.#announced = place.announced;
    this.#memory = place.memory;
    this.#onGivenWay = place.onGivenWay;
  }

  get size(): number {
    return this.#buffer.length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Returns why the part cannot be added; null: it was. */
  add(part: Buffer): HttpProblem | 'tiny_parts' | null {
    this.#parts += 1;
    if (this.#parts > freeParts + this.#length / bytesPerPart) return 'tiny_parts';
    const length = this.#length + part.length;
    if (length > this.#maxBytes) return tooLarge(this.#maxBytes);
    if (length > this.#buffer.length && !this.#grow(length)) return noRoom();
    part.copy(this.#buffer, this.#length);
    this.#length = length;
    return null;
  }

  /** Its memory goes to another. */
  giveWay(): void {
    this.#memory.ended(this);
    this.release();
    this.#onGivenWay();
  }

  release(): void {
    this.#memory.giveBack(this.#buffer.length);
    this.#buffer = Buffer.alloc(0);
  }

  #grow(least: number): boolean {
    const size = Math.min(this.#announced, Math.max(least, this.#buffer.length * 2, firstBytes));
    if (!this.#memory.take(size - this.#buffer.length, this)) return false;
    const grown = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
    return true;
  }
}

function incomplete(what: string): HttpProblem {
  return new HttpProblem('incomplete', `The body ${what}.`);
}

export function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem('too_large', `A body may have at most ${maxBytes} bytes.`, {
    // The rest of the body would have to be read before the next request on this connection.
    headers: { connection: 'close' },
  });
}

function noRoom(): HttpProblem {
  return new HttpProblem(
    'overloaded',
    'The bodies of other requests fill the memory; nothing of this one was accepted.',
    {
      headers: { 'retry-after': '1', connection: 'close' },
    },
  );
}
