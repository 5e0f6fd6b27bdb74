import PQueue from 'p-queue';
import type { Logger } from 'pino';
import type { Clock, Random } from '../core/clock.ts';
import { messageOf } from '../core/message-text.ts';
import { failureOf } from '../core/result/delivery-error.ts';
import type { ResultDocument } from '../core/result/result-document.ts';
import { endWithin } from '../ops/deadline.ts';
import { isOutboxBlocked, isOutboxFailure } from '../ops/disk-guard.ts';
import { Loop } from '../ops/loop.ts';
import type { DueCsvFile } from '../store/results/csv-files.ts';
import type { DueDelivery } from '../store/results/results.ts';
import type { Store } from '../store/store.ts';
import { neverMs } from '../store/results/due-results.ts';
import { SinkPause } from './sink-pause.ts';

interface AnySink {
  /** Deliveries are recorded under this name: it must not change. */
  readonly name: string;
  /**
   * The delay before the next try after this many failures in a row, in ms; null gives the delivery
   * up and flags it for review. Without this method a delivery is retried forever, at least every
   * five minutes.
   * @param error what the last try was rejected with
   */
  retryDelayMs?(failures: number, error: unknown): number | null;
  /**
   * How long a stop waits for due deliveries, in ms. Without it, a stop waits until each was tried.
   */
  readonly stopGraceMs?: number;
}

/** A receiver of results. */
export interface Sink extends AnySink {
  /**
   * Resolves when the sink has stored the result durably. The same result may be delivered again.
   * @returns `no_call` when nothing of the result was to be told, so nothing is known about the
   * receiver; a `Postponed` when it shall be told later, and no call was made either
   * @throws an error that `failureOf` understands, where the sink can say more than a message about
   * the failure
   */
  deliver(document: ResultDocument, delivery: Delivery): Promise<DeliveryEnd>;
}

/** The receiver of CSV order files with the results of their rows, one at a time. */
export interface FileSink extends AnySink {
  /** A `DeliveryError` with `refusesResult` is about this file; any other failure is the receiver's. */
  deliverFile(file: DueCsvFile, signal: AbortSignal): Promise<DeliveryEnd>;
}

type DeliveryEnd = void | 'no_call' | Postponed;

/** The result is told after this time, in ms, unless it changes before. */
export interface Postponed {
  /** Null: only when it changes. */
  readonly waitMs: number | null;
  readonly why: string;
}

/**
 * One version of a result on its way to one sink. `confirmed` is the text that `confirm` kept for
 * this order and sink.
 */
export interface Delivery extends Omit<DueDelivery, 'requestId' | 'tries' | 'document'>, Calls {}

interface Calls {
  /** Aborts when the worker stops: an unfinished delivery stays due. */
  readonly signal: AbortSignal;
  /** Keeps what the receiver has confirmed, for the deliveries to come. */
  confirm(events: string): Promise<void>;
  /** Keeps what was posted into the order of a shop, also when the result is asked for again. */
  readonly keepNotePosts: (posts: string) => Promise<void>;
}

export interface DeliveryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onDeliveryEnded?: (sink: string, end: 'delivered' | 'failed' | 'given_up') => void;
  /** The longest idle delay, in ms. Default: 1000. */
  readonly maxIdleDelayMs?: number;
}

const parallel = 8;

interface Due extends Pick<DueDelivery, 'requestId' | 'version' | 'tries'> {
  readonly subject: Readonly<Record<string, string>>;
  readonly deliver: (calls: Calls) => Promise<DeliveryEnd>;
}

/**
 * Delivers results to one sink, at least once each. Deliveries have an outbox of their own: a
 * failed one is retried and never affects buying. The same result is delivered with the same bytes.
 * The versions of one result never overtake each other: a result has one delivery under way at
 * most.
 */
export class DeliveryLoop {
  readonly #deps: DeliveryDeps & { readonly sink: Sink | FileSink };
  readonly #loop: Loop;
  readonly #pause: SinkPause;
  readonly #queue = new PQueue({ concurrency: parallel });
  readonly #taken = new Set<number>();
  readonly #ended = new AbortController();
  /** Why the end of a delivery could not be recorded. */
  #unrecorded: { readonly error: unknown } | null = null;

