import type { Clock } from '../core/clock.ts';

/**
 * Limits how often a caller may call: a token bucket of size `burst` that fills at a constant rate. Only authenticated
 * callers are counted, so nobody can use up the limit of another.
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
    const nowMs = this.#clock.monoMs();
    const bucket = this.#buckets.get(name) ?? { level: this.#burst, atMs: nowMs };
    const level = Math.min(this.#burst, bucket.level + (nowMs - bucket.atMs) * this.#perMs);
    const cost = Math.min(calls, this.#burst);
    const isAllowed = level >= cost;
    this.#buckets.set(name, { level: isAllowed ? level - cost : level, atMs: nowMs });
    return isAllowed ? 0 : (cost - level) / this.#perMs;
  }
}
