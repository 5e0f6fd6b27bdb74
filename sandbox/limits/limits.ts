import type { LimitSettings } from '../settings/config.ts';
import { movesMoney, type Operation } from '../values/operations.ts';

/** A call as the log keeps it; the last three are 0 or 1. */
export type CountedCall = {
  /** The number of its key; null: it had none, or an unknown one. */
  key: number | null;
  operation: Operation;
  arrived_at: number;
  request_counted: number;
  order_counted: number;
  limited: number;
};

/**
 * The two limits of Spec 8, for each key: 60 requests, and 20 calls that move money, in a minute. A
 * call that moves money counts toward both limits or toward neither.
 */
export class Limits {
  #settings: LimitSettings;
  readonly #keys = new Map<number, { requests: Limit; orders: Limit }>();

  constructor(settings: LimitSettings) {
    this.#settings = settings;
  }

  /** Counts the call and returns 0, or returns in how many milliseconds it would be let in. */
  take(key: number, operation: Operation, now: number): number {
    if (!this.#settings.enabled) return 0;
    const limits = this.#of(key, operation);
    const waitMs = Math.max(...limits.map((limit) => limit.waitMs(now)));
    if (waitMs === 0) for (const limit of limits) limit.count(now);
    return waitMs;
  }

  /** Starts over with these settings, and counts the calls in the log that can still matter. */
  restart(settings: LimitSettings, callsSince: (time: number) => CountedCall[], now: number): void {
    this.#settings = settings;
    this.#keys.clear();
    if (!settings.enabled) return;
    for (const { key, operation, arrived_at: arrivedAt, request_counted: counted } of callsSince(
      now - settings.window_ms,
    )) {
      if (key === null || counted === 0) continue;
      for (const limit of this.#of(key, operation)) limit.count(arrivedAt);
    }
  }

  #of(key: number, operation: Operation): Limit[] {
    let limits = this.#keys.get(key);
    if (limits === undefined) {
      const { window_ms: windowMs, requests, orders } = this.#settings;
      limits = { requests: limitOf(windowMs, requests), orders: limitOf(windowMs, orders) };
      this.#keys.set(key, limits);
    }
    return movesMoney(operation) ? [limits.requests, limits.orders] : [limits.requests];
  }
}

/** One limit of one key. Times are milliseconds and never run backwards. */
interface Limit {
  /** Milliseconds until a call would be let in; 0 when it would be now. Counts nothing. */
  waitMs(now: number): number;
  /** Counts a call that was let in. */
  count(now: number): void;
}

/**
 * At most `cap` calls in any window, exactly. A call stops counting when it is a whole window old.
 */
export function limitOf(windowMs: number, cap: number): Limit {
  const stamps: number[] = [];
  return {
    waitMs(now) {
      const old = stamps.findIndex((stamp) => stamp > now - windowMs);
      stamps.splice(0, old === -1 ? stamps.length : old);
      const over = stamps.length - cap;
      return over < 0 ? 0 : (stamps[over] ?? 0) + windowMs - now;
    },
    count: (now) => void stamps.push(now),
  };
}
