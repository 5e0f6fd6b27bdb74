import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';

const lookEveryMs = 1000;

/**
 * Stops sending while the disk is nearly full. Less room is needed to record than this keeps back, so sending ends
 * before recording does: an outcome that cannot be written down must not be created.
 */
export class DiskGuard {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #minFreeBytes: number;
  #lookAtMs = Number.NEGATIVE_INFINITY;
  #hasRoom = true;

  constructor(deps: { store: Store; clock: Clock; logger: Logger; minFreeBytes: number }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#minFreeBytes = deps.minFreeBytes;
  }

  /** As it was seen at the last look, at most a second ago. */
  get hasRoom(): boolean {
    return this.#hasRoom;
  }

  async look(): Promise<boolean> {
    const now = this.#clock.monoMs();
    if (now < this.#lookAtMs) return this.#hasRoom;
    this.#lookAtMs = now + lookEveryMs;
    const freeBytes = await this.#store.freeBytes();
    const hasRoom = freeBytes >= this.#minFreeBytes;
    if (hasRoom !== this.#hasRoom) {
      const line = { free_bytes: freeBytes, needed_bytes: this.#minFreeBytes };
      if (hasRoom) this.#logger.warn(line, 'the disk has room again: sending goes on');
      else this.#logger.error(line, 'the disk is nearly full: nothing is sent until there is room');
    }
    this.#hasRoom = hasRoom;
    return hasRoom;
  }
}
