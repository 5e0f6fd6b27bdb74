/** When a settlement delay ends: by the wall clock, and by the monotonic clock if that is known. */
interface SettlementDelayEnd {
  readonly settlementDelayEndMs: number | null;
  /** Null when it was recorded before the machine was restarted: then the monotonic clock cannot be compared. */
  readonly settlementDelayEndMono: number | null;
}

/**
 * How long the settlement delay still is, in ms: until then no rejection and no absence proves anything. By the monotonic
 * clock if possible: if the wall clock were set forward, an absence would be believed while the call may still arrive.
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
