/**
 * When an in-flight window ends: by the wall clock, and by the monotonic clock if that is known.
 */
interface InFlightWindowEnd {
  readonly inFlightWindowEndMs: number | null;
  /**
   * Null when it was recorded before the machine was restarted: then the monotonic clock cannot be
   * compared.
   */
  readonly inFlightWindowEndMono: number | null;
}

/**
 * How long the in-flight window still is, in ms: until then no rejection and no absence proves
 * anything. By the monotonic clock if possible: if the wall clock were set forward, an absence
 * would be believed while the call may still arrive.
 */
export function inFlightWindowLeftMs(
  end: InFlightWindowEnd,
  now: { readonly wallMs: number; readonly monoMs: number },
): number {
  if (end.inFlightWindowEndMs === null) return 0;
  const left =
    end.inFlightWindowEndMono === null
      ? end.inFlightWindowEndMs - now.wallMs
      : end.inFlightWindowEndMono - now.monoMs;
  return Math.max(0, left);
}
