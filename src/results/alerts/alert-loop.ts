import type { Logger } from 'pino';
import type { Clock, Random } from '../../core/clock.ts';
import { endWithin } from '../../ops/deadline.ts';
import { isOutboxBlocked } from '../../ops/disk-guard.ts';
import { Loop } from '../../ops/loop.ts';
import type { Store } from '../../store/store.ts';
import type { AlertSettings } from '../settings.ts';
import { SinkPause } from '../sink-pause.ts';
import { openConditions, type Trouble } from './conditions.ts';
import type { ReadAffected } from './held-up.ts';
import { alertMessage } from './message.ts';
import { newsSince, type News, type Told } from './news.ts';
import { sendAlert } from './send-alert.ts';

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

/**
 * Posts alerts to one endpoint: what `newsSince` finds in the attention list and the checks. Every
 * post is on disk: a restart neither repeats nor loses an alert. If the process dies between a post
 * and its record, the same message is posted again with the same id. Nothing waits for an alert.
 */
export class AlertLoop {
  readonly #deps: AlertDeps;
  readonly #settings: AlertSettings;
  readonly #pause: SinkPause;
  readonly #loop: Loop;
  readonly #end = new AbortController();
  #told: Told | null = null;
  #stored: string | null = null;
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
        'the worker could not check for new alerts',
      );
    this.#hasFailed = true;
    return this.#idleMs();
  }

  #idleMs(): number {
    return Math.max(this.#deps.everyMs ?? lookEveryMs, this.#pause.waitMs());
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#deps;
    const { name } = this.#settings;
    await this.#pause.restore();
    if (this.#pause.waitMs() > 0) return;
    this.#stored ??= await store.alerts.told(name);
    const told = (this.#told ??= JSON.parse(this.#stored ?? toldNothing));
    const now = { ...this.#settings, nowMs: clock.wallMs(), steadyMs: clock.steadyMs() };
    const beforeMs = now.nowMs - now.lastsMs + 1;
    const rows = store.read.someAttention(mostRows, { beforeMs });
    // Only the other endpoints can tell that this one takes no alerts.
    const ofOthers = rows.filter(({ id }) => id !== `sink:alert:${name}`);
    const troubles = await this.#deps.troubles();
    const pauses = store.read.pauses();
    const newsWith = (affected: ReadAffected): News => {
      const open = openConditions(ofOthers, troubles, pauses, now.nowMs, affected);
      return newsSince(told, open, { ...now, complete: rows.length < mostRows });
    };
    const news = newsWith(null);
    // Money is added up for a post alone.
    if (news.isDue)
      return await this.#post(
        newsWith((references) => store.read.affected(references)),
        told,
      );
    await this.#record(news.before);
    if (news.isReminder) await this.#pause.endUnneeded();
  }

  async #post(news: News, told: Told): Promise<void> {
    const { store, clock, version, instance, pagesUrl, logger } = this.#deps;
    const { name } = this.#settings;
    const { isProbing } = this.#pause;
    const causes = store.read.attentionGroups({}, { limit: mostRows, atMost: mostRows });
    const message = alertMessage(news, {
      instance,
      nowMs: clock.wallMs(),
      after: told.postedAtMs,
      pagesUrl: pagesUrl(),
      causes,
    });
    const { signal } = this.#end;
    try {
      const { answer } = await sendAlert(this.#settings, message, { clock, version, signal });
      logger.info({ endpoint: name, alert: message.subject, answer }, 'alert posted');
    } catch (error) {
      if (signal.aborted) return;
      this.#failures += 1;
      await this.#pause.fails(this.#failures, error, isProbing);
      return await this.#record(news.before);
    }
    await this.#record({ ...news.after, postedAtMs: Math.ceil(clock.steadyMs()) });
    await this.#pause.works(isProbing);
  }

  /** Without space on the disk it is recorded later: no alert is repeated because of that. */
  async #record(told: Told): Promise<void> {
    this.#told = told;
    const text = JSON.stringify(told);
    if (text === this.#stored) return;
    try {
      await this.#deps.store.alerts.record({ endpoint: this.#settings.name, told: text });
      this.#stored = text;
    } catch (error) {
      if (!isOutboxBlocked(error)) throw error;
    }
  }
}

const toldNothing = '{"conditions":[],"postedAtMs":null,"severity":null}';
