/**
 * The worker's time. `wallMs` is for due times and for people; `monoMs` never jumps and is for the
 * budget and for deadlines. Values of `monoMs` can be compared, also across restarts of the
 * process, while `bootId` is the same; it is undefined where the platform has none.
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

/** `2026-11-21 12:00:01Z`: a time for people, in UTC like the log. */
export function shortTime(iso: string): string {
  return iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

/** `3 h 20 min`: a duration for people, in its two largest units. */
export function shortDuration(ms: number): string {
  const units: readonly [string, number][] = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ];
  const first = units.findIndex(([, size]) => ms >= size);
  if (first === -1) return '0 s';
  let rest = ms;
  const parts: string[] = [];
  for (const [name, size] of units.slice(first, first + 2)) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${name}`);
    rest %= size;
  }
  return parts.join(' ');
}
