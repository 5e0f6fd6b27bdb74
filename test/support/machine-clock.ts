import type { Clock } from '../../src/core/clock.ts';

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** A machine whose time the test lets pass, and whose wall clock the test sets. */
export class MachineClock implements Clock {
  readonly bootId = 'virtual';
  #steadyMs = 0;
  #aheadMs: number;
  readonly #sleepers = new Set<Sleeper>();
  #onSleep: () => void = () => undefined;

  constructor(wallStartMs = Date.UTC(2026, 10, 1)) {
    this.#aheadMs = wallStartMs;
  }

  wallMs(): number {
    return this.#aheadMs + this.#steadyMs;
  }

  steadyMs(): number {
    return this.#steadyMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || ms <= 0) return resolve();
      const wake = (): void => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { untilMs: this.#steadyMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
      this.#onSleep();
    });
  }

  /** Somebody sets the wall clock. */
  step(ms: number): void {
    this.#aheadMs += ms;
  }

  /** Lets time pass at once: whoever sleeps until then wakes up. */
  pass(ms: number): void {
    this.#steadyMs += ms;
    for (const sleeper of this.#sleepers) if (sleeper.untilMs <= this.#steadyMs) sleeper.wake();
  }

  /**
   * Lets time pass, as long as there is anything to be done in between, until the condition holds.
   * @param stepMs how much passes at once; `next`: until the next sleeper wakes up
   */
  async passUntil(
    isDone: () => boolean,
    limitMs: number,
    stepMs: number | 'next' = 1000,
  ): Promise<number> {
    const startMs = this.#steadyMs;
    for (;;) {
      await this.#allAsleep();
      const leftMs = limitMs - (this.#steadyMs - startMs);
      if (isDone() || leftMs <= 0) return this.#steadyMs - startMs;
      this.pass(stepMs === 'next' ? Math.ceil(Math.min(leftMs, this.#nextInMs())) : stepMs);
    }
  }

  #nextInMs(): number {
    return Math.min(...[...this.#sleepers].map(({ untilMs }) => untilMs - this.#steadyMs));
  }

  /** Resolves when a whole turn of the event loop has passed in which nobody began to sleep. */
  async #allAsleep(): Promise<void> {
    for (let isQuiet = false; !isQuiet; ) {
      isQuiet = true;
      this.#onSleep = () => {
        isQuiet = false;
      };
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
