import type { Clock } from '../../core/clock.ts';

/**
 * How often a caller may call: a bucket that holds `burst` and fills at an even pace. Counted only for callers that are
 * known, so that nobody can use up somebody else's.
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

  /** Takes one call of this caller: 0, or the ms after which there is one. */
  take(name: string): number {
    const nowMs = this.#clock.monoMs();
    const bucket = this.#buckets.get(name) ?? { level: this.#burst, atMs: nowMs };
    const level = Math.min(this.#burst, bucket.level + (nowMs - bucket.atMs) * this.#perMs);
    const taken = level >= 1;
    this.#buckets.set(name, { level: taken ? level - 1 : level, atMs: nowMs });
    return taken ? 0 : (1 - level) / this.#perMs;
  }
}
