import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { isDiskFull, repeatWhileDiskIsFull } from '../ops/full-disk.ts';
import { onSchedule, type Schedule } from '../ops/schedule.ts';
import { WakeUp } from '../ops/wake-up.ts';
import type { ShredCursor, ShredProgress, ShredRequest } from '../store/sealing/code-retention.ts';
import type { Store } from '../store/store.ts';
import type { ApiClock } from '../submit/api-clock.ts';

/** Every night, in UTC. */
const schedule = '17 3 * * *';
const lookedAtOnce = 50;
const shortestPauseMs = 2;
const emptiedEveryMs = 1000;
const longestWaitMs = 3_600_000;
const dayMs = 86_400_000;

interface ShredderDeps {
  readonly store: Pick<Store, 'codeRetention' | 'sealing'>;
  readonly clock: Clock;
  /** A clock that is wrong could shred what is new: then nothing is shredded. */
  readonly apiClock: Pick<ApiClock, 'read'>;
  readonly logger: Logger;
  /** For how many days delivered codes are kept. */
  readonly codesDays: number;
}

/** Shreds codes that were kept for long enough, at the start and every night, in small steps. */
export class CodeShredder {
  readonly #deps: ShredderDeps;
  readonly #wakeUp: WakeUp;
  readonly #end = new AbortController();
  readonly #failure = Promise.withResolvers<never>();
  #schedule: Schedule | null = null;
  #loop: Promise<void> | null = null;
  #isDue = true;

  constructor(deps: ShredderDeps) {
    this.#deps = deps;
    this.#wakeUp = new WakeUp(deps.clock);
    this.#failure.promise.catch(() => undefined);
  }

  /** Rejects when the database could not be written: the worker must stop. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  start(): void {
    this.#schedule = onSchedule(schedule, () => {
      this.#isDue = true;
      this.#wakeUp.notify();
    });
    this.#loop = this.#run().catch((error: unknown) => {
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

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      if (this.#isDue) await this.#shredAll();
      if (!this.#end.signal.aborted) await this.#wakeUp.wait(longestWaitMs);
    }
  }

  async #shredAll(): Promise<void> {
    const { store, clock, apiClock, logger, codesDays } = this.#deps;
    const { signal } = this.#end;
    this.#isDue = false;
    if (apiClock.read().verdict === 'wrong') {
      logger.warn('no codes are shredded, because the clock of this machine is wrong');
      return;
    }
    const nowMs = clock.wallMs();
    const request = {
      nowMs,
      beforeMs: nowMs - codesDays * dayMs,
      reason: `kept for ${codesDays} days (retention.codes_days)`,
    };
    let shredded = 0;
    let after: ShredCursor | null = null;
    do {
      const startMono = clock.monoMs();
      const step: ShredRequest = { ...request, after, limit: lookedAtOnce };
      const done: ShredProgress = await repeatWhileDiskIsFull(() => store.codeRetention.shredNext(step), {
        clock,
        signal,
      });
      shredded += done.shredded;
      after = done.next;
      await clock.sleep(Math.max(shortestPauseMs, clock.monoMs() - startMono), signal);
    } while (after !== null && !signal.aborted);
    if (shredded === 0) return;
    // Until then it has the codes as they were.
    while (!signal.aborted && !(await store.sealing.emptyLog())) await clock.sleep(emptiedEveryMs, signal);
    logger.info({ entries: shredded, days: codesDays }, 'codes were shredded');
  }
}
