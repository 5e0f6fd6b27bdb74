/** Milliseconds since the Unix epoch; must never run backwards inside one process. */
export type TimeSource = () => number;

/** Wall time at the start of the process plus monotonic time since: an adjusted wall clock neither bursts nor stalls. */
export const steadyTime: TimeSource = () => performance.timeOrigin + performance.now();

/**
 * The sandbox's own time: the source plus whatever the operator advanced it by, in whole milliseconds.
 * Whole milliseconds keep the sliding window exact: floor(t + window) is floor(t) + window.
 */
export class SandboxClock {
  readonly #source: TimeSource;
  #offsetMs: number;

  constructor(source: TimeSource, offsetMs: number) {
    this.#source = source;
    this.#offsetMs = offsetMs;
  }

  now(): number {
    return Math.floor(this.#source()) + this.#offsetMs;
  }

  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Moves time forward. Never backwards: stamps of limits and orders must stay in order. */
  advance(ms: number): void {
    this.#offsetMs += Math.max(0, Math.floor(ms));
  }

  resetOffset(): void {
    this.#offsetMs = 0;
  }
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
