import { isDiskFull } from '../ops/full-disk.ts';
import { onSchedule, type Schedule } from '../ops/schedule.ts';
import { WakeUp } from '../ops/wake-up.ts';
import type { Clock } from '../core/clock.ts';

/** In UTC. */
const schedule = '17 3 * * *';
const longestWaitMs = 3_600_000;

/** Runs a step at the start and every night, one at a time. */
export class NightlyJob {
  readonly #run: (signal: AbortSignal) => Promise<void>;
  readonly #wakeUp: WakeUp;
  readonly #end = new AbortController();
  readonly #failure = Promise.withResolvers<never>();
  #schedule: Schedule | null = null;
  #loop: Promise<void> | null = null;
  #isDue = true;

  /** @param run stops early when the signal aborts */
  constructor(clock: Clock, run: (signal: AbortSignal) => Promise<void>) {
    this.#run = run;
    this.#wakeUp = new WakeUp(clock);
    this.#failure.promise.catch(() => undefined);
  }

  /** Rejects when a run failed, unless the disk was full: the worker must stop. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  start(): void {
    this.#loop = this.#repeat().catch((error: unknown) => {
      // The next start continues.
      if (!isDiskFull(error)) this.#failure.reject(error);
    });
  }

  /** May be called again. */
  async stop(): Promise<void> {
    this.#schedule?.stop();
    this.#end.abort();
    this.#wakeUp.notify();
    await this.#loop;
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const isDue = this.#isDue;
      this.#isDue = false;
      if (isDue) await this.#run(signal);
      if (signal.aborted) return;
      this.#schedule ??= onSchedule(schedule, () => {
        this.#isDue = true;
        this.#wakeUp.notify();
      });
      await this.#wakeUp.wait(longestWaitMs);
    }
  }
}
