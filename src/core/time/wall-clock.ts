import type { TimeMark } from '../clock.ts';

type ClockSample = Pick<TimeMark, 'wallMs' | 'steadyMs'>;

/** Clocks are corrected by seconds all the time. */
const smallestStepMs = 5000;

/**
 * An answer of the API with its `Date` (RFC 9110, 6.6.1), and when its call was made, in steady
 * time.
 */
interface DatedAnswer {
  readonly sentMs: number;
  readonly receivedMs: number;
  /** A whole second: the API's clock showed up to 999 ms more. */
  readonly dateMs: number;
}

/** So many answers are compared. A minority may come from a proxy with another clock. */
const kept = 8;
/** Answers that agree within this, and the time to or from the API, were made by the same clock. */
const agreementMs = 2000;
/** So many answers must agree before the clock of this machine is called wrong. */
const enough = 3;
/** Two clocks that differ by no more than this are both right. */
export const wrongClockMs = 60_000;
/**
 * How long after the start the API's time is waited for before anything ends because of a deadline.
 */
export const longestUnknownMs = 600_000;

/** The clock of this machine, compared with the answers of the API. */
export interface ClockReading {
  /** `unknown`: too few answers have said what time it is, or they contradict each other. */
  readonly verdict: 'right' | 'wrong' | 'unknown';
  /**
   * By how much this machine's clock is ahead of the API's, in ms; negative: behind. Null while no
   * answer tells.
   */
  readonly aheadMs: number | null;
}

/**
 * When it is now, as far as anybody can tell: a deadline is surely over if it is before
 * `earliestMs`, and surely not over if it is after `latestMs`. They are the same while nothing is
 * wrong with the clock.
 */
export interface PresentTime {
  readonly earliestMs: number;
  readonly latestMs: number;
}

/**
 * The time of the API, estimated from the `Date` of its answers and kept by steady time: a step of
 * this machine's wall clock does not change it. An answer tells the time as of the middle
 * of its call, give or take the time of one way. So the fastest one is believed, among those that
 * most others agree with.
 */
export class ApiTime {
  readonly #startMs: number;
  #last: ClockSample | null = null;
  #answers: DatedAnswer[] = [];
  #undated = 0;
  /**
   * By how much the wall clock may be ahead since a step, as long as no answer has confirmed it; 0
   * without a step.
   */
  #unconfirmedMs = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** The API answered; `dateMs` is null when its answer has no date. */
  record(
    answer: Omit<DatedAnswer, 'dateMs'> & { readonly dateMs: number | null },
    now: ClockSample,
  ): void {
    const { dateMs } = answer;
    this.#lookForStep(now);
    if (dateMs === null) this.#undated += 1;
    else this.#answers = [{ ...answer, dateMs }, ...this.#answers].slice(0, kept);
    if (this.#reading(now).verdict !== 'unknown') this.#unconfirmedMs = 0;
  }

  /**
   * Whether the wall clock of this machine was set since the last look. A step forward may also be
   * a machine that slept, in which its steady time did not run: then the answers so far say nothing
   * any more, unless the step made the clock right.
   */
  #lookForStep(now: ClockSample): void {
    const last = this.#last ?? now;
    this.#last = now;
    const stepMs = now.wallMs - last.wallMs - Math.round(now.steadyMs - last.steadyMs);
    if (Math.abs(stepMs) < smallestStepMs) return;
    const { verdict, aheadMs } = this.#reading(now);
    if (verdict === 'right' || (stepMs < 0 && verdict === 'wrong')) return;
    this.#unconfirmedMs =
      verdict === 'wrong' && aheadMs !== null ? aheadMs : this.#unconfirmedMs + stepMs;
    this.#answers = [];
    this.#undated = 0;
  }

  read(now: ClockSample): ClockReading {
    this.#lookForStep(now);
    return this.#reading(now);
  }

  #reading(now: ClockSample): ClockReading {
    const { aheadMs, agreeing } = this.#estimate(now);
    if (aheadMs === null) return { verdict: 'unknown', aheadMs };
    if (Math.abs(aheadMs) <= wrongClockMs) return { verdict: 'right', aheadMs };
    return { verdict: agreeing >= enough ? 'wrong' : 'unknown', aheadMs };
  }

  present(now: ClockSample): PresentTime {
    const { wallMs } = now;
    const { verdict, aheadMs } = this.read(now);
    if (verdict === 'right') return { earliestMs: wallMs, latestMs: wallMs };
    if (verdict === 'wrong') return between(wallMs, aheadMs ?? 0);
    if (this.#unconfirmedMs !== 0) return between(wallMs, this.#unconfirmedMs);
    const isGivenUp = this.#undated >= enough || now.steadyMs - this.#startMs >= longestUnknownMs;
    return { earliestMs: isGivenUp ? wallMs : Number.NEGATIVE_INFINITY, latestMs: wallMs };
  }

  /** How far ahead this machine's clock is by most of the answers, and how many those are. */
  #estimate(now: ClockSample): { aheadMs: number | null; agreeing: number } {
    const shown = this.#answers.map(({ sentMs, receivedMs, dateMs }) => ({
      aheadMs: now.wallMs - now.steadyMs - (dateMs + 500 - (sentMs + receivedMs) / 2),
      toleranceMs: (receivedMs - sentMs) / 2,
    }));
    const sorted = shown.toSorted((a, b) => a.aheadMs - b.aheadMs);
    const middle = sorted[Math.floor(sorted.length / 2)];
    if (middle === undefined) return { aheadMs: null, agreeing: 0 };
    const agreeing = shown.filter(
      ({ aheadMs, toleranceMs }) =>
        Math.abs(aheadMs - middle.aheadMs) <= agreementMs + toleranceMs + middle.toleranceMs,
    );
    if (agreeing.length * 2 <= shown.length) return { aheadMs: null, agreeing: agreeing.length };
    const fastest = agreeing.reduce((best, one) =>
      one.toleranceMs < best.toleranceMs ? one : best,
    );
    return { aheadMs: Math.round(fastest.aheadMs), agreeing: agreeing.length };
  }
}

/** Between this machine's time and that of the other clock. */
function between(wallMs: number, aheadMs: number): PresentTime {
  return {
    earliestMs: Math.min(wallMs, wallMs - aheadMs),
    latestMs: Math.max(wallMs, wallMs - aheadMs),
  };
}
