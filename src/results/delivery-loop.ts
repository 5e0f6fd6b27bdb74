import PQueue from 'p-queue';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { OrderedEntries } from '../core/result/ordered-entry.ts';
import type { ResultDocument } from '../core/result/result-document.ts';
import { repeatWhileDiskIsFull } from '../ops/full-disk.ts';
import { WakeUp } from '../ops/wake-up.ts';
import type { DueDelivery } from '../store/results/results.ts';
import type { Store } from '../store/store.ts';
import type { CustomerTexts } from './customer/customer-texts.ts';

/** A receiver of results. */
export interface Sink {
  /** Deliveries are recorded under this name: it must not change. */
  readonly name: string;
  /** Resolves when the sink has stored the result durably. The same result may be delivered again. */
  deliver(document: ResultDocument, delivery: Delivery): Promise<void>;
  /**
   * The delay before the next try after this many failures in a row, in ms; null gives the delivery up and flags it for
   * review. Without this method a delivery is retried forever, at least every five minutes.
   * @param error what the last try was rejected with
   */
  retryDelayMs?(failures: number, error: unknown): number | null;
  /** How long a stop waits for due deliveries, in ms. Without it, a stop waits until each was tried. */
  readonly stopGraceMs?: number;
}

/** One version of a result on its way to one sink. */
export interface Delivery {
  /** Rises with each change of the result. */
  readonly version: number;
  /** Whether an earlier order has the same source and order id but for capital letters. */
  readonly sharesName: boolean;
  /** What was ordered under each reference. */
  readonly ordered: OrderedEntries;
  /** The line that was bought in the place of another one, as a person said: its id by that of the other. */
  readonly boughtAs: ReadonlyMap<string, string>;
  /** Aborts when the worker stops: an unfinished delivery stays due. */
  readonly signal: AbortSignal;
}

interface DeliveryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Adds what the customer reads; null or absent: results have no such text. */
  readonly texts?: CustomerTexts | null;
  /** The longest idle delay, in ms. Default: 1000. */
  readonly maxIdleDelayMs?: number;
}

const batch = 100;
const parallel = 8;
const firstRetryMs = 2000;
const longestRetryMs = 300_000;

/**
 * Delivers results to one sink, at least once each. Deliveries have an outbox of their own: a failed one is retried and
 * never affects buying. The same result is delivered with the same bytes.
 */
export class DeliveryLoop {
  readonly #deps: DeliveryDeps & { readonly sink: Sink };
  readonly #wakeUp: WakeUp;
  readonly #failure = Promise.withResolvers<never>();
  readonly #graceOver = new AbortController();
  readonly #stopping = new AbortController();
  #loop: Promise<void> | null = null;

  constructor(deps: DeliveryDeps & { readonly sink: Sink }) {
    this.#deps = deps;
    this.#wakeUp = new WakeUp(deps.clock);
    this.#failure.promise.catch(() => undefined);
  }

  get sinkName(): string {
    return this.#deps.sink.name;
  }

