import PQueue from 'p-queue';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { WakeUp } from '../ops/wake-up.ts';
import type { DueDelivery, Store } from '../store/store.ts';
import type { Sink } from './sink.ts';

export interface DeliveryDeps {
  readonly store: Store;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The longest the loop sleeps without looking, in ms. Default: 1000. */
  readonly longestNapMs?: number;
}

const batch = 100;
const parallel = 8;
const longestNapMs = 1000;
const firstRetryMs = 2000;
const longestRetryMs = 300_000;

/**
 * Writes results back, in an outbox of its own: a write-back that fails is tried again for ever and never touches
 * buying. Delivered at least once, and the same result is the same to the byte.
 */
export class DeliveryLoop {
  readonly #deps: DeliveryDeps;
  readonly #wakeUp: WakeUp;
  readonly #failure = Promise.withResolvers<never>();
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

  ring(): void {
    this.#wakeUp.ring();
  }

  start(): void {
    this.#loop = this.#run().catch((error: unknown) => this.#failure.reject(error));
  }

  /** Delivers what is due now, then stops. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wakeUp.ring();
    await this.#loop;
  }

  async #run(): Promise<void> {
    for (;;) {
      const { store, sink, clock } = this.#deps;
      const due = await store.dueDeliveries(sink.name, clock.wallMs(), batch);
      if (due.length > 0) {
        const queue = new PQueue({ concurrency: parallel });
        await queue.addAll(due.map((delivery) => () => this.#deliver(delivery)));
        continue;
      }
      // What is due was delivered, also what the last attempts left: only now it may end.
      if (this.#stopping) return;
      const nextAt = await store.nextDeliveryAt(sink.name);
      const napMs = this.#deps.longestNapMs ?? longestNapMs;
      await this.#wakeUp.wait(nextAt === null ? napMs : Math.min(napMs, Math.max(1, nextAt - clock.wallMs())));
    }
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { store, sink, clock, logger } = this.#deps;
    const { requestId, version, document } = delivery;
    try {
      await sink.deliver(document);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(delivery.tries, 10));
      await store.failDelivery({ requestId, sink: sink.name, error: message, retryAtMs: clock.wallMs() + delayMs });
      logger.error(
        { sink: sink.name, source: document.source, order_id: document.order_id, err: message, retry_in_ms: delayMs },
        'a result could not be written back',
      );
      return;
    }
    await store.closeDelivery({ requestId, sink: sink.name, version, nowMs: clock.wallMs() });
    logger.info(
      { sink: sink.name, source: document.source, order_id: document.order_id, state: document.state },
      'result written',
    );
  }
}
