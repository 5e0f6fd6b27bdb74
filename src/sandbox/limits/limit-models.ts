import type { LimitSettings } from '../config.ts';

/** One limit of one key, as one kind of server counts it. Times are milliseconds and never run backwards. */
export interface LimitModel {
  /** Milliseconds until a call would be let in; 0 when it would be now. Counts nothing. */
  waitMs(now: number): number;
  /** Counts a call that was let in. */
  admit(now: number): void;
  /** Learns of a call that was answered 429. */
  reject(now: number): void;
}

/** At most `cap` calls in any window, exactly. A call stops counting when it is a whole window old. */
function slidingLog(windowMs: number, cap: number, countsRejected: boolean): LimitModel {
  // The calls of the last window start at `head`: moving it is cheaper than shifting the array at each call.
  let stamps: number[] = [];
  let head = 0;
  const count = (now: number): void => void stamps.push(now);
  return {
    waitMs(now) {
      while (head < stamps.length && (stamps[head] ?? 0) <= now - windowMs) head += 1;
      if (head > 1024) {
        stamps = stamps.slice(head);
        head = 0;
      }
      const over = stamps.length - head - cap;
      return over < 0 ? 0 : (stamps[head + over] ?? 0) + windowMs - now;
    },
    admit: count,
    reject: countsRejected ? count : () => {},
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
    admit: () => void (count += 1),
    reject: () => {},
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
    admit: () => void (level -= windowMs),
    reject: () => {},
  };
}

const models: Record<LimitSettings['model'], (windowMs: number, cap: number) => LimitModel> = {
  sliding_log: (windowMs, cap) => slidingLog(windowMs, cap, false),
  rejected_count: (windowMs, cap) => slidingLog(windowMs, cap, true),
  fixed_window: (windowMs, cap) => windowCounter(windowMs, cap, false),
  sliding_counter: (windowMs, cap) => windowCounter(windowMs, cap, true),
  token_bucket: tokenBucket,
};

export function limitModel(kind: LimitSettings['model'], windowMs: number, cap: number): LimitModel {
  return models[kind](windowMs, cap);
}
