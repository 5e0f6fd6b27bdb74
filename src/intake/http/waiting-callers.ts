import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { Loop } from '../../ops/loop.ts';
import type { OutboxReader } from '../../store/read/outbox-reader.ts';

interface Waiter {
  /** How many of its orders are still in progress, as far as is known. */
  open: number;
  readonly done: () => void;
}

/** An order for which callers wait. */
interface AwaitedResult {
  /** The version that was last looked at. */
  seenVersion: number;
  readonly waiters: Set<Waiter>;
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

/**
 * Callers that wait until their orders are not in progress any more. After a notification, and at least once a second,
 * one loop compares the versions of all these orders, each once for all of its callers. The loop runs only while somebody waits.
 */
export class WaitingCallers {
  readonly #read: OutboxReader;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #loop: Loop;
  readonly #results = new Map<number, AwaitedResult>();
  #waiters = 0;
  #awaited = 0;

  constructor(read: OutboxReader, clock: Clock, limit: number) {
    this.#read = read;
    this.#clock = clock;
    this.#limit = limit;
    // The outbox cannot be read: each caller reads it itself and gets the error.
    const onError = (): number => {
      this.#endAll();
      return noWaiterMs;
    };
    this.#loop = new Loop({ clock, round: (signal) => this.#round(signal), onError });
  }

  /** An order may have changed. */
  notify(): void {
    if (this.#waiters > 0) this.#loop.notify();
  }

  /** Ends all waits; later ones end at once. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Resolves when none of the orders is in progress, after `ms`, when the caller is gone, or when too many wait. */
  async wait(requestIds: readonly number[], ms: number, gone: AbortSignal): Promise<void> {
    const ids = new Set(requestIds);
    if (ms <= 0 || ids.size === 0 || this.#loop.signal.aborted) return;
    if (this.#waiters >= this.#limit) return;
    if (ids.size > fewOrders && this.#awaited + ids.size > maxAwaited) return;
    const settled = new AbortController();
    const waiter: Waiter = { open: ids.size, done: () => settled.abort() };
    this.#add(waiter, ids);
    this.#loop.start();
    this.#loop.notify();
    await this.#clock.sleep(ms, AbortSignal.any([settled.signal, gone, this.#loop.signal]));
    this.#remove(waiter, ids);
  }

  #add(waiter: Waiter, ids: ReadonlySet<number>): void {
    this.#waiters += 1;
    this.#awaited += ids.size;
    for (const id of ids) {
      const result = this.#results.get(id) ?? { seenVersion: -1, waiters: new Set() };
      this.#results.set(id, result);
      result.waiters.add(waiter);
    }
  }

  #remove(waiter: Waiter, ids: ReadonlySet<number>): void {
    this.#waiters -= 1;
    this.#awaited -= ids.size;

    for (const id of ids) {
      const result = this.#results.get(id);
      result?.waiters.delete(waiter);
      if (result?.waiters.size === 0) this.#results.delete(id);
    }
  }

  async #round(signal: AbortSignal): Promise<number> {
    await this.#lookAtAll();
    if (this.#waiters === 0) return noWaiterMs;
    await this.#clock.sleep(gatherMs, signal);
    return maxIdleDelayMs;
  }

  #endAll(): void {
    for (const { waiters } of this.#results.values()) for (const { done } of waiters) done();
  }

  async #lookAtAll(): Promise<void> {
    const ids = [...this.#results.keys()];
    for (let start = 0; start < ids.length && !this.#loop.signal.aborted; start += ordersAtOnce) {
      this.#lookAt(ids.slice(start, start + ordersAtOnce));
      if (ids.length > ordersAtOnce) await nextTurn();
    }
  }

  #lookAt(ids: readonly number[]): void {
    const versions = this.#read.resultVersions(ids);
    for (const id of ids) {
      const result = this.#results.get(id);
      const version = versions.get(id) ?? -1;
      if (result === undefined || version === result.seenVersion) continue;
      result.seenVersion = version;
      if (this.#read.resultDocument(id).document.state === 'in_progress') continue;
      this.#results.delete(id);
      for (const waiter of result.waiters) {
        waiter.open -= 1;
        if (waiter.open === 0) waiter.done();
      }
    }
  }
}
