/**
 * Time as the worker sees it. `wallMs` is for people and due times; `monoMs` never jumps and is for the budget and
 * for deadlines. `bootId` names the run of the machine in which `monoMs` values can be compared with each other,
 * across restarts of this process; undefined when the platform cannot tell.
 */
export interface Clock {
  /** Milliseconds since 1970, UTC; may jump. */
  wallMs(): number;
  /** Milliseconds on a clock that only goes forward at its own pace. */
  monoMs(): number;
  readonly bootId: string | undefined;
  /** Resolves after `ms` milliseconds, or at once when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A source of random numbers in [0, 1); injected, so that a simulation can repeat itself. */
export type Random = () => number;

/** UTC, ISO 8601, with milliseconds: the only form of time that is stored or shown. */
export function isoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
