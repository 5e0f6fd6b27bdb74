import type { LimitSettings } from '../config.ts';

/** One limit on one key, as one kind of server would count it. Times are milliseconds and never go backwards. */
export interface LimitModel {
  /** Milliseconds until a call would be let in; 0 when it is let in now. Changes nothing. */
  waitMs(now: number): number;
  /** Counts a call that was let in. */
  admit(now: number): void;
  /** Hears of a call that was turned away. */
  reject(now: number): void;
}

/** Stamps of the last window, oldest first, without shifting an array at each call. */
class StampLog {
  #stamps: number[] = [];
  #head = 0;

  dropUntil(limit: number): void {
    while (this.#head < this.#stamps.length && (this.#stamps[this.#head] ?? 0) <= limit) this.#head += 1;
    if (this.#head > 1024) {
      this.#stamps = this.#stamps.slice(this.#head);
      this.#head = 0;
    }
  }

  get count(): number {
    return this.#stamps.length - this.#head;
  }

  at(index: number): number {
    return this.#stamps[this.#head + index] ?? 0;
  }

  push(stamp: number): void {
    this.#stamps.push(stamp);
  }
}

/** At most `cap` calls in any window, exactly. A stamp leaves when it is a whole window old. */
class SlidingLog implements LimitModel {
  readonly #log = new StampLog();
  readonly #windowMs: number;
  readonly #cap: number;
  readonly #countsRejected: boolean;

  constructor(windowMs: number, cap: number, countsRejected: boolean) {
    this.#windowMs = windowMs;
    this.#cap = cap;
    this.#countsRejected = countsRejected;
  }

  waitMs(now: number): number {
    this.#log.dropUntil(now - this.#windowMs);
    const over = this.#log.count - this.#cap;
    return over < 0 ? 0 : this.#log.at(over) + this.#windowMs - now;
  }

  admit(now: number): void {
    this.#log.push(now);
  }

  /** Some services count the calls that they turn away, so that knocking again keeps the door shut. */
  reject(now: number): void {
    if (this.#countsRejected) this.#log.push(now);
  }
}

/** At most `cap` calls per window of the clock: twice as many can pass around a boundary. */
class FixedWindow implements LimitModel {
  readonly #windowMs: number;
  readonly #cap: number;
  #window = -1;
  #count = 0;

  constructor(windowMs: number, cap: number) {
    this.#windowMs = windowMs;
    this.#cap = cap;
  }

  waitMs(now: number): number {
    const window = Math.floor(now / this.#windowMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#count = 0;
    }
    return this.#count < this.#cap ? 0 : (window + 1) * this.#windowMs - now;
  }

  admit(): void {
    this.#count += 1;
  }

  reject(): void {}
}

/** The approximation of many gateways: this window's count plus the last one's, weighted by how much of it still shows. */
class SlidingCounter implements LimitModel {
  readonly #windowMs: number;
  readonly #cap: number;
  #window = -1;
  #count = 0;
  #previous = 0;

  constructor(windowMs: number, cap: number) {
    this.#windowMs = windowMs;
    this.#cap = cap;
  }

  waitMs(now: number): number {
    const window = Math.floor(now / this.#windowMs);
    if (window !== this.#window) {
      this.#previous = window === this.#window + 1 ? this.#count : 0;
      this.#window = window;
      this.#count = 0;
    }
    // Whole numbers throughout (the estimate, times the window): a rounding error must not let a call in.
    const left = (window + 1) * this.#windowMs - now;
    const room = (this.#cap - this.#count) * this.#windowMs;
    if (this.#previous * left < room) return 0;
    if (room <= 0 || this.#previous === 0) return left;
    return left - Math.ceil(room / this.#previous) + 1;
  }

  admit(): void {
    this.#count += 1;
  }

  reject(): void {}
}

/** A bucket of `cap` tokens that fills up again evenly over one window. */
class TokenBucket implements LimitModel {
  readonly #windowMs: number;
  readonly #cap: number;
  /** Tokens times the window: whole numbers, so that no rounding error gives or takes a token. */
  #level: number;
  #at: number | null = null;

  constructor(windowMs: number, cap: number) {
    this.#windowMs = windowMs;
    this.#cap = cap;
    this.#level = cap * windowMs;
  }

  waitMs(now: number): number {
    const since = now - (this.#at ?? now);
    this.#level = Math.min(this.#cap * this.#windowMs, this.#level + since * this.#cap);
    this.#at = now;
    return this.#level >= this.#windowMs ? 0 : Math.ceil((this.#windowMs - this.#level) / this.#cap);
  }

  admit(): void {
    this.#level -= this.#windowMs;
  }

  reject(): void {}
}

export function limitModel(kind: LimitSettings['model'], windowMs: number, cap: number): LimitModel {
  switch (kind) {
    case 'sliding_log':
      return new SlidingLog(windowMs, cap, false);
    case 'rejected_count':
      return new SlidingLog(windowMs, cap, true);
    case 'fixed_window':
      return new FixedWindow(windowMs, cap);
    case 'sliding_counter':
      return new SlidingCounter(windowMs, cap);
    default:
      kind satisfies 'token_bucket';
      return new TokenBucket(windowMs, cap);
  }
}
