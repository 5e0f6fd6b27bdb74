import { SystemClock } from '../../../src/ops/system-clock.ts';

/** A clock that a test can set ahead. */
export class MovedClock extends SystemClock {
  aheadMs = 0;
  override wallMs(): number {
    return super.wallMs() + this.aheadMs;
  }
}
