import { isIPv6 } from 'node:net';
import type { Clock } from '../core/clock.ts';
import { hash, timingSafeEqual } from 'node:crypto';
import type { Buffer } from 'node:buffer';
import type { Logger } from 'pino';

/** One caller can have all addresses of an IPv6 network of 64 bits, so they count as one. */
export function callerAddress(remote: string): string {
  const address = remote.replace(/^::ffff:/i, '');
  if (!isIPv6(address)) return address;
  const [front = '', back] = address.split('::');
  const groups = front === '' ? [] : front.split(':');
  // `::` stands for as many groups of zeros as are missing.
  const missing =
    back === undefined ? 0 : 8 - groups.length - (back === '' ? 0 : back.split(':').length);
  return [...groups, ...Array<string>(missing).fill('0')].slice(0, 4).join(':');
}

/**
 * Limits how often a caller may call: a token bucket of size `burst` that fills at a constant rate.
 * Only authenticated callers are counted, so nobody can use up the limit of another.
 */
export class RateLimit {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, { level: number; atMs: number }>();

  constructor(clock: Clock, requestsPerMinute: number, burst: number) {
    this.#clock = clock;
    this.#perMs = requestsPerMinute / 60_000;
    this.#burst = burst;
  }

  /**
   * Counts calls. Returns 0 when they are allowed, otherwise the ms until the next one is.
   * @param calls as many as this one costs; with more than the burst, those of a whole burst
   */
  take(name: string, calls = 1): number {
    const nowMs = this.#clock.steadyMs();
    const bucket = this.#buckets.get(name) ?? { level: this.#burst, atMs: nowMs };
    const level = Math.min(this.#burst, bucket.level + (nowMs - bucket.atMs) * this.#perMs);
    const cost = Math.min(calls, this.#burst);
    const isAllowed = level >= cost;
    this.#buckets.set(name, { level: isAllowed ? level - cost : level, atMs: nowMs });
    return isAllowed ? 0 : (cost - level) / this.#perMs;
  }
}

/** A configured token: the digest of one of its secrets, and who it is of. */
export interface KnownToken<Owner> {
  readonly owner: Owner;
  readonly digest: Buffer;
}

/**
 * Any of the secrets of an owner is accepted, so that one can be replaced without an interruption.
 */
export function knownTokens<Owner extends { readonly secrets: readonly string[] }>(
  owners: readonly Owner[],
): readonly KnownToken<Owner>[] {
  return owners.flatMap((owner) =>
    owner.secrets.map((secret) => ({ owner, digest: secretDigest(secret) })),
  );
}

/**
 * Whose token this is; null: nobody's. All are compared, so that the time does not reveal which one
 * was nearly right.
 */
export function ownerOfToken<Owner>(
  tokens: readonly KnownToken<Owner>[],
  sent: string,
): Owner | null {
  const digest = secretDigest(sent);
  let found: Owner | null = null;
  for (const token of tokens) if (timingSafeEqual(token.digest, digest)) found = token.owner;
  return found;
}

/**
 * Secrets are compared by their digests: these have one length, so the time depends on neither
 * secret.
 */
export function secretDigest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** So many wrong tokens of one address are answered at once, and then one a second. */
const wrongTokens = { perMinute: 60, burst: 20 };
/** So many characters have 128 bits in base64: nobody finds such a token by trying. */
const unguessableLength = 22;
/** Of so many addresses is anything remembered; the count begins anew with more. */
const mostAddresses = 10_000;
/** With more, each proves itself again. */
const mostProven = 10_000;
const countedForMs = 3_600_000;

/**
 * Slows down who tries tokens, for each address, and says so in the log. A caller that shows a long
 * token, or showed its token at this address before, is never slowed down: many may share the
 * address of a proxy.
 */
export class FailedTokens {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #rates: RateLimit;
  #addresses = new Set<string>();
  readonly #proven = new Set<string>();
  #failures = 0;
  #countedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
    this.#rates = this.#newRates();
  }

  /**
   * Judges a token that was sent from this address. Returns 0 when it is answered as usual;
   * otherwise the ms after which the next one is, whether it is right or wrong: the answer must not
   * tell.
   * @param caller the name of the caller whose token it is; null: it is wrong
   */
  judge(remoteAddress: string | undefined, sent: string, caller: string | null): number {
    if (caller !== null && sent.length >= unguessableLength) return 0;
    const address = callerAddress(remoteAddress ?? '');
    const proof = `${address} ${caller ?? ''}`;
    if (caller !== null && this.#proven.has(proof)) return 0;
    if (caller === null) this.#count(address);
    const waitMs = this.#addresses.has(address) ? this.#rates.take(address) : 0;
    if (waitMs > 0 || caller === null) return waitMs;
    if (this.#proven.size >= mostProven) this.#proven.clear();
    this.#proven.add(proof);
    return 0;
  }

  #newRates(): RateLimit {
    return new RateLimit(this.#clock, wrongTokens.perMinute, wrongTokens.burst);
  }

  /** A line at the first wrong token of an hour, the tenth, the hundredth and so on. */
  #count(address: string): void {
    if (this.#addresses.size >= mostAddresses) {
      this.#addresses = new Set();
      this.#rates = this.#newRates();
    }
    this.#addresses.add(address);
    const nowMs = this.#clock.steadyMs();
    if (nowMs >= this.#countedUntilMs) {
      this.#failures = 0;
      this.#countedUntilMs = nowMs + countedForMs;
    }
    this.#failures += 1;
    if (!Number.isInteger(Math.log10(this.#failures))) return;
    const details = { wrong_tokens: this.#failures, address, addresses: this.#addresses.size };
    this.#logger.warn(
      details,
      'wrong tokens were sent: is a caller configured wrongly, or does somebody guess tokens?',
    );
  }
}
