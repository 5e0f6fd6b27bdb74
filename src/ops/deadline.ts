import type { Clock } from '../core/clock.ts';

/** The time that one call may take. Its owner must call `end` when the call is over. */
export class Deadline {
  /** Aborts when the time is over, or when the given signal does. */
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #ended = new AbortController();

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

/**
 * Waits for the end of work that was asked to stop. After `graceMs` it calls `onOver`, which aborts
 * what is left of it.
 */
export async function endWithin(
  clock: Clock,
  graceMs: number,
  onOver: () => void,
  end: Promise<unknown>,
): Promise<void> {
  const ended = new AbortController();
  const grace = clock.sleep(graceMs, ended.signal).then(onOver);
  await end;
  ended.abort();
  await grace;
}
