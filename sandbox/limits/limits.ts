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
 * The two limits of Spec 8, for each key: 60 requests, and 20 calls that move money, in a minute. A call that moves
 * money counts toward both limits or toward neither.
 */
export class Limits {
  #settings: LimitSettings;
  readonly #keys = new Map<number, { requests: LimitModel; orders: LimitModel }>();

  constructor(settings: LimitSettings) {
    this.#settings = settings;
  }

  /** Counts the call and returns 0, or returns in how many milliseconds it would be let in. */
  take(key: number, operation: Operation, now: number): number {
    if (!this.#settings.enabled) return 0;
    const limits = this.#of(key, operation);
    const waitMs = Math.max(...limits.map((limit) => limit.waitMs(now)));
    for (const limit of limits) limit.count(now, waitMs === 0);
    return waitMs;
  }

  /** Starts over with these settings, and counts the calls in the log that can still matter. */
  restart(settings: LimitSettings, callsSince: (time: number) => CountedCall[], now: number): void {
    this.#settings = settings;
    this.#keys.clear();
    if (!settings.enabled) return;
    for (const { key, operation, arrived_at: arrivedAt, ...call } of callsSince(now - 2 * settings.window_ms)) {
      for (const limit of key === null ? [] : this.#of(key, operation)) {
        limit.waitMs(arrivedAt);
        if (call.request_counted === 1 || call.limited === 1) limit.count(arrivedAt, call.limited === 0);
      }
    }
  }

  #of(key: number, operation: Operation): LimitModel[] {
    let limits = this.#keys.get(key);
    if (limits === undefined) {
      const { model, window_ms: windowMs, requests, orders } = this.#settings;
      limits = { requests: limitModel(model, windowMs, requests), orders: limitModel(model, windowMs, orders) };
      this.#keys.set(key, limits);
    }
    return movesMoney(operation) ? [limits.requests, limits.orders] : [limits.requests];
  }
}

/** One limit of one key, as one kind of server counts it. Times are milliseconds and never run backwards. */
export interface LimitModel {
  /** Milliseconds until a call would be let in; 0 when it would be now. Counts nothing. */
  waitMs(now: number): number;
  /** Learns of a call that was let in, or answered 429. */
  count(now: number, letIn: boolean): void;
}

/** At most `cap` calls in any window, exactly. A call stops counting when it is a whole window old. */
function slidingLog(windowMs: number, cap: number, countsRejected: boolean): LimitModel {
  const stamps: number[] = [];
  return {
    waitMs(now) {
      const old = stamps.findIndex((stamp) => stamp > now - windowMs);
      stamps.splice(0, old === -1 ? stamps.length : old);
      const over = stamps.length - cap;
      return over < 0 ? 0 : (stamps[over] ?? 0) + windowMs - now;
    },
    count(now, letIn) {
      if (letIn || countsRejected) stamps.push(now);
    },
  };
}

/**
 * At most `cap` calls in each window of the clock; around an edge, twice as many can pass. With `countsPrevious`, the
 * calls of the previous window count too, by its share of the last `windowMs`: the approximation of many gateways.
 */
function windowCounter(windowMs: number, cap: number, countsPrevious: boolean): LimitModel {
  let window = -1;
  let count = 0;
  let previous = 0;
  return {
    waitMs(now) {
      const current = Math.floor(now / windowMs);
      if (current !== window) {
        previous = countsPrevious && current === window + 1 ? count : 0;
        window = current;
        count = 0;
      }
      // Whole numbers throughout (the estimate, times the window): a rounding error must not let a call in.
      const left = (window + 1) * windowMs - now;
      const free = (cap - count) * windowMs;
      if (previous * left < free) return 0;
      if (free <= 0 || previous === 0) return left;
      return left - Math.ceil(free / previous) + 1;
    },
    count: (_now, letIn) => void (count += Number(letIn)),
  };
}

/** A bucket of `cap` tokens that refills evenly over one window. */
function tokenBucket(windowMs: number, cap: number): LimitModel {
  // Tokens times the window: whole numbers, because a rounding error must not add or lose a token.
  let level = cap * windowMs;
  let lastSeen: number | null = null;
  return {
    waitMs(now) {
      level = Math.min(cap * windowMs, level + (now - (lastSeen ?? now)) * cap);
      lastSeen = now;
      return level >= windowMs ? 0 : Math.ceil((windowMs - level) / cap);
    },
    count: (_now, letIn) => void (level -= letIn ? windowMs : 0),
  };
}

const models: Readonly<Record<LimitSettings['model'], (windowMs: number, cap: number) => LimitModel>> = {
  sliding_log: (windowMs, cap) => slidingLog(windowMs, cap, false),
  rejected_count: (windowMs, cap) => slidingLog(windowMs, cap, true),
  fixed_window: (windowMs, cap) => windowCounter(windowMs, cap, false),
  sliding_counter: (windowMs, cap) => windowCounter(windowMs, cap, true),
  token_bucket: tokenBucket,
};

export function limitModel(kind: LimitSettings['model'], windowMs: number, cap: number): LimitModel {
  return models[kind](windowMs, cap);
}
