import type { Logger } from 'pino';
import type { CheckStatus } from '../admin/health-server.ts';
import type { ProgressPort, ProgressReading } from '../config/progress-file.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { Loop } from '../ops/loop.ts';
import type { Store } from '../store/store.ts';

/** How often the file is written at most, in ms, unless told otherwise. */
const everyMs = 1000;
/** How often the log repeats that the file cannot be written, in ms. */
const reminderMs = 3_600_000;

/**
 * Keeps the progress file up to date. It is written after the commits that it counts, never before, so it is never ahead of
 * the database. Nothing waits for it: when it cannot be written, a warning is in the log and in health, and orders are
 * bought as before.
 */
export class ProgressKeeper {
  readonly #file: ProgressPort;
  readonly #store: Pick<Store, 'progress'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #loop: Loop;
  #writing: Promise<void> = Promise.resolve();
  #written = '';
  /** When the log last said that the file cannot be written; null while it can. */
  #warnedMono: number | null = null;

  constructor(
    file: ProgressPort,
    deps: { store: Pick<Store, 'progress'>; clock: Clock; logger: Logger; progressEveryMs?: number },
  ) {
    this.#file = file;
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    const round = async (): Promise<number> => {
      await this.write();
      return deps.progressEveryMs ?? everyMs;
    };
    this.#loop = new Loop({ clock: deps.clock, round, endsWithRound: true });
  }

  read(): ProgressReading {
    return this.#file.read();
  }

  health(): CheckStatus {
    return this.#warnedMono === null ? 'pass' : 'warn';
  }

  start(): void {
    this.#loop.start();
  }

  /** Writes the file a last time. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Writes the file if the outbox has come further since the last time. Never rejects. */
  write(): Promise<void> {
    // One at a time: all of them use the same draft.
    this.#writing = this.#writing.then(() => this.#writeNow());
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    try {
      const { replaced: _, ...progress } = await this.#store.progress();
      const text = JSON.stringify(progress);
      if (text === this.#written) return;
      await this.#file.write(progress, isoTime(this.#clock.wallMs()));
      this.#written = text;
      if (this.#warnedMono !== null) this.#logger.info({ file: this.#file.path }, 'the progress file is written again');
      this.#warnedMono = null;
    } catch (error) {
      this.#warn(error instanceof Error ? error.message : String(error));
    }
  }

  #warn(message: string): void {
    const now = this.#clock.monoMs();
    if (this.#warnedMono !== null && now - this.#warnedMono < reminderMs) return;
    this.#warnedMono = now;
    this.#logger.warn(
      { file: this.#file.path, error: message },
      'the progress file cannot be written: an older copy of the database may not be noticed. Make its folder writable, or set reference.progress_folder',
    );
  }
}
