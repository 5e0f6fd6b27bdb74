import type { Clock } from '../core/clock.ts';

const retryMs = 1000;

/** Whether a step of the store found no space on the disk. SQLite may also need some to read, for a sort. */
export function isDiskFull(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === 'DISK_FULL' || error.code === 'SQLITE_FULL');
}

/**
 * Runs a step that writes to the outbox, and repeats it every second as long as the disk is full. A step that found no
 * space has changed nothing.
 * @throws what the step throws; DISK_FULL only once the signal has aborted
 */
export async function repeatWhileDiskIsFull<T>(
  step: () => Promise<T>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!isDiskFull(error) || signal.aborted) throw error;
      await clock.sleep(retryMs, signal);
    }
  }
}
