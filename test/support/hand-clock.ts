import type { Clock } from '../../src/core/clock.ts';

/** A clock that the test moves; wall clock and monotonic clock are `wallStartMs` apart. */
export class HandClock implements Clock {
  now = 0;
  readonly bootId = 'virtual';
  readonly #wallStartMs: number;

  constructor(wallStartMs = 0) {
    this.#wallStartMs = wallStartMs;
  }

  wallMs(): number {
    return this.#wallStartMs + this.now;
  }

  monoMs(): number {
    return this.now;
  }

  async sleep(): Promise<void> {
    throw new Error('nothing sleeps here');
  }
}
