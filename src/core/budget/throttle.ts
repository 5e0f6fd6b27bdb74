/**
 * What a key does after a 429 that its own budget cannot explain: the server counts otherwise than a sliding window of
 * arrivals (it approximates, or counts refused calls too), or somebody else uses the key. Then calls of a limit keep an
 * even distance at nine tenths of the rate, because every burst, however lawful, would be turned away again.
 *
 * The state lasts for a while and then ends by itself; when that leads to another 429, it lasts longer. Times are
 * milliseconds of the monotonic clock. Pure: it reads no clock.
 */
export interface Throttle {
  /** Until when calls are spread out. */
  readonly untilMs: number;
  /** How long it lasts this time. */
  readonly lengthMs: number;
}

const share = 0.9;
const firstLengthWindows = 15;
const longestLengthWindows = 24 * 60;

/** The state after a surprise: twice as long as the last time, if that has not been over for as long as it lasted. */
export function throttleAfterSurprise(before: Throttle | null, nowMs: number, windowMs: number): Throttle {
  const first = firstLengthWindows * windowMs;
  const longest = longestLengthWindows * windowMs;
  const repeated = before !== null && nowMs < before.untilMs + before.lengthMs;
  // A second 429 while already spread out says nothing new about bursts: it does not lengthen the stay by itself.
  const during = before !== null && nowMs < before.untilMs;
  const lengthMs = during ? before.lengthMs : repeated ? Math.min(longest, before.lengthMs * 2) : first;
  return { untilMs: nowMs + lengthMs, lengthMs };
}

export function isThrottled(pacing: Throttle | null, nowMs: number): pacing is Throttle {
  return pacing !== null && nowMs < pacing.untilMs;
}

/** The distance that spread-out calls keep, from the end of one to the start of the next, in ms. */
export function throttledDistanceMs(capacity: number, windowMs: number): number {
  return windowMs / (capacity * share);
}
