import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';

const checkEveryMs = 1000;

interface DiskGuardDeps {
  /** Free space on the disk of the outbox, in bytes. */
  readonly freeBytes: () => Promise<number>;
  /** With less free space something stops, in bytes. */
  readonly minFreeBytes: () => number;
  /** What stops, for the log: `nothing is sent`. */
  readonly stopped: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Says whether the disk of the outbox has the space that must be kept free, and logs when that changes. */
export class DiskGuard {
  readonly #deps: DiskGuardDeps;
  #nextCheckMs = Number.NEGATIVE_INFINITY;
  #hasSpace = true;

  constructor(deps: DiskGuardDeps) {
    this.#deps = deps;
  }

  /** Checked once a second at most. */
  async hasSpace(): Promise<boolean> {
    const { freeBytes: readFreeBytes, minFreeBytes, stopped, clock, logger } = this.#deps;
    const now = clock.monoMs();
    if (now < this.#nextCheckMs) return this.#hasSpace;
    this.#nextCheckMs = now + checkEveryMs;
    const freeBytes = await readFreeBytes();
    const neededBytes = minFreeBytes();
    const hasSpace = freeBytes >= neededBytes;
    if (hasSpace !== this.#hasSpace) {
      const line = { free_bytes: freeBytes, needed_bytes: neededBytes };
      if (hasSpace) logger.warn(line, `the disk of the outbox has free space again; before, ${stopped}`);
      else logger.error(line, `the disk of the outbox is nearly full: ${stopped} until space is freed`);
    }
    this.#hasSpace = hasSpace;
    return hasSpace;
  }
}
