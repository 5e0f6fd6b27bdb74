import type { Clock } from '../core/clock.ts';
import { Loop } from '../ops/loop.ts';
import { onSchedule, type Schedule } from '../ops/schedule.ts';

/** In UTC. */
const schedule = '17 3 * * *';
const longestWaitMs = 3_600_000;

/** Runs a step at the start and every night, one at a time. */
export class NightlyJob {
  readonly #loop: Loop;
  #schedule: Schedule | null = null;
  #isDue = true;

  /** @param run stops early when the signal aborts */
  constructor(clock: Clock, run: (signal: AbortSignal) => Promise<void>) {
    const round = async (signal: AbortSignal): Promise<number> => {
      if (this.#isDue) await run(signal);
      this.#isDue = false;
      if (!signal.aborted) this.#schedule ??= onSchedule(schedule, () => this.#notify());
      return longestWaitMs;
    };
    this.#loop = new Loop({ clock, round });
  }

  /** Rejects when a run failed: the worker must stop. */
  get failed(): Promise<never> {
    return this.#loop.failed;
  }

  start(): void {
    this.#loop.start();
  }

  /** May be called again. */
  async stop(): Promise<void> {
    this.#schedule?.stop();
    await this.#loop.stop();
  }

  #notify(): void {
    this.#isDue = true;
    this.#loop.notify();
  }
}
