import { createHash, createHmac } from 'node:crypto';

const base32 = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/**
 * A stream of numbers in [0, 1). The same seed and name give the same stream, so a run can be
 * repeated.
 */
export class SeededStream {
  #state: number;

  constructor(seed: number, name: string) {
    this.#state = createHash('sha256').update(`${seed}:${name}`).digest().readUInt32LE(0);
  }

  /**
   * mulberry32: small and fast, and good enough to draw delays and faults. Secrets are not made
   * with it.
   */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A number in [min, max]. Equal bounds draw no number. */
  between([min, max]: readonly [number, number]): number {
    return min === max ? min : min + this.next() * (max - min);
  }
}

/**
 * The text of a delivered code or a matching id: a pure function of the seed and the purpose. The
 * same run delivers the same codes, and no two units share one.
 */
export function derivedText(
  seed: number,
  purpose: string,
  groups: number,
  groupLength: number,
): string {
  const digest = createHmac('sha512', `sandbox-${seed}`).update(purpose).digest();
  const letters = Array.from(digest, (byte) => base32[byte % 32]).join('');
  const parts = Array.from({ length: groups }, (_, index) =>
    letters.slice(index * groupLength).slice(0, groupLength),
  );
  return parts.join('-');
}

export function derivedDigits(seed: number, purpose: string, length: number): string {
  const digest = createHmac('sha256', `sandbox-${seed}`).update(purpose).digest();
  return Array.from(digest.subarray(0, length), (byte) => String(byte % 10)).join('');
}
