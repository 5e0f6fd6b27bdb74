import { assert } from '../../core/order-sync-error.ts';

/**
 * The slots of one limit of one key. A slot is taken before the send and is free again one window
 * after the answer was received. The server counted the call between the two, so in any window it
 * counts at most `capacity` calls, whatever the network's jitter. No clocks are compared, and no
 * margin is needed.
 *
 * Times are milliseconds of the monotonic clock. The class reads no clock.
 */
export class BudgetWindow {
  readonly windowMs: number;
  #capacity: number;
  #inFlight = 0;
  /** When each settled slot is free again, ascending. */
  #freeAt: number[] = [];

  constructor(capacity: number, windowMs: number) {
    assert(isCapacity(capacity), `a budget has at least one slot, got ${capacity}`);
    assert(windowMs >= 0, `a window is not negative, got ${windowMs}`);
    this.#capacity = capacity;
    this.windowMs = windowMs;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Held slots stay held: after a smaller capacity none is free until enough of them are. */
  resize(capacity: number): void {
    assert(isCapacity(capacity), `a budget has at least one slot, got ${capacity}`);
    this.#capacity = capacity;
  }

  #sweep(nowMs: number): void {
    let gone = 0;
    while (gone < this.#freeAt.length && (this.#freeAt[gone] ?? 0) <= nowMs) gone += 1;
    if (gone > 0) this.#freeAt.splice(0, gone);
  }

  /** Slots that are held now: their calls are in flight, or ended less than a window ago. */
  used(nowMs: number): number {
    this.#sweep(nowMs);
    return this.#inFlight + this.#freeAt.length;
  }

  /** Slots that are free now; 0 when a restart found more held slots than the capacity. */
  free(nowMs: number): number {
    return Math.max(0, this.capacity - this.used(nowMs));
  }

  /**
   * When at least `wanted` slots are free: `nowMs` if they are already; Infinity when that depends
   * on calls that are still in flight.
   */
  freeAtMs(nowMs: number, wanted = 1): number {
    const missing = this.used(nowMs) + wanted - this.capacity;
    if (missing <= 0) return nowMs;
    return this.#freeAt[missing - 1] ?? Number.POSITIVE_INFINITY;
  }

  take(nowMs: number): void {
    assert(this.free(nowMs) >= 1, 'a slot is taken only when one is free');
    this.#inFlight += 1;
  }

  /**
   * The call is over. @param settledAtMs when its answer was received, or when it can no longer
   * arrive
   */
  settle(settledAtMs: number): void {
    assert(this.#inFlight >= 1, 'only a taken slot is settled');
    this.#inFlight -= 1;
    this.#hold(settledAtMs + this.windowMs);
  }

  /** The call never left: its slot is free again at once. */
  giveBack(): void {
    assert(this.#inFlight >= 1, 'only a taken slot is given back');
    this.#inFlight -= 1;
  }

  /** Holds a slot that an earlier process used. */
  restore(freeAtMs: number): void {
    this.#hold(freeAtMs);
  }

  #hold(freeAtMs: number): void {
    let at = this.#freeAt.length;
    while (at > 0 && (this.#freeAt[at - 1] ?? 0) > freeAtMs) at -= 1;
    this.#freeAt.splice(at, 0, freeAtMs);
  }
}

function isCapacity(capacity: number): boolean {
  return Number.isInteger(capacity) && capacity >= 1;
}

/**
 * Throttles a key after a 429 that its own budget does not explain: the server counts in another
 * way than a sliding window of arrivals (it approximates, or counts rejected calls too), or
 * somebody else uses the key. Then the calls of a limit keep an even distance, at nine tenths of
 * the rate, because the server would answer every burst with another 429.
 *
 * The throttle ends after a window without a 429. If that leads to another one, the next throttle
 * lasts longer. Times are milliseconds of the monotonic clock. Pure: it reads no clock.
 */
export interface Throttle {
  readonly untilMs: number;
  readonly lengthMs: number;
}

const share = 0.9;
const repeatedWindows = 15;
const longestWindows = 24 * 60;

/**
 * The throttle after an unexpected 429: one window, or longer where the last one ended not long ago.
 * @param fromMs when the key may call again
 */
export function throttleAfterSurprise(
  before: Throttle | null,
  fromMs: number,
  nowMs: number,
  windowMs: number,
): Throttle {
  const long = repeatedWindows * windowMs;
  // Another 429 during a throttle says nothing new about bursts, so it does not make the throttle
  // longer.
  const lengthMs =
    before === null || nowMs >= before.untilMs + Math.max(before.lengthMs, long)
      ? windowMs
      : nowMs < before.untilMs
        ? before.lengthMs
        : Math.min(longestWindows * windowMs, Math.max(long, before.lengthMs * 2));
  return { untilMs: fromMs + lengthMs, lengthMs };
}

export function isThrottled(throttle: Throttle | null, nowMs: number): throttle is Throttle {
  return throttle !== null && nowMs < throttle.untilMs;
}

/** How long a throttled key waits from the start of one call to the start of the next, in ms. */
export function throttledDistanceMs(capacity: number, windowMs: number): number {
  return windowMs / (capacity * share);
}
