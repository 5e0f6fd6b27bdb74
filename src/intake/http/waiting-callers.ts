import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { Loop } from '../../ops/loop.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';

interface Waiter {
  /** Those of its orders that are still in progress, as far as is known. */
  readonly open: Set<number>;
  readonly done: () => void;
}

/** Many notifications come together; a check this much later answers all of them. */
const gatherMs = 20;
/** The longest time between two checks, for changes without a notification, such as a cancelled order. */
const maxIdleDelayMs = 1000;
/** The first caller wakes the loop. */
const noWaiterMs = 86_400_000;

/** Who waits for at most so many orders waits whatever others wait for. */
const fewOrders = 50;
/** For so many orders callers can wait in all; an order counts once for each of its callers. */
const maxAwaited = 50_000;

/** So many orders are looked at before the worker does what else is due. */
const ordersAtOnce = 100;

/** One loop looks at the orders of all waiting callers, after a notification and at least once a second. */
export class WaitingCallers {
  readonly #read: OutboxReader;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #loop: Loop;
  readonly #waiters = new Set<Waiter>();
  #seen = new Map<number, number>();

  constructor(read: OutboxReader, clock: Clock, limit: number) {
    this.#read = read;
    this.#clock = clock;
    this.#limit = limit;
    this.#loop = new Loop({ clock, round: (signal) => this.#round(signal) });
  }

  notify(): void {
    if (this.#waiters.size > 0) this.#loop.notify();
  }

  /** Ends all waits; later ones end at once. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Resolves when none of the orders is in progress, after `ms`, when the caller is gone, or when too many wait. */
  async wait(requestIds: readonly number[], ms: number, gone: AbortSignal): Promise<void> {
    const open = new Set(requestIds);
    if (ms <= 0 || open.size === 0 || this.#loop.signal.aborted || this.#waiters.size >= this.#limit) return;
    let awaited = open.size;
    for (const waiter of this.#waiters) awaited += waiter.open.size;
    if (open.size > fewOrders && awaited > maxAwaited) return;
    const settled = new AbortController();
    const waiter: Waiter = { open, done: () => settled.abort() };
    this.#waiters.add(waiter);
    this.#loop.start();
    this.#loop.notify();
    await this.#clock.sleep(ms, AbortSignal.any([settled.signal, gone, this.#loop.signal]));
    this.#waiters.delete(waiter);
  }

  async #round(signal: AbortSignal): Promise<number> {
    try {
      await this.#lookAtAll();
    } catch {
      // The outbox cannot be read: each caller reads it itself and gets the error.
      for (const { done } of this.#waiters) done();
      return noWaiterMs;
    }
    if (this.#waiters.size === 0) return noWaiterMs;
    await this.#clock.sleep(gatherMs, signal);
    return maxIdleDelayMs;
  }

  async #lookAtAll(): Promise<void> {
    const ids = [...new Set([...this.#waiters].flatMap(({ open }) => [...open]))];
    const seen = new Map<number, number>();
    for (let start = 0; start < ids.length && !this.#loop.signal.aborted; start += ordersAtOnce) {
      this.#lookAt(ids.slice(start, start + ordersAtOnce), seen);
      if (ids.length > ordersAtOnce) await nextTurn();
    }
    this.#seen = seen;
  }

  #lookAt(ids: readonly number[], seen: Map<number, number>): void {
    const versions = this.#read.resultVersions(ids);
    for (const id of ids) {
      const version = versions.get(id) ?? -1;
      const isOpen =
        version === (this.#seen.get(id) ?? -1) || this.#read.resultDocument(id).document.state === 'in_progress';
      if (isOpen) seen.set(id, version);
      else for (const { open, done } of this.#waiters) if (open.delete(id) && open.size === 0) done();
    }
  }
}