  constructor(deps: DeliveryDeps & { readonly sink: Sink | FileSink }) {
    this.#deps = deps;
    this.#loop = new Loop({ clock: deps.clock, round: () => this.#round(), endsWithRound: true });
    this.#pause = new SinkPause({
      ...deps,
      sink: deps.sink.name,
      failuresToPause: 'deliverFile' in deps.sink ? 1 : undefined,
    });
  }

  get failed(): Promise<never> {
    return this.#loop.failed;
  }

  notify(): void {
    this.#loop.notify();
  }

  start(): void {
    this.#loop.start();
  }

  /**
   * Delivers the due results, then stops; after the grace of the sink, or while it is paused, the
   * rest stays due.
   */
  async stop(): Promise<void> {
    const { sink, clock } = this.#deps;
    const ended = this.#loop.stop();
    if (sink.stopGraceMs === undefined) await ended;
    else await endWithin(clock, sink.stopGraceMs, () => this.#ended.abort(), ended);
  }

  /** Stops at once: the sink is not configured any more. */
  async abandon(): Promise<void> {
    this.#ended.abort();
    await this.stop();
  }

  async #round(): Promise<number> {
    await this.#pause.restore();
    for (;;) {
      const started = await this.#startDue();
      if (this.#unrecorded !== null) {
        const { error } = this.#unrecorded;
        // The others must not overlap with the next round: they write the same files.
        await this.#queue.onIdle();
        this.#unrecorded = null;
        throw error;
      }
      // An aborted delivery is still due: another round would never end.
      if (this.#ended.signal.aborted) {
        await this.#queue.onIdle();
        return 0;
      }
      if (started) continue;
      if (!this.#loop.signal.aborted) return await this.#idleMs();
      // The last calls before the stop may have made results due, also one that was under way until
      // now.
      if (this.#taken.size === 0) return 0;
      await this.#queue.onIdle();
    }
  }

  /** Starts what is due and what the sink may be tried with. False: there is nothing now. */
  async #startDue(): Promise<boolean> {
    const { store, sink } = this.#deps;
    const isIdle = this.#pause.isPaused && this.#taken.size === 0;
    // The last result was closed without a call, or the worker died between its delivery and the
    // end of the pause.
    if (isIdle && (await store.results.nextDeliveryAt(sink.name)) === null)
      await this.#pause.endUnneeded();
    const { isProbing } = this.#pause;
    if (this.#pause.waitMs() > 0) return false;
    if (isProbing && this.#taken.size > 0) {
      await this.#queue.onIdle();
      // Meanwhile the receiver may have asked for time.
      return true;
    }
    const due = await this.#due(isProbing);
    for (const delivery of due) this.#enqueue(delivery, isProbing);
    await (isProbing ? this.#queue.onIdle() : this.#queue.onSizeLessThan(1));
    return due.length > 0;
  }

  /** No more than can start next: others that become due meanwhile may have to come first. */
  async #due(isProbing: boolean): Promise<readonly Due[]> {
    const { store, sink, clock } = this.#deps;
    const steadyMs = clock.steadyMs();
    if ('deliverFile' in sink) {
      const file = this.#taken.size > 0 ? null : await store.results.csvFiles.nextDue(steadyMs);
      if (file === null) return [];
      const subject = { file: file.name, file_id: file.fileId };
      return [{ ...file, subject, deliver: ({ signal }) => sink.deliverFile(file, signal) }];
    }
    const limit = isProbing ? 1 : parallel;
    const due = await store.results.dueDeliveries(
      sink.name,
      steadyMs,
      limit,
      this.#taken,
      isProbing,
    );
    return due.map(({ document, ...delivery }) => {
      const { source, order_id, state } = document;
      const deliver = (calls: Calls) => sink.deliver(document, { ...delivery, ...calls });
      return { ...delivery, subject: { source, order_id, state }, deliver };
    });
  }

  #enqueue(delivery: Due, isProbe: boolean): void {
    const { requestId } = delivery;
    this.#taken.add(requestId);
    const run = async (): Promise<void> => {
      try {
        // The sink was paused after this was queued, or nothing can be recorded: it stays due.
        const isWanted = !this.#ended.signal.aborted && this.#unrecorded === null;
        if (isWanted && isProbe === this.#pause.isProbing) await this.#deliver(delivery, isProbe);
      } catch (error) {
        this.#unrecorded ??= { error };
        // The loop may wait for other deliveries now, which can take their time.
        if (!isOutboxBlocked(error)) this.#loop.fail(error);
      } finally {
        this.#taken.delete(requestId);
        // Its result may have changed meanwhile.
        if (this.#queue.size === 0) this.#loop.notify();
      }
    };
    void this.#queue.add(run);
  }

  async #idleMs(): Promise<number> {
    const { store, sink, clock, maxIdleDelayMs = 1000 } = this.#deps;
    const waitMs = this.#pause.waitMs();
    if (waitMs > 0) return Math.min(maxIdleDelayMs, waitMs);
    const nextAt = await store.results.nextDeliveryAt(sink.name);
    // A delivery that is under way is looked for again when it ends.
    if (nextAt === null || this.#taken.size > 0) return maxIdleDelayMs;
    return Math.min(maxIdleDelayMs, Math.max(1, nextAt - clock.steadyMs()));
  }

  async #deliver(delivery: Due, isProbe: boolean): Promise<void> {
    const { store, sink, clock, logger } = this.#deps;
    const { requestId, version } = delivery;
    const { signal } = this.#ended;
    const subject = { sink: sink.name, ...delivery.subject };
    const of = { requestId, sink: sink.name };
    const confirm = (events: string) => store.results.confirmEvents({ ...of, events });
    const keepNotePosts = (posts: string) => store.results.keepNotePosts({ ...of, posts });
    let end: DeliveryEnd;
    try {
      end = await delivery.deliver({ signal, confirm, keepNotePosts });
    } catch (error) {
      // The outbox failed, not the receiver.
      if (isOutboxFailure(error)) throw error;
      // Aborted by the stop of the worker: the delivery is due again at the next start.
      if (!signal.aborted) await this.#failed(delivery, error, { isProbe, subject });
      return;
    }
    if (typeof end === 'object') {
      const retryAtMs = end.waitMs === null ? neverMs : clock.steadyMs() + end.waitMs;
      return await store.results.failDelivery({
        ...of,
        version,
        error: end.why,
        retryAtMs,
        countsTry: false,
      });
    }
    await store.results.closeDelivery({ ...of, version, nowMs: clock.wallMs() });
    if (end === 'no_call') return;
    logger.info(subject, 'result delivered');
    this.#deps.onDeliveryEnded?.(sink.name, 'delivered');
    await this.#pause.works(isProbe);
  }

  async #failed(
    { requestId, version, tries }: Due,
    error: unknown,
    { isProbe, subject }: { isProbe: boolean; subject: Readonly<Record<string, string>> },
  ): Promise<void> {
    const { store, sink, clock, logger, onDeliveryEnded } = this.#deps;
    const failed = { requestId, sink: sink.name, version, error: messageOf(error) };
    const line = { ...subject, err: failed.error };
    const { reason, refusesResult, countsTry = true } = failureOf(error);
    if (refusesResult) await this.#pause.works(isProbe);
    if (!refusesResult && !(await this.#pause.fails(requestId, error, isProbe)).countsTry) {
      // Due at once, behind those that wait: so the next probe is another result.
      await store.results.failDelivery({
        ...failed,
        retryAtMs: clock.steadyMs(),
        countsTry: false,
      });
      logger.debug(
        line,
        'a result could not be delivered: its sink is paused, or asks for fewer calls',
      );
      onDeliveryEnded?.(sink.name, 'failed');
      return;
    }
    const delayMs =
      sink.retryDelayMs === undefined ? retryDelayMs(tries) : sink.retryDelayMs(tries + 1, error);
    onDeliveryEnded?.(sink.name, delayMs === null ? 'given_up' : 'failed');
    if (delayMs === null) {
      await store.results.giveUpDelivery({ ...failed, reason, nowMs: clock.wallMs() });
      const advice =
        'gave up delivering a result: the worker tries again only when the result changes or an operator asks for it';
      logger.error({ ...line, tries: tries + 1 }, advice);
    } else {
      await store.results.failDelivery({
        ...failed,
        retryAtMs: clock.steadyMs() + delayMs,
        countsTry,
      });
      const text = countsTry ? 'a result could not be delivered' : 'a result is delivered later';
      logger[countsTry ? 'error' : 'info']({ ...line, retry_in_ms: delayMs }, text);
    }
  }
}

/** For results that are retried forever. */
export const retryDelayMs = (failuresBefore: number): number =>
  Math.min(300_000, 2000 * 2 ** Math.min(failuresBefore, 10));
