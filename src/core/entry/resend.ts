/**
 * The facts that decide whether an entry with an unknown outcome may be sent again now, under the
 * same reference.
 */
export interface ResendFacts {
  readonly notAfterMs: number | null;
  readonly firstSentAtMs: number | null;
  /** See `isReplacementSought`. */
  readonly askedAfterLoss: 0 | 1 | null;
  /** Whether rules may have bought it under another reference. */
  readonly mayBeElsewhere: boolean;
  /** Whether a lookup can tell what became of it. */
  readonly canLookUp: boolean;
  /** It was cancelled, and ends once lookups have not found it. */
  readonly isEnding: boolean;
}

type ResendVerdict =
  | { readonly step: 'send' }
  /** It must not be sent again, but a lookup may settle it. */
  | { readonly step: 'lookup' }
  | { readonly step: 'review'; readonly reason: string };

export const isOverdue = (facts: { readonly notAfterMs: number | null }, nowMs: number): boolean =>
  facts.notAfterMs !== null && nowMs >= facts.notAfterMs;

const overdueReason =
  'the deadline passed while the outcome was unknown, and the order cannot be looked up: if it is sent again, it may be bought too late';
const elsewhereReason =
  'the outbox was lost, and the line was perhaps charged to another balance or bought in parts; the order cannot be looked up';
const endingReason =
  'the line was cancelled after a call was sent, and cannot be looked up: was it bought?';
const expiredReason =
  'the API has perhaps forgotten the reference, so the line is not sent again; the order cannot be looked up';

/**
 * Decides this when the call is about to be made: since the next step was chosen, a pause or a full
 * disk may have passed. After the deadline the same reference could buy late what never arrived.
 * After the reference expiry it could buy a second time what the API has forgotten.
 */
export function judgeResend(
  facts: ResendFacts,
  policy: { readonly referenceExpiryMs: number },
  nowMs: number,
): ResendVerdict {
  const isLate = isOverdue(facts, nowMs);
  const isExpired =
    facts.firstSentAtMs !== null && nowMs - facts.firstSentAtMs >= policy.referenceExpiryMs;
  // If it was bought elsewhere, its own reference is new to the API, which would sell it a second time.
  const isUnasked = facts.askedAfterLoss === 0 && (facts.canLookUp || facts.mayBeElsewhere);
  if (!isLate && !isExpired && !isUnasked && !facts.isEnding) return { step: 'send' };
  if (facts.canLookUp) return { step: 'lookup' };
  if (facts.isEnding) return { step: 'review', reason: endingReason };
  return {
    step: 'review',
    reason: isLate ? overdueReason : isExpired ? expiredReason : elsewhereReason,
  };
}
