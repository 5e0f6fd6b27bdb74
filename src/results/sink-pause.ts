import type { Logger } from 'pino';
import type { Clock, Random } from '../core/clock.ts';
import { messageOf } from '../core/message-text.ts';
import { failureOf, rateLimited } from '../core/result/delivery-error.ts';
import type { Store } from '../store/store.ts';

const firstProbeMs = 1000;
const longestProbeMs = 300_000;
const reminderMs = 300_000;
/** After a longer pause, the results that failed meanwhile are due at once. */
const outageMs = 60_000;

interface PauseDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly sink: string;
  /** So many results in a row fail, with no success between, before the sink counts as broken. Default: 3, one may be a bad result. */
  readonly failuresToPause?: number | undefined;
}

/**
 * Whether a sink takes results. After failures of different results in a row it is paused: one delivery at a time probes it,
 * from every second up to every five minutes. The first success ends the pause, and so does the end of the last delivery that
 * waits for it. A receiver that asks for time (`Retry-After`) gets it, and is then tried with one delivery, too.
 */
export class SinkPause {
  readonly #deps: PauseDeps;
  /** The results that failed since the last success, at most as many as pause the sink. */
  readonly #failed = new Set<number>();
  /** Since when it is paused, as `monoMs`; null: it is not. */
  #sinceMono: number | null = null;
  #probeAtMono = 0;
  #probes = 0;
  /** Until when the receiver asked for no calls, as `monoMs`; null: it did not, or a delivery succeeded since. */
  #askedUntilMono: number | null = null;
  #remindedMono = 0;
  #nextAskedLogMono = 0;
  #isRestored = false;

  constructor(deps: PauseDeps) {
    this.#deps = deps;
  }

  /** Continues a pause of an earlier run, once. Called before anything else. */
  async restore(): Promise<void> {
    const { store, clock, sink } = this.#deps;
    if (this.#isRestored) return;
    const stored = await store.results.sinkPause(sink);
    this.#isRestored = true;
    if (stored === null) return;
    const [nowMs, nowMono] = [clock.wallMs(), clock.monoMs()];
    this.#sinceMono = nowMono - Math.max(0, nowMs - stored.sinceMs);
    this.#probeAtMono = nowMono + Math.min(longestProbeMs, Math.max(0, stored.probeAtMs - nowMs));
    this.#probes = stored.probes;
    this.#remindedMono = nowMono;
    this.#deps.logger.warn({ sink, reason: stored.reason }, 'this sink is paused since an earlier run');
  }

  /** How long until the next delivery may begin, in ms. */
  waitMs(): number {
    const probeAtMono = this.#sinceMono === null ? 0 : this.#probeAtMono;
    return Math.ceil(Math.max(0, Math.max(probeAtMono, this.#askedUntilMono ?? 0) - this.#deps.clock.monoMs()));
  }

  get isPaused(): boolean {
    return this.#sinceMono !== null;
  }

  /** Whether only one delivery may be under way, to find out whether the sink takes results again. */
  get isProbing(): boolean {
    return this.#sinceMono !== null || this.#askedUntilMono !== null;
  }

  /** The sink took a result, or said what is wrong with one: it works. */
  async works(isProbe: boolean): Promise<void> {
    this.#failed.clear();
    // A call that began before the receiver asked for time says nothing about that.
    if (isProbe) this.#askedUntilMono = null;
    await this.#end('this sink takes results again');
  }

  /** Nothing waits for the sink any more, so no probe can end its pause: the next result finds out whether it works. */
  async endUnneeded(): Promise<void> {
    await this.#end('nothing waits for this sink any more: it is tried again with the next result');
  }

  async #end(message: string): Promise<void> {
    this.#probes = 0;
    if (this.#sinceMono === null) return;
    const { store, clock, logger, sink } = this.#deps;
    const sinceMono = this.#sinceMono;
    const lastedMs = Math.round(clock.monoMs() - sinceMono);
    this.#sinceMono = null;
    const resumed = store.results.resumeSink({ sink, nowMs: clock.wallMs(), wasOutage: lastedMs >= outageMs });
    // Where it could not be recorded, the sink is still paused for everybody else.
    await resumed.catch((error: unknown) => {
      this.#sinceMono ??= sinceMono;
      throw error;
    });
    logger.info({ sink, paused_ms: lastedMs }, message);
  }

  /** A delivery failed, not because of its result. It counts as a try unless the sink is paused or limits the rate. */
  async fails(requestId: number, error: unknown, isProbe: boolean): Promise<{ countsTry: boolean }> {
    const { clock, failuresToPause = 3 } = this.#deps;
    const wasPaused = this.#sinceMono !== null;
    const { reason, retryAfterMs: askedMs } = failureOf(error);
    const isRateLimit = reason === rateLimited;
    // Several calls may be under way when the rate is limited: that is no outage.
    if (!isRateLimit && this.#failed.size < failuresToPause) this.#failed.add(requestId);
    if (isProbe) this.#probes += 1;
    if (askedMs !== null || isRateLimit) this.#waitAsAsked(askedMs ?? firstProbeMs);
    if (wasPaused || this.#failed.size >= failuresToPause || this.#probes >= failuresToPause) {
      if (isProbe || !wasPaused) this.#probeAtMono = clock.monoMs() + this.#backOffMs();
      await this.#pause(reason, messageOf(error));
    }
    return { countsTry: !wasPaused && !isRateLimit };
  }

  #waitAsAsked(askedMs: number): void {
    const { clock, logger, sink } = this.#deps;
    const nowMono = clock.monoMs();
    this.#askedUntilMono = Math.max(this.#askedUntilMono ?? 0, nowMono + askedMs);
    if (nowMono < this.#nextAskedLogMono) return;
    this.#nextAskedLogMono = nowMono + reminderMs;
    logger.warn({ sink, wait_ms: askedMs }, 'the receiver asks to wait: nothing is sent to this sink until then');
  }

  #backOffMs(): number {
    const fullMs = Math.min(longestProbeMs, firstProbeMs * 2 ** Math.min(this.#probes, 10));
    return Math.round(fullMs * (0.8 + 0.2 * this.#deps.random()));
  }

  async #pause(reason: string, message: string): Promise<void> {
    const { store, clock, logger, sink } = this.#deps;
    const [nowMs, nowMono] = [clock.wallMs(), clock.monoMs()];
    const isNew = this.#sinceMono === null;
    this.#sinceMono ??= nowMono;
    const probeAtMs = nowMs + this.waitMs();
    await store.results.pauseSink({ sink, reason, message, nowMs, probeAtMs, probes: this.#probes });
    if (!isNew && nowMono - this.#remindedMono < reminderMs) return;
    this.#remindedMono = nowMono;
    const line = { sink, err: message, next_probe_ms: this.waitMs() };
    if (isNew) logger.error(line, 'this sink fails: it is paused, and tried again with one result at a time');
    else logger.warn({ ...line, paused_ms: Math.round(nowMono - this.#sinceMono) }, 'this sink is still paused');
  }
}
