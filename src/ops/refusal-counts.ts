import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';

const minuteMs = 60_000;

/**
 * Counts what was refused to callers, by reason. The first of a reason is logged at once, then all
 * of a minute in one line: a flood of refusals is no flood of the log.
 */
export class RefusalCounts {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #totals = new Map<string, number>();
  readonly #stopping = new AbortController();
  #ofMinute = new Map<string, number>();
  #minute: Promise<void> | null = null;
  #warns = false;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  get totals(): ReadonlyMap<string, number> {
    return this.#totals;
  }

  /**
   * @param reason one of a few words that the code knows, and what it knows of the caller
   * @param warns false: anybody causes it, and nobody needs to look
   */
  count(reason: string, warns = true, details: object = {}): void {
    const [word = ''] = reason.split(' ');
    const before = this.#ofMinute.get(reason) ?? 0;
    this.#totals.set(word, (this.#totals.get(word) ?? 0) + 1);
    this.#ofMinute.set(reason, before + 1);
    this.#warns ||= warns;
    if (this.#stopping.signal.aborted) return;
    if (before === 0)
      this.#logger.warn(
        { reason, ...details },
        'refused a caller: for a minute, further refusals for this reason are only counted',
      );
    this.#minute ??= this.#sumUp();
  }

  /** The refusals of this minute, by reason; null: there were none that warn. */
  recent(): Readonly<Record<string, number>> | null {
    return !this.#warns ? null : Object.fromEntries(this.#ofMinute);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#minute;
  }

  async #sumUp(): Promise<void> {
    await this.#clock.sleep(minuteMs, this.#stopping.signal);
    this.#logger.warn(
      { refused: Object.fromEntries(this.#ofMinute) },
      'callers were refused in the last minute',
    );
    this.#ofMinute = new Map();
    this.#warns = false;
    this.#minute = null;
  }
}
