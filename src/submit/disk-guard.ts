import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';

/** With less free space on the disk of the outbox nothing is sent: the outcome could perhaps not be recorded. */
export const sendingReserveBytes = 100 * 1024 * 1024;

const checkEveryMs = 1000;

/**
 * Stops sending while the disk is nearly full. To record an outcome needs less space than this reserves, so sending stops
 * before recording does.
 */
export class DiskGuard {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #minFreeBytes: number;
  #nextCheckMs = Number.NEGATIVE_INFINITY;
  #hasSpace = true;

  constructor(deps: { store: Store; clock: Clock; logger: Logger; minFreeBytes: number }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#minFreeBytes = deps.minFreeBytes;
  }

  /** Checked once a second at most. */
  async hasSpace(): Promise<boolean> {
    const now = this.#clock.monoMs();
    if (now < this.#nextCheckMs) return this.#hasSpace;
    this.#nextCheckMs = now + checkEveryMs;
    const freeBytes = await this.#store.freeBytes();
    const hasSpace = freeBytes >= this.#minFreeBytes;
    if (hasSpace !== this.#hasSpace) {
      const line = { free_bytes: freeBytes, needed_bytes: this.#minFreeBytes };
      if (hasSpace) this.#logger.warn(line, 'the disk has free space again: sending resumed');
      else this.#logger.error(line, 'the disk is nearly full: nothing is sent until space is freed');
    }
    this.#hasSpace = hasSpace;
    return hasSpace;
  }
}
