import type { Clock } from '../core/clock.ts';

/** The time that one call may take. Who sets it must call `end` when the call is over. */
export class Deadline {
  /** Aborts when the time is over, or when the given signal does. */
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #ended = new AbortController();

  /** @param ms by the monotonic time of the clock */
  constructor(clock: Clock, ms: number, signal: AbortSignal) {
    this.signal = AbortSignal.any([signal, this.#over.signal]);
    void clock.sleep(ms, this.#ended.signal).then(() => {
      if (!this.#ended.signal.aborted) this.#over.abort();
    });
  }

  /** Whether the time was over before the call ended. */
  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  end(): void {
    this.#ended.abort();
  }
}