  /** Rejects when the end of a delivery could not be recorded. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  notify(): void {
    this.#wakeUp.notify();
  }

  start(): void {
    const life = { clock: this.#deps.clock, signal: this.#stopping.signal };
    const loop = repeatWhileDiskIsFull(() => this.#run(), life);
    this.#loop = loop.catch((error: unknown) => this.#failure.reject(error));
  }

  /** Delivers the due results, then stops; after the grace of the sink, the rest stays due. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wakeUp.notify();
    const { sink, clock } = this.#deps;
    if (sink.stopGraceMs === undefined) return void (await this.#loop);
    const done = new AbortController();
    const grace = clock.sleep(sink.stopGraceMs, done.signal).then(() => this.#graceOver.abort());
    await this.#loop;
    done.abort();
    await grace;
  }

  async #run(): Promise<void> {
    const { store, sink, clock, maxIdleDelayMs = 1000 } = this.#deps;
    for (;;) {
      const due = await store.results.dueDeliveries(sink.name, clock.wallMs(), batch);
      if (due.length > 0) {
        const queue = new PQueue({ concurrency: parallel });
        try {
          await queue.addAll(due.map((delivery) => () => this.#deliver(delivery)));
        } finally {
          // When one could not be recorded, the others must not overlap with the next round: they write the same files.
          await queue.onIdle();
        }
        // An aborted delivery is still due: another round would never end.
        if (this.#graceOver.signal.aborted) return;
        continue;
      }
      // Only now: the last attempts before the stop may have made results due.
      if (this.#stopping.signal.aborted) return;
      const nextAt = await store.results.nextDeliveryAt(sink.name);
      const untilNextMs = nextAt === null ? maxIdleDelayMs : Math.max(1, nextAt - clock.wallMs());
      await this.#wakeUp.wait(Math.min(maxIdleDelayMs, untilNextMs));
    }
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { store, sink, clock, logger, texts = null } = this.#deps;
    const { requestId, version, sharesName, tries, ordered, boughtAs } = delivery;
    const { signal } = this.#graceOver;
    if (signal.aborted) return;
    const document = texts === null ? delivery.document : await texts.addTo(delivery.document, delivery.ordered);
    const subject = { sink: sink.name, source: document.source, order_id: document.order_id };
    try {
      await sink.deliver(document, { version, sharesName, ordered, boughtAs, signal });
    } catch (error) {
      // Aborted by the stop of the worker: the delivery is due again at the next start.
      if (signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      const delayMs = retryDelayMs(sink, tries, error);
      const failed = { requestId, sink: sink.name, version, error: message };
      if (delayMs === null) {
        await store.results.giveUpDelivery({ ...failed, nowMs: clock.wallMs() });
        const advice =
          'gave up delivering a result: it is retried only when the result changes or a person asks for it';
        logger.error({ ...subject, err: message, tries: tries + 1 }, advice);
      } else {
        await store.results.failDelivery({ ...failed, retryAtMs: clock.wallMs() + delayMs });
        logger.error({ ...subject, err: message, retry_in_ms: delayMs }, 'a result could not be delivered');
      }
      return;
    }
    await store.results.closeDelivery({ requestId, sink: sink.name, version, nowMs: clock.wallMs() });
    logger.info({ ...subject, state: document.state }, 'result delivered');
  }
}

function retryDelayMs(sink: Sink, failuresBefore: number, error: unknown): number | null {
  if (sink.retryDelayMs !== undefined) return sink.retryDelayMs(failuresBefore + 1, error);
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failuresBefore, 10));
}

/** Delivers results to every sink. Each has a loop of its own: a failing sink does not delay another. */
export class WriteBack {
  readonly #deps: DeliveryDeps;
  #loops: readonly DeliveryLoop[];
  #stopped = false;
  /** Loops whose sink was removed, until they have stopped. */
  readonly #ending = new Set<Promise<void>>();
  readonly #failure = Promise.withResolvers<never>();

  constructor(deps: DeliveryDeps, sinks: readonly Sink[]) {
    this.#deps = deps;
    this.#loops = sinks.map((sink) => this.#loopOf(sink));
    this.#failure.promise.catch(() => undefined);
  }

  #loopOf(sink: Sink): DeliveryLoop {
    const loop = new DeliveryLoop({ ...this.#deps, sink });
    loop.failed.catch((error: unknown) => this.#failure.reject(error));
    return loop;
  }

  /** Rejects when the end of a delivery could not be recorded. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  async start(): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const count = await store.results.retireSinks(clock.wallMs());
    if (count > 0) logger.warn({ given_up: count }, 'gave up deliveries to a sink that is no longer configured');
    for (const loop of this.#loops) loop.start();
  }

  /** Delivers to these sinks from now on. The loop of a sink that has the name of an earlier one keeps running. */
  use(sinks: readonly Sink[]): void {
    if (this.#stopped) return;
    const before = this.#loops;
    this.#loops = sinks.map((sink) => before.find(({ sinkName }) => sinkName === sink.name) ?? this.#loopOf(sink));
    for (const loop of this.#loops) if (!before.includes(loop)) loop.start();
    for (const loop of before) {
      if (this.#loops.includes(loop)) continue;
      const ended = loop.stop();
      this.#ending.add(ended);
      void ended.finally(() => this.#ending.delete(ended));
    }
  }

  /** A result may be due. */
  notify(): void {
    for (const loop of this.#loops) loop.notify();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#loops.map((loop) => loop.stop()), ...this.#ending]);
  }
}
