import type { Logger } from 'pino';
import type { Clock, Random } from '../../core/clock.ts';
import { endWithin } from '../../ops/deadline.ts';
import { isOutboxBlocked } from '../../ops/disk-guard.ts';
import { Loop } from '../../ops/loop.ts';
import type { AlertCondition } from '../../store/alerts/alerts.ts';
import type { Store } from '../../store/store.ts';
import type { AlertSettings } from '../settings.ts';
import { postSigned } from '../signed-post.ts';
import { SinkPause } from '../sink-pause.ts';
import { alertMessage, newsSince, openConditions, type News, type Trouble } from './news.ts';

interface AlertDeps {
  readonly store: Pick<Store, 'read' | 'alerts' | 'results'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly version: string;
  readonly instance: string;
  /** The pages, as people reach them; null: nobody told the worker. */
  readonly pagesUrl: () => string | null;
  readonly troubles: () => Promise<readonly Trouble[]>;
  /** How often it looks for news. Default: 10 s. */
  readonly everyMs?: number;
}

const mostRows = 2000;
const lookEveryMs = 10_000;
const stopGraceMs = 2000;

type Told = Awaited<ReturnType<Store['alerts']['told']>>;

/**
 * Posts alerts to one endpoint: new rows of the attention list, failing checks, and the end of
 * both. News within 15 minutes of the last alert are posted together after it. Every post is on
 * disk: a restart neither repeats nor loses an alert. If the process dies between a post and its
 * record, the same message is posted again with the same id. Nothing waits for an alert.
 */
export class AlertLoop {
  readonly #deps: AlertDeps;
  readonly #settings: AlertSettings;
  readonly #pause: SinkPause;
  readonly #loop: Loop;
  readonly #end = new AbortController();
  /** The last post, while it could not be recorded; null: it is on disk. */
  #unrecorded: Told | null = null;
  #failures = 0;
  #hasFailed = false;

  constructor(settings: AlertSettings, deps: AlertDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#pause = new SinkPause({ ...deps, sink: `alert:${settings.name}` });
    const look = async (): Promise<number> => {
      await this.#look();
      this.#hasFailed = false;
      return this.#idleMs();
    };
    this.#loop = new Loop({
      clock: deps.clock,
      round: () => look().catch((error: unknown) => this.#failed(error)),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /**
   * Waits a moment for a post that is under way, then aborts it: it is due again at the next start.
   */
  async stop(): Promise<void> {
    await endWithin(this.#deps.clock, stopGraceMs, () => this.#end.abort(), this.#loop.stop());
  }

  /** An alert that fails must not stop the worker. */
  #failed(error: unknown): number {
    if (!this.#hasFailed && !this.#loop.signal.aborted)
      this.#deps.logger.error(
        { endpoint: this.#settings.name, err: error },
        'alerts could not be looked for',
      );
    this.#hasFailed = true;
    return this.#idleMs();
  }

  #idleMs(): number {
    return Math.max(this.#deps.everyMs ?? lookEveryMs, this.#pause.waitMs());
  }

  async #look(): Promise<void> {
    const { store, clock, troubles } = this.#deps;
    const { name } = this.#settings;
    await this.#pause.restore();
    if (this.#pause.waitMs() > 0) return;
    if (this.#unrecorded !== null) await this.#record(this.#unrecorded);
    // Read each time: the stored times move when the clock is set.
    const told = this.#unrecorded ?? (await store.alerts.told(name));
    const { rows, complete } = await store.alerts.rows(mostRows);
    // Only the other endpoints can tell that this one takes no alerts.
    const ofOthers = rows.filter(({ id }) => id !== `sink:alert:${name}`);
    const open = openConditions(ofOthers, await troubles());
    const news = newsSince(told.conditions, open, complete);
    if (news.firing.length + news.resolved.length === 0) {
      // Rows that ended are forgotten: when there are as many again, that is news.
      const isKnown = textOf(news.toldThen) === textOf(told.conditions);
      if (!isKnown) await this.#record({ ...told, conditions: news.toldThen });
      await this.#pause.endUnneeded();
    } else if (clock.steadyMs() >= told.nextAtMs) await this.#post(news, told);
  }

  async #post(news: News, told: Told): Promise<void> {
    const { store, clock, version, instance, pagesUrl, logger } = this.#deps;
    const { name, format, intervalMs } = this.#settings;
    const { isProbing } = this.#pause;
    const nowMs = clock.wallMs();
    const causes = store.read.attentionGroups({}, { limit: mostRows, atMost: mostRows });
    const context = { instance, nowMs, after: String(told.nextAtMs), pagesUrl: pagesUrl(), causes };
    const message = alertMessage(news, format, context);
    const post = { clock, version, signal: this.#end.signal, configKey: 'alerts' };
    try {
      // Who knows the address may post there anyway, so a signature would prove nothing.
      await postSigned({ ...this.#settings, secrets: [] }, message, post);
    } catch (error) {
      if (this.#end.signal.aborted) return;
      this.#failures += 1;
      await this.#pause.fails(this.#failures, error, isProbing);
      return;
    }
    const firing = news.firing.map(({ condition }) => condition);
    logger.info({ endpoint: name, firing, resolved: news.resolved }, 'alert posted');
    await this.#record({
      conditions: news.toldThen,
      nextAtMs: Math.ceil(clock.steadyMs()) + intervalMs,
    });
    await this.#pause.works(isProbing);
  }

  /**
   * Without space on the disk it is kept in memory, and recorded later: an alert is not repeated
   * because of that.
   */
  async #record(told: Told): Promise<void> {
    this.#unrecorded = told;
    try {
      await this.#deps.store.alerts.record({ endpoint: this.#settings.name, ...told });
      this.#unrecorded = null;
    } catch (error) {
      if (!isOutboxBlocked(error)) throw error;
    }
  }
}

const textOf = (conditions: readonly AlertCondition[]): string =>
  conditions
    .map(({ condition, count, newestMs }) => JSON.stringify([condition, count, newestMs]))
    .toSorted()
    .join();
