/** When the quiet time of a doubt is over: for people, and on the machine's own clock if that is known. */
export interface SettlementDelayEnd {
  readonly settlementDelayEndMs: number | null;
  /** Comparable with `monoMs` now; null when it is of another run of the machine. */
  readonly settlementDelayEndMono: number | null;
}

/**
 * How long nothing may yet be concluded from a refusal or an absence, in ms. By the monotonic clock wherever that is
 * known: were the wall clock set forward, an absence would be believed while the call may still arrive.
 */
export function settlementDelayLeftMs(
  end: SettlementDelayEnd,
  now: { readonly wallMs: number; readonly monoMs: number },
): number {
  if (end.settlementDelayEndMs === null) return 0;
  const left =
    end.settlementDelayEndMono === null
      ? end.settlementDelayEndMs - now.wallMs
      : end.settlementDelayEndMono - now.monoMs;
  return Math.max(0, left);
}
