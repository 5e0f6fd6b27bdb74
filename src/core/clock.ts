/**
 * The worker's time. `wallMs` is for due times and for people; `monoMs` never jumps and is for the budget and for
 * deadlines. Values of `monoMs` can be compared, also across restarts of the process, while `bootId` is the same; it is
 * undefined where the platform has none.
 */
export interface Clock {
  /** Milliseconds since 1970, UTC; may jump. */
  wallMs(): number;
  /** Milliseconds on a clock that only runs forward and is never set. */
  monoMs(): number;
  readonly bootId: string | undefined;
  /** Resolves after `ms` milliseconds, or when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Returns random numbers in [0, 1). Injected, because the simulation repeats its runs. */
export type Random = () => number;

/** UTC, ISO 8601, with milliseconds: the form in which times are shown. */
export function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
