import type { Logger } from 'pino';
import type { Clock, Random } from '../core/clock.ts';
import { messageOf } from '../core/message-text.ts';
import { failureOf, rateLimited } from '../core/result/delivery-error.ts';
import { Breaker } from '../ops/breaker.ts';
import type { Store } from '../store/store.ts';

const firstTrialMs = 1000;
/** After a longer pause, the results that failed meanwhile are due at once. */
const outageMs = 60_000;

interface PauseDeps {
  readonly store: Pick<Store, 'results'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly sink: string;
  /**
   * So many results in a row fail, with no success between, before the sink counts as broken.
   * Default: 3, one may be a bad result.
   */
  readonly failuresToPause?: number | undefined;
}

/**
 * The breaker of a sink, on disk and in the log. After failures of different results in a row the
 * sink is paused: one delivery at a time is tried, from every second up to every five minutes. The
 * first success ends the pause, and so does the end of the last delivery that waits for it. A
 * receiver that asks for time (`Retry-After`) gets it, and is then tried with one, too.
 */
export class SinkPause {
  readonly #deps: PauseDeps;
  readonly #breaker: Breaker;
  #isRestored = false;

  constructor(deps: PauseDeps) {
    this.#deps = deps;
    const { clock, random, failuresToPause: opensAfter = 3 } = deps;
    this.#breaker = new Breaker({
      clock,
      random,
      opensAfter,
      firstMs: firstTrialMs,
      mostMs: 300_000,
    });
  }

  /**
   * Continues a pause of an earlier run, or one whose next try an operator asked for. Called before
   * each look for results.
   */
  async restore(): Promise<void> {
    const { store, clock, sink, logger } = this.#deps;
    if (this.#isRestored && !(this.isPaused && this.waitMs() > 0)) return;
    const stored = await store.results.sinkPause(sink);
    const isFirst = !this.#isRestored;
    this.#isRestored = true;
    if (stored === null) return;
    const waitMs = stored.probeAtMs - clock.steadyMs();
    if (!isFirst && waitMs > 0) return;
    this.#breaker.restore(clock.wallMs() - stored.sinceMs, waitMs, stored.probes);
    this.#breaker.remind();
    const text = isFirst ? 'this sink is paused since an earlier run' : 'this sink is tried now';
    logger.warn({ sink, reason: stored.reason }, text);
  }

  /** How long until the next delivery may begin, in ms. */
  waitMs(): number {
    return this.#breaker.waitMs;
  }

  get isPaused(): boolean {
    return this.#breaker.forMs !== null;
  }

  /**
   * Whether only one delivery may be under way, to find out whether the sink takes results again.
   */
  get isProbing(): boolean {
    return this.#breaker.state !== 'closed';
  }

  /** The sink took a result, or said what is wrong with one: it works. */
  async works(isProbe: boolean): Promise<void> {
    await this.#end(isProbe, 'this sink takes results again');
  }

  /**
   * Nothing waits for the sink any more, so no probe can end its pause: the next result finds out
   * whether it works.
   */
  async endUnneeded(): Promise<void> {
    await this.#end(false, 'no result waits for this sink any more: the pause ends');
  }

  async #end(isTrial: boolean, message: string): Promise<void> {
    const { store, logger, sink } = this.#deps;
    const { forMs } = this.#breaker;
    this.#breaker.works(isTrial);
    if (forMs === null) return;
    try {
      await store.results.resumeSink(sink, forMs >= outageMs);
    } catch (error) {
      // Where it could not be recorded, the sink is still paused for everybody else.
      if (!this.isPaused) this.#breaker.restore(forMs, 0, 0);
      throw error;
    }
    logger.info({ sink, paused_ms: forMs }, message);
  }

  /**
   * A delivery failed, not because of its result. It counts as a try unless the sink is paused or
   * limits the rate.
   */
  async fails(
    requestId: number,
    error: unknown,
    isProbe: boolean,
  ): Promise<{ countsTry: boolean }> {
    const wasPaused = this.isPaused;
    const { reason, retryAfterMs: askedMs } = failureOf(error);
    const isRateLimit = reason === rateLimited;
    if (askedMs !== null || isRateLimit) this.#waitFor(askedMs ?? firstTrialMs);
    // Several calls may be under way when the rate is limited: that is no outage.
    const isOpen = this.#breaker.fails({ cause: isRateLimit ? null : requestId, isTrial: isProbe });
    if (isOpen) await this.#pause(wasPaused, reason, messageOf(error));
    return { countsTry: !wasPaused && !isRateLimit };
  }

  #waitFor(ms: number): void {
    const { logger, sink } = this.#deps;
    this.#breaker.waitFor(ms);
    if (!this.isPaused && this.#breaker.remind())
      logger.warn(
        { sink, wait_ms: ms },
        'the receiver asked the worker to wait: nothing is sent to this sink for `wait_ms`',
      );
  }

  async #pause(wasPaused: boolean, reason: string, message: string): Promise<void> {
    const { store, clock, logger, sink } = this.#deps;
    const { waitMs, trials: probes, forMs } = this.#breaker;
    const nowMs = clock.wallMs();
    const probeAtMs = clock.steadyMs() + waitMs;
    await store.results.pauseSink({ sink, reason, message, nowMs, probeAtMs, probes });
    const line = { sink, err: message, next_probe_ms: waitMs };
    const isDue = this.#breaker.remind();
    if (!wasPaused)
      logger.error(
        line,
        'this sink fails: it is paused, and the worker tries one result at a time',
      );
    else if (isDue) logger.warn({ ...line, paused_ms: forMs }, 'this sink is still paused');
  }
}
