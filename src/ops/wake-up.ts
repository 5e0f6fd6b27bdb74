import type { Clock } from '../core/clock.ts';

/** The reason of an abort. Without a reason Node creates an error, which costs more than the notification itself. */
const notified = 'notified';

/** Lets a loop sleep until it is notified or a time has passed. A notification between two waits is not lost. */
export class WakeUp {
  readonly #clock: Clock;
  #isNotified = false;
  #endSleep: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something may be due: the current or next wait returns at once. */
  notify(): void {
    this.#isNotified = true;
    this.#endSleep?.();
  }

  /** Waits for a notification, at most `ms` milliseconds. */
  async wait(ms: number): Promise<void> {
    if (!this.#isNotified && ms > 0) {
      const aborter = new AbortController();
      this.#endSleep = () => aborter.abort(notified);
      await this.#clock.sleep(ms, aborter.signal);
      this.#endSleep = null;
    }
    this.#isNotified = false;
  }
}
