import type { Clock } from '../../src/core/clock.ts';

/**
 * A clock that the test moves; wall clock and monotonic clock are `aheadMs` apart, which sets the
 * wall clock.
 */
export class HandClock implements Clock {
  now = 0;
  readonly bootId = 'virtual';
  aheadMs: number;

  constructor(aheadMs = 0) {
    this.aheadMs = aheadMs;
  }

  wallMs(): number {
    return this.aheadMs + this.now;
  }

  steadyMs(): number {
    return this.now;
  }

  async sleep(): Promise<void> {
    throw new Error('nothing sleeps here');
  }
}
