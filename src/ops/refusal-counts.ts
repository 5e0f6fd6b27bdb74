import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';

const minuteMs = 60_000;

/**
 * Counts what was refused to callers, by reason. The first refusal is logged at once, then all of a minute in one line: a
 * flood of refusals is no flood of the log.
 */
export class RefusalCounts {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #totals = new Map<string, number>();
  readonly #stopping = new AbortController();
  #ofMinute = new Map<string, number>();
  #minute: Promise<void> | null = null;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  get totals(): ReadonlyMap<string, number> {
    return this.#totals;
  }

  /** @param reason one of a few words that the code knows */
  count(reason: string): void {
    this.#totals.set(reason, (this.#totals.get(reason) ?? 0) + 1);
    this.#ofMinute.set(reason, (this.#ofMinute.get(reason) ?? 0) + 1);
    if (this.#minute !== null || this.#stopping.signal.aborted) return;
    this.#logger.warn({ reason }, 'refused a caller: others are counted for a minute');
    this.#minute = this.#sumUp();
  }

  /** The refusals of this minute, by reason; null: there were none. */
  recent(): Readonly<Record<string, number>> | null {
    return this.#ofMinute.size === 0 ? null : Object.fromEntries(this.#ofMinute);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#minute;
  }

  async #sumUp(): Promise<void> {
    await this.#clock.sleep(minuteMs, this.#stopping.signal);
    this.#logger.warn({ refused: Object.fromEntries(this.#ofMinute) }, 'refused callers in the last minute');
    this.#ofMinute = new Map();
    this.#minute = null;
  }
}
