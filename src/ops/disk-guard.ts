import type { Clock } from '../core/clock.ts';
import type { Logger } from 'pino';
import { codeOf } from '../core/order-sync-error.ts';

const retryMs = 1000;

/**
 * Whether a step of the store can be repeated later: it found no space on the disk, or another
 * program holds a lock. SQLite may also need some space to read, for a sort.
 */
export function isOutboxBlocked(error: unknown): error is Error {
  return isError(error, /^(DISK_FULL|DATABASE_BUSY|SQLITE_FULL|SQLITE_BUSY.*)$/);
}

/** Whether a step of the store failed, rather than a call to others: the worker must stop, or wait. */
export const isOutboxFailure = (error: unknown): boolean =>
  isError(error, /^(DISK_FULL|DATABASE_|SQLITE_)/);

const isError = (error: unknown, codes: RegExp): error is Error => codes.test(codeOf(error) ?? '');

/**
 * Repeats a step every second as long as the outbox cannot be written; DISK_FULL or DATABASE_BUSY is
 * thrown only once the signal has aborted.
 */
export async function repeatWhileBlocked<T>(
  step: () => Promise<T>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!isOutboxBlocked(error) || signal.aborted) throw error;
      await clock.sleep(retryMs, signal);
    }
  }
}

const checkEveryMs = 1000;

interface DiskGuardDeps {
  readonly freeBytes: () => Promise<number>;
  readonly minFreeBytes: () => number;
  /** The work that stops, for the log: `nothing is sent`. */
  readonly stopped: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Says whether the disk of the outbox has the space that must be kept free, and logs when that
 * changes.
 */
export class DiskGuard {
  readonly #deps: DiskGuardDeps;
  #nextCheckMs = Number.NEGATIVE_INFINITY;
  #hasSpace = true;

  constructor(deps: DiskGuardDeps) {
    this.#deps = deps;
  }

  async hasSpace(): Promise<boolean> {
    const { freeBytes: readFreeBytes, minFreeBytes, stopped, clock, logger } = this.#deps;
    const now = clock.steadyMs();
    if (now < this.#nextCheckMs) return this.#hasSpace;
    this.#nextCheckMs = now + checkEveryMs;
    const freeBytes = await readFreeBytes();
    const neededBytes = minFreeBytes();
    const hasSpace = freeBytes >= neededBytes;
    if (hasSpace !== this.#hasSpace) {
      const line = { free_bytes: freeBytes, needed_bytes: neededBytes };
      if (hasSpace)
        logger.warn(
          line,
          `the disk of the outbox has free space again; while it was full, ${stopped}`,
        );
      else
        logger.error(
          line,
          `the disk of the outbox is nearly full: ${stopped} until space is freed`,
        );
    }
    this.#hasSpace = hasSpace;
    return hasSpace;
  }
}
