import type { Clock } from '../core/clock.ts';
import { isOutboxBlocked } from './disk-guard.ts';

/**
 * The reason of an abort. Without a reason Node creates an error, which costs more than the
 * notification itself.
 */
const notified = 'notified';
const fullDiskRetryMs = 1000;

interface LoopOptions {
  readonly clock: Clock;
  /**
   * One round of the work. Returns the idle delay, in ms: the next round begins after it, or when
   * something notifies.
   */
  readonly round: (signal: AbortSignal) => Promise<number>;
  readonly endsWithRound?: boolean;
}

/**
 * Background work: rounds, one after the other, until it is stopped. A round that found no space on
 * the disk has changed nothing and is repeated every second. A notification between two rounds is
 * not lost.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #stopping = new AbortController();
  readonly #failure = Promise.withResolvers<never>();
  #running: Promise<void> | null = null;
  #isNotified = false;
  #endSleep: (() => void) | null = null;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#failure.promise.catch(() => undefined);
  }

  /** Rejects when a round failed: the worker must stop. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Aborts when the loop is asked to stop, or fails. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  start(): void {
    if (!this.signal.aborted)
      this.#running ??= this.#run().catch((error: unknown) => this.fail(error));
  }

  /** Something may be due: the next round begins at once. */
  notify(): void {
    this.#isNotified = true;
    this.#endSleep?.();
  }

  /** Ends the loop, as a failed round does: `failed` rejects. */
  fail(error: unknown): void {
    this.#failure.reject(error);
    this.#stopping.abort();
    this.notify();
  }

  /** Waits for the end of the last round. May be called again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.notify();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, round, endsWithRound = false } = this.#options;
    for (;;) {
      const isLast = this.signal.aborted;
      if (isLast && !endsWithRound) return;
      try {
        const idleMs = await round(this.signal);
        if (!isLast) await this.#sleep(idleMs);
      } catch (error) {
        if (!isOutboxBlocked(error)) throw error;
        if (!isLast) await clock.sleep(fullDiskRetryMs, this.signal);
      }
      if (isLast) return;
    }
  }

  async #sleep(ms: number): Promise<void> {
    if (!this.#isNotified && ms > 0) {
      const aborter = new AbortController();
      this.#endSleep = () => aborter.abort(notified);
      await this.#options.clock.sleep(ms, aborter.signal);
      this.#endSleep = null;
    }
    this.#isNotified = false;
  }
}
