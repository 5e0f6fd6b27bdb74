import type { Clock } from '../../core/clock.ts';
import { WakeUp } from '../../ops/wake-up.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';

interface Waiter {
  /** The orders that are not settled yet, with the version at which that was seen. */
  readonly open: Map<number, { source: string; orderId: string; seenVersion: number }>;
  readonly done: () => void;
}

/** Rings come in crowds; one look a little later serves them all. */
const gatherMs = 20;
/** The longest without a look: what changes without a ring, such as an order that is taken back, is seen then. */
const maxIdleDelayMs = 1000;

export interface WatchedOrder {
  readonly requestId: number;
  readonly source: string;
  readonly orderId: string;
}

/**
 * Callers who wait for their order to come to rest. Whoever changes orders rings; then, and at least once a second, the
 * versions of the watched orders are looked at, all in one pass. Without anybody waiting nothing runs.
 */
export class SettlementWatch {
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

  /** An order may have come to rest. */
  notify(): void {
    if (this.#waiters.size > 0) this.#wakeUp.notify();
  }

  /** Lets everybody go who waits, and nobody wait any more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wakeUp.notify();
    await this.#loop;
  }

  /** Resolves when all of the orders have come to rest, after `ms`, when the caller left, or when too many wait. */
  async wait(orders: readonly WatchedOrder[], ms: number, gone: AbortSignal): Promise<void> {
    if (ms <= 0 || this.#waiters.size >= this.#limit || this.#stopping.signal.aborted) return;
    const open = new Map(
      orders.map(({ requestId, source, orderId }) => [requestId, { source, orderId, seenVersion: -1 }]),
    );
    const settled = new AbortController();
    const waiter: Waiter = { open, done: () => settled.abort() };
    this.#waiters.add(waiter);
    this.#wakeUp.notify();
    this.#loop ??= this.#run().catch(() => this.#letGo());
    await this.#clock.sleep(ms, AbortSignal.any([settled.signal, gone, this.#stopping.signal]));
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) this.#wakeUp.notify();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#waiters.size > 0 && !signal.aborted) {
      await this.#wakeUp.wait(maxIdleDelayMs);
      for (const waiter of this.#waiters) this.#look(waiter);
      if (this.#waiters.size > 0) await this.#clock.sleep(gatherMs, signal);
    }
    this.#loop = null;
  }

  /** The outbox could not be read: whoever waits reads it itself, and is told what is wrong. */
  #letGo(): void {
    this.#loop = null;
    for (const { done } of this.#waiters) done();
  }

  #look(waiter: Waiter): void {
    for (const [requestId, watched] of waiter.open) {
      const version = this.#read.findOrder(watched.source, watched.orderId)?.version ?? -1;
      if (version === watched.seenVersion) continue;
      watched.seenVersion = version;
      if (this.#read.resultDocument(requestId).document.state !== 'in_progress') waiter.open.delete(requestId);
    }
    if (waiter.open.size === 0) waiter.done();
  }
}
