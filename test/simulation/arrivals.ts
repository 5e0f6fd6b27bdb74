import type { ApiAnswer, ApiCall } from './api-call.ts';

export interface LimitsOfKey {
  readonly windowMs: number;
  readonly requests: number;
  readonly orders: number;
}

/**
 * When calls arrived, for each key, by the clock of the API. A call above a limit gets 429 (Spec 8)
 * and is reported, because the worker promises that it never happens.
 */
export class Arrivals {
  #limits: LimitsOfKey;
  readonly #nowMs: () => number;
  readonly #onExceeded: (sentence: string) => void;
  readonly #stamps = new Map<string, { atMs: number; spends: boolean; isOwn: boolean }[]>();
  /** While true, a proxy repeats a call: it counts, but the worker cannot know of it. */
  repeatedByOthers = false;

  constructor(limits: LimitsOfKey, nowMs: () => number, onExceeded: (sentence: string) => void) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#onExceeded = onExceeded;
  }

  /** The supplier changes the limits of every key. */
  change(limits: Pick<LimitsOfKey, 'requests' | 'orders'>): void {
    this.#limits = { ...this.#limits, ...limits };
  }

  stamp(call: ApiCall, spends: boolean): ApiAnswer | null {
    const isOwn = !this.repeatedByOthers;
    const now = this.#nowMs();
    const { windowMs, requests, orders } = this.#limits;
    const stamps = (this.#stamps.get(call.authorization) ?? []).filter(
      (stamp) => stamp.atMs > now - windowMs,
    );
    this.#stamps.set(call.authorization, stamps);
    stamps.push({ atMs: now, spends, isOwn });
    const spending = stamps.filter((stamp) => stamp.spends);
    if (stamps.length > requests)
      return this.#exceeded(stamps, requests, `requests within ${windowMs} ms`);
    if (spends && spending.length > orders)
      return this.#exceeded(spending, orders, `orders within ${windowMs} ms`);
    return null;
  }

  /** How many calls of a key are in the current window. */
  fill(authorization: string): { requests: number; orders: number } {
    const now = this.#nowMs();
    const stamps = (this.#stamps.get(authorization) ?? []).filter(
      (stamp) => stamp.atMs > now - this.#limits.windowMs,
    );
    return { requests: stamps.length, orders: stamps.filter((stamp) => stamp.spends).length };
  }

  #exceeded(stamps: readonly { isOwn: boolean }[], most: number, what: string): ApiAnswer {
    const own = stamps.filter(({ isOwn }) => isOwn).length;
    if (own > most) this.#onExceeded(`${own} ${what}`);
    return { status: 429, headers: {}, body: '' };
  }
}
