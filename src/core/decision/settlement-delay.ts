/** When the quiet time of a doubt is over: for people, and on the machine's own clock if that is known. */
export interface QuietEnd {
  readonly doubtUntilMs: number | null;
  /** Comparable with `monoMs` now; null when it is of another run of the machine. */
  readonly doubtUntilMono: number | null;
}

/**
 * How long nothing may yet be concluded from a refusal or an absence, in ms. By the monotonic clock wherever that is
 * known: were the wall clock set forward, an absence would be believed while the call may still arrive.
 */
export function quietLeftMs(end: QuietEnd, now: { readonly wallMs: number; readonly monoMs: number }): number {
  if (end.doubtUntilMs === null) return 0;
  const left = end.doubtUntilMono === null ? end.doubtUntilMs - now.wallMs : end.doubtUntilMono - now.monoMs;
  return Math.max(0, left);
}
