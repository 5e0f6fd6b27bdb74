import type { Clock } from '../../core/clock.ts';
import { WakeUp } from '../../ops/wake-up.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';

interface Waiter {
  /** The orders that are still in progress by request id, with the version that was last checked. */
  readonly open: Map<number, { source: string; orderId: string; seenVersion: number }>;
  readonly done: () => void;
}

/** Many notifications come together; a check this much later answers all of them. */
const gatherMs = 20;
/** The longest time between two checks, for changes without a notification, such as a cancelled order. */
const maxIdleDelayMs = 1000;

export interface AwaitedOrder {
  readonly requestId: number;
  readonly source: string;
  readonly orderId: string;
}

/**
 * Callers that wait until their orders are not in progress any more. After a notification, and at least once a second,
 * one loop compares the versions of all these orders. The loop runs only while somebody waits.
 */
export class WaitingCallers {
  readonly #read: OutboxReader;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #wakeUp: WakeUp;
  readonly #waiters = new Set<Waiter>();
  readonly #stopping = new AbortController();
  #loop: Promise<void> | null = null;

  constructor(read: OutboxReader, clock: Clock, limit: number) {
    this.#read = read;
    this.#clock = clock;
    this.#limit = limit;
    this.#wakeUp = new WakeUp(clock);
  }

  /** An order may have changed. */
  notify(): void {
    if (this.#waiters.size > 0) this.#wakeUp.notify();
  }

  /** Ends all waits; later ones end at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wakeUp.notify();
    await this.#loop;
  }

  /** Resolves when none of the orders is in progress, after `ms`, when the caller is gone, or when too many wait. */
  async wait(orders: readonly AwaitedOrder[], ms: number, gone: AbortSignal): Promise<void> {
    if (ms <= 0 || this.#waiters.size >= this.#limit || this.#stopping.signal.aborted) return;
    const open = new Map(
      orders.map(({ requestId, source, orderId }) => [requestId, { source, orderId, seenVersion: -1 }]),
    );
    const settled = new AbortController();
    const waiter: Waiter = { open, done: () => settled.abort() };
    this.#waiters.add(waiter);
    this.#wakeUp.notify();
    this.#loop ??= this.#run().catch(() => this.#endAll());
    await this.#clock.sleep(ms, AbortSignal.any([settled.signal, gone, this.#stopping.signal]));
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) this.#wakeUp.notify();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#waiters.size > 0 && !signal.aborted) {
      await this.#wakeUp.wait(maxIdleDelayMs);
      for (const waiter of this.#waiters) this.#check(waiter);
      if (this.#waiters.size > 0) await this.#clock.sleep(gatherMs, signal);
    }
    this.#loop = null;
  }

  /** The outbox could not be read: each caller reads it itself and gets the error. */
  #endAll(): void {
    this.#loop = null;
    for (const { done } of this.#waiters) done();
  }

  #check(waiter: Waiter): void {
    for (const [requestId, order] of waiter.open) {
      const version = this.#read.findOrder(order.source, order.orderId)?.version ?? -1;
      if (version === order.seenVersion) continue;
      order.seenVersion = version;
      if (this.#read.resultDocument(requestId).document.state !== 'in_progress') waiter.open.delete(requestId);
    }
    if (waiter.open.size === 0) waiter.done();
  }
}
