/** How a server may count calls; `admit` says whether a call that arrives now is let in. */
export interface ServerModel {
  admit(nowMs: number): boolean;
}

class SlidingLog implements ServerModel {
  readonly #stamps: number[] = [];
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #countRefused: boolean;

  constructor(limit: number, windowMs: number, countRefused: boolean) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#countRefused = countRefused;
  }

  admit(nowMs: number): boolean {
    while ((this.#stamps[0] ?? Number.POSITIVE_INFINITY) <= nowMs - this.#windowMs) this.#stamps.shift();
    const ok = this.#stamps.length < this.#limit;
    if (ok || this.#countRefused) this.#stamps.push(nowMs);
    return ok;
  }
}

class FixedWindow implements ServerModel {
  #window = -1;
  #count = 0;
  readonly #limit: number;
  readonly #windowMs: number;

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  admit(nowMs: number): boolean {
    const window = Math.floor(nowMs / this.#windowMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#count = 0;
    }
    if (this.#count >= this.#limit) return false;
    this.#count += 1;
    return true;
  }
}

class TokenBucket implements ServerModel {
  #tokens: number;
  #at = 0;
  readonly #limit: number;
  readonly #windowMs: number;

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#tokens = limit;
  }

  admit(nowMs: number): boolean {
    this.#tokens = Math.min(this.#limit, this.#tokens + ((nowMs - this.#at) * this.#limit) / this.#windowMs);
    this.#at = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** The count of this window plus the overlapping share of the one before, as gateways approximate it. */
class ApproximateCounter implements ServerModel {
  #window = -1;
  #count = 0;
  #before = 0;
  readonly #limit: number;
  readonly #windowMs: number;

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  admit(nowMs: number): boolean {
    const window = Math.floor(nowMs / this.#windowMs);
    if (window !== this.#window) {
      this.#before = window === this.#window + 1 ? this.#count : 0;
      this.#window = window;
      this.#count = 0;
    }
    const overlap = 1 - (nowMs % this.#windowMs) / this.#windowMs;
    if (this.#before * overlap + this.#count + 1 > this.#limit) return false;
    this.#count += 1;
    return true;
  }
}

type Model = (limit: number, windowMs: number) => ServerModel;

export const serverModels = {
  'sliding log': (limit, windowMs) => new SlidingLog(limit, windowMs, false),
  'fixed window': (limit, windowMs) => new FixedWindow(limit, windowMs),
  'token bucket': (limit, windowMs) => new TokenBucket(limit, windowMs),
  'approximate sliding counter': (limit, windowMs) => new ApproximateCounter(limit, windowMs),
  'sliding log that counts refused calls': (limit, windowMs) => new SlidingLog(limit, windowMs, true),
} satisfies Record<string, Model>;
