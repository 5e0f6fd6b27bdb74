import type { RecoveryStage } from '../entry/states.ts';

/** What decides whether the reference of an entry in doubt may be sent again at this moment. */
export interface ResendFacts {
  readonly notAfterMs: number | null;
  readonly firstSentAtMs: number | null;
  readonly recoveryStage: RecoveryStage;
  /** Whether an outbox that was lost may have bought it under another reference. */
  readonly mayBeElsewhere: boolean;
  /** Whether the API can be asked what became of it. */
  readonly canLookUp: boolean;
}

export type ResendVerdict =
  | { readonly step: 'send' }
  /** Not any more, but a lookup may still settle it. */
  | { readonly step: 'lookup' }
  | { readonly step: 'review'; readonly reason: string };

export const isOverdue = (facts: { readonly notAfterMs: number | null }, nowMs: number): boolean =>
  facts.notAfterMs !== null && nowMs >= facts.notAfterMs;

export const overdueOutcomeUnknown =
  'its deadline passed while it was in doubt, and it cannot be looked up: the same reference again could buy it late';
export const boughtElsewhere =
  'the outbox was lost, its order may have been charged to another balance or bought in parts, and it cannot be looked up';
export const tooOld =
  'nobody knows whether its reference is still remembered, so it is not sent again, and it cannot be looked up';

/**
 * Judged when the call is about to be made, and not only when the next step was chosen: between the two a pause, a full
 * disk or a worker that stood still may lie. After the deadline the same reference would buy late what never arrived;
 * past the horizon it might buy a second time what the API has forgotten.
 */
export function judgeResend(
  facts: ResendFacts,
  policy: { readonly referenceExpiryMs: number },
  nowMs: number,
): ResendVerdict {
  const late = isOverdue(facts, nowMs);
  const old = facts.firstSentAtMs !== null && nowMs - facts.firstSentAtMs >= policy.referenceExpiryMs;
  const unasked = facts.recoveryStage === 'own_reference' && facts.canLookUp;
  // Its own reference would be new to the API, and buy it a second time.
  const elsewhere = facts.recoveryStage === 'own_reference' && facts.mayBeElsewhere;
  if (!late && !old && !unasked && !elsewhere) return { step: 'send' };
  if (facts.canLookUp) return { step: 'lookup' };
  return { step: 'review', reason: late ? overdueOutcomeUnknown : elsewhere ? boughtElsewhere : tooOld };
}
