import type { DecisionPolicy } from '../core/decision/settlement.ts';

/** How orders are sent. */
export interface SubmitSettings
  extends Pick<
    DecisionPolicy,
    'settlementDelayMs' | 'referenceExpiryMs' | 'placedDeadlineMs' | 'cancelTries' | 'retryTimeScale'
  > {
  /** Calls under way at once. */
  readonly concurrency: number;
  /** Entries with an unknown outcome. While there are this many, nothing new is bought. */
  readonly maxUnknownOutcomes: number;
}

/** The budget of each key, as the server counts it (Spec 8). */
export interface BudgetLimits {
  readonly windowMs: number;
  readonly requests: number;
  /** Spending calls. They count as requests, too. */
  readonly orders: number;
  /** How long the server may still receive a call that the worker has aborted. */
  readonly transitMs: number;
}

/** With less free space on the disk of the outbox nothing is sent, unless configured otherwise. */
export const usualSendingReserveBytes = 100 * 1024 * 1024;

/** How long an accepted order may wait for its units, and how often a cancel is sent while the API cannot check the eSIM. */
export const defaultSubmitLimits = { placedDeadlineMs: 86_400_000, cancelTries: 3 } as const;
