import type { Clock } from '../core/clock.ts';

/** Why a sleep ends early. Made once: the error that is made where no reason is given costs more than the ring. */
const rung = 'rung';

/** Lets a loop sleep until something happens or a time has come, and never miss what happened in between. */
export class WakeUp {
  readonly #clock: Clock;
  #rung = false;
  #notify: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something happened: the next wait returns at once. */
  notify(): void {
    this.#rung = true;
    this.#notify?.();
  }

  /** Waits for a ring, at most `ms`. */
  async wait(ms: number): Promise<void> {
    if (!this.#rung && ms > 0) {
      const aborter = new AbortController();
      this.#notify = () => aborter.abort(rung);
      await this.#clock.sleep(ms, aborter.signal);
      this.#notify = null;
    }
    this.#rung = false;
  }
}
