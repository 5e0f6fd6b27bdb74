import type { z } from 'zod';
import { count, durationMs, live, section } from '../../core/settings/schema-values.ts';

export const submitSection = section('How orders are sent.', {
  concurrency: count(1, 100)
    .optional()
    // `config` sets it.
    .transform((given) => given ?? 8)
    .describe(
      'How many calls may be in flight or have an unknown outcome. Default: 8, and 4 more for each further key.',
    )
    .meta(live),
  in_flight_window_ms: durationMs(0, 86_400_000)
    .default(120_000)
    .describe(
      'The time after an ambiguous call in which a rejection or a missing order proves nothing.',
    ),
  reference_expiry_ms: durationMs(1, 2_592_000_000)
    .default(86_400_000)
    .describe(
      'How long after its first call a reference may be sent again. After that the entry needs review.',
    ),
});

/**
 * How long calls under way may take to finish when the worker stops. Then they are aborted, and
 * looked up at the next start.
 */
export const stopGraceMs = 6500;

/**
 * How long an accepted order may wait for its units, and how often a cancel is sent while the API
 * cannot check the eSIM.
 */
export const defaultSubmitLimits = { placedDeadlineMs: 86_400_000, cancelTries: 3 } as const;

export type SubmitSettings = z.output<typeof submitSection> & {
  readonly [Limit in keyof typeof defaultSubmitLimits]: number;
} & {
  /** Entries with an unknown outcome. While there are this many, nothing new is bought. */
  readonly maxUnknownOutcomes: number;
  readonly retryTimeScale: number;
};

/** The budget of each key, as the server counts it (Spec 8). */
export interface BudgetLimits {
  readonly windowMs: number;
  readonly requests: number;
  /** Spending calls. They count as requests, too. */
  readonly orders: number;
  /** How long a call that the worker gave up can still reach the server. */
  readonly transitMs: number;
}

/** With less free space on the disk of the outbox nothing is sent, unless configured otherwise. */
export const usualSendingReserveBytes = 100 * 1024 * 1024;
