/**
 * Throttles a key after a 429 that its own budget does not explain: the server counts in another way than a sliding window of
 * arrivals (it approximates, or counts rejected calls too), or somebody else uses the key. Then the calls of a limit keep an
 * even distance, at nine tenths of the rate, because the server would answer every burst with another 429.
 *
 * The throttle ends by itself. If that leads to another 429, the next one lasts longer. Times are milliseconds of the monotonic
 * clock. Pure: it reads no clock.
 */
export interface Throttle {
  readonly untilMs: number;
  readonly lengthMs: number;
}

const share = 0.9;
const firstLengthWindows = 15;
const longestLengthWindows = 24 * 60;

/** The throttle after an unexpected 429: twice as long as the last one, unless that ended longer ago than it lasted. */
export function throttleAfterSurprise(before: Throttle | null, nowMs: number, windowMs: number): Throttle {
  const first = firstLengthWindows * windowMs;
  const longest = longestLengthWindows * windowMs;
  const repeated = before !== null && nowMs < before.untilMs + before.lengthMs;
  // Another 429 during a throttle says nothing new about bursts, so it does not make the throttle longer.
  const during = before !== null && nowMs < before.untilMs;
  const lengthMs = during ? before.lengthMs : repeated ? Math.min(longest, before.lengthMs * 2) : first;
  return { untilMs: nowMs + lengthMs, lengthMs };
}

export function isThrottled(throttle: Throttle | null, nowMs: number): throttle is Throttle {
  return throttle !== null && nowMs < throttle.untilMs;
}

/** How long a throttled key waits from the start of one call to the start of the next, in ms. */
export function throttledDistanceMs(capacity: number, windowMs: number): number {
  return windowMs / (capacity * share);
}
