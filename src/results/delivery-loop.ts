import PQueue from 'p-queue';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { WakeUp } from '../ops/wake-up.ts';
import type { DueDelivery } from '../store/results/results.ts';
import type { Store } from '../store/store.ts';
import type { Sink } from './sink.ts';

export interface DeliveryDeps {
  readonly store: Store;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The longest the loop sleeps without looking, in ms. Default: 1000. */
  readonly maxIdleDelayMs?: number;
}

const batch = 100;
const parallel = 8;
const maxIdleDelayMs = 1000;
const firstRetryMs = 2000;
const longestRetryMs = 300_000;

/**
 * Writes results back, in an outbox of its own: a write-back that fails is tried again and never touches
 * buying. Delivered at least once, and the same result is the same to the byte.
 */
export class DeliveryLoop {
  readonly #deps: DeliveryDeps;
  readonly #wakeUp: WakeUp;
  readonly #failure = Promise.withResolvers<never>();
  readonly #giveUp = new AbortController();
  #stopping = false;
  #loop: Promise<void> | null = null;

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    this.#wakeUp = new WakeUp(deps.clock);
    this.#failure.promise.catch(() => undefined);
  }

  /** Rejects when what was delivered could not be recorded. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  notify(): void {
    this.#wakeUp.notify();
  }

  start(): void {
    this.#loop = this.#run().catch((error: unknown) => this.#failure.reject(error));
  }

  /** Delivers what is due now, then stops; a sink that may be slow is given its grace only, and the rest stays due. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wakeUp.notify();
    const { sink, clock } = this.#deps;
    if (sink.stopGraceMs === undefined) return void (await this.#loop);
    const done = new AbortController();
    const grace = clock.sleep(sink.stopGraceMs, done.signal).then(() => this.#giveUp.abort());
    await this.#loop;
    done.abort();
    await grace;
  }

  async #run(): Promise<void> {
    for (;;) {
      const { store, sink, clock } = this.#deps;
      const due = await store.results.dueDeliveries(sink.name, clock.wallMs(), batch);
      if (due.length > 0) {
        const queue = new PQueue({ concurrency: parallel });
        await queue.addAll(due.map((delivery) => () => this.#deliver(delivery)));
        // What was cut off stays due, and would be due again at once.
        if (this.#giveUp.signal.aborted) return;
        continue;
      }
      // What is due was delivered, also what the last attempts left: only now it may end.
      if (this.#stopping) return;
      const nextAt = await store.results.nextDeliveryAt(sink.name);
      const idleDelayMs = this.#deps.maxIdleDelayMs ?? maxIdleDelayMs;
      await this.#wakeUp.wait(
        nextAt === null ? idleDelayMs : Math.min(idleDelayMs, Math.max(1, nextAt - clock.wallMs())),
      );
    }
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { store, sink, clock, logger } = this.#deps;
    const { requestId, version, document } = delivery;
    const { signal } = this.#giveUp;
    if (signal.aborted) return;
    try {
      await sink.deliver(document, { version, signal });
    } catch (error) {
      // Cut off by the end of the worker: nothing is known of it, and it is due at the next start.
      if (signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      const delayMs = retryDelayMs(sink, delivery.tries);
      if (delayMs === null) {
        await store.results.giveUpDelivery({
          requestId,
          sink: sink.name,
          version,
          error: message,
          nowMs: clock.wallMs(),
        });
        logger.error(
          {
            sink: sink.name,
            source: document.source,
            order_id: document.order_id,
            err: message,
            tries: delivery.tries + 1,
          },
          'a result is given up: it is written back again only when it changes or a person asks for it',
        );
        return;
      }
      const retryAtMs = clock.wallMs() + delayMs;
      await store.results.failDelivery({ requestId, sink: sink.name, version, error: message, retryAtMs });
      logger.error(
        { sink: sink.name, source: document.source, order_id: document.order_id, err: message, retry_in_ms: delayMs },
        'a result could not be written back',
      );
      return;
    }
    await store.results.closeDelivery({ requestId, sink: sink.name, version, nowMs: clock.wallMs() });
    logger.info(
      { sink: sink.name, source: document.source, order_id: document.order_id, state: document.state },
      'result written',
    );
  }
}

function retryDelayMs(sink: Sink, failuresBefore: number): number | null {
  if (sink.retryDelayMs !== undefined) return sink.retryDelayMs(failuresBefore + 1);
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failuresBefore, 10));
}
