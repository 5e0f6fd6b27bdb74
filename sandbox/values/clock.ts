/** Milliseconds since the Unix epoch. Must never run backwards within one process. */
export type TimeSource = () => number;

/**
 * Wall time at the start of the process plus monotonic time since: a corrected wall clock does not
 * disturb the limits.
 */
export const steadyTime: TimeSource = () => performance.timeOrigin + performance.now();

/**
 * The time of the sandbox: the source plus what the operator advanced it by, in whole milliseconds.
 * With whole milliseconds the sliding window is exact: floor(t + window) is floor(t) + window.
 */
export class SandboxClock {
  readonly #source: TimeSource;
  /** By how much the operator has advanced it. */
  offsetMs: number;

  constructor(source: TimeSource, offsetMs: number) {
    this.#source = source;
    this.offsetMs = offsetMs;
  }

  now(): number {
    return Math.floor(this.#source()) + this.offsetMs;
  }

  /** Moves time forward, never backwards: the times of calls and orders must stay in order. */
  advance(ms: number): void {
    this.offsetMs += Math.max(0, Math.floor(ms));
  }
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
