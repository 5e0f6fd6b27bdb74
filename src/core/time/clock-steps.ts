/** The times of the two clocks of a machine at one moment, in ms. */
export interface ClockSample {
  /** Since 1970, UTC; somebody may set it. */
  readonly wallMs: number;
  /** On a clock that only runs forward and is never set. */
  readonly monoMs: number;
}

/** A smaller difference is followed at once: clocks are corrected by seconds all the time. */
export const smallestStepMs = 5000;

/** By how much the wall clock was set between two moments, in ms; 0 where that cannot be told from a correction. */
export function stepBetween(first: ClockSample, second: ClockSample): number {
  const stepMs = second.wallMs - first.wallMs - Math.round(second.monoMs - first.monoMs);
  return Math.abs(stepMs) >= smallestStepMs ? stepMs : 0;
}

/**
 * Finds steps of the wall clock by comparing it with the monotonic clock. A wall clock that somebody sets, or that NTP
 * corrects, advances by another time than the monotonic clock does. A machine that slept looks the same as one whose wall
 * clock was set forward.
 */
export class ClockSteps {
  #last: ClockSample;

  constructor(first: ClockSample) {
    this.#last = first;
  }

  /**
   * Compares a sample with the one before.
   * @returns `wallMs`: the time without the step; `stepMs`: by how much the wall clock has stepped, negative for a step back,
   *   0 for none. A step is reported at each call, until it is accepted or the wall clock is set back.
   */
  read(sample: ClockSample): { readonly wallMs: number; readonly stepMs: number } {
    const stepMs = stepBetween(this.#last, sample);
    if (stepMs !== 0) return { wallMs: sample.wallMs - stepMs, stepMs };
    this.#last = sample;
    return { wallMs: sample.wallMs, stepMs: 0 };
  }

  /** From now on, times are those after a step of `stepMs`. */
  accept(stepMs: number): void {
    this.#last = { ...this.#last, wallMs: this.#last.wallMs + stepMs };
  }
}
