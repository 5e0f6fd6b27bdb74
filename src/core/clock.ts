/**
 * The worker's time. `wallMs` is what people, shops and the API see. `steadyMs` is what every wait
 * is counted by: what is due, windows, slots, back-offs, pauses.
 */
export interface Clock {
  /** Milliseconds since 1970, UTC; may jump. */
  wallMs(): number;
  /** Milliseconds on a clock that only runs forward and is never set. */
  steadyMs(): number;
  /** Resolves after `ms` milliseconds, or when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clock of a machine: its steady time begins with each start of the machine. */
export interface MachineClock extends Clock {
  /** Names the present run of the machine; undefined where the platform does not. */
  readonly bootId: string | undefined;
}

export interface TimeMark {
  readonly steadyMs: number;
  readonly wallMs: number;
  /** The steady time of the machine itself, in the run that `bootId` names; null: not known. */
  readonly machineMs: number;
  readonly bootId: string | null;
}

/** A wall time in steady time, by what both clocks show. */
export const steadyOf = (
  wallMs: number | null,
  now: Pick<TimeMark, 'wallMs' | 'steadyMs'>,
): number | null => (wallMs === null ? null : wallMs - now.wallMs + now.steadyMs);

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
