import type { PauseKind } from './decision-table.ts';
import type { EntryState } from '../entry/states.ts';
import type { Replacement } from '../entry/replacement.ts';
import type { RecoveryStage } from './recovery-stage.ts';
import type { OrderAnswer } from './order-answer.ts';
import type { OrderRules } from '../order/order-request.ts';
import type { Purchase } from '../order/purchase.ts';
import { isOutcomeRow, type OutcomeRow } from './outcome.ts';

/** What is known about an entry when the end of an attempt is judged. */
export interface EntryFacts extends Pick<Purchase, 'operation' | 'iccid' | 'quantity' | 'currency'> {
  readonly state: EntryState;
  readonly generation: number;
  readonly part: number;
  readonly rules: OrderRules;
  /** The most of this variant that one order may hold, if a refusal has told. */
  readonly knownLimit: number | null;
  readonly outcomeUnknown: boolean;
  readonly recoveryStage: RecoveryStage;
  /** When an answer may be believed again that an ambiguous attempt put in question. */
  readonly settlementDelayEndMs: number | null;
  /** How long it is until then, by a clock that does not jump; 0 when nothing is in question. */
  readonly settlementDelayLeftMs: number;
  /** The buffered refusal, if the last definite answer came while in doubt. */
  readonly buffered: { row: OutcomeRow; code: string | null; message: string } | null;
  /** How the last attempt ended, and how many tries in a row were of that kind. */
  readonly lastRow: OutcomeRow | null;
  readonly tries: number;
  /** How many lookups in a row found nothing where that would have ended it. */
  readonly absences: number;
  readonly firstSentAtMs: number | null;
  readonly notAfterMs: number | null;
  readonly createdAtMs: number;
}

export interface DecisionPolicy {
  /** How long after an ambiguous attempt the API may still process it (Spec is silent; default 120 s). */
  readonly settlementDelayMs: number;
  /** After this long since the first send the same reference is not sent again by itself: a person decides. */
  readonly referenceExpiryMs: number;
  /** How long an accepted order may wait for its units before a person looks at it. */
  readonly placedDeadlineMs: number;
  /** How often a cancel is repeated while the eSIM's state could not be checked. */
  readonly cancelTries: number;
  /** How often an entry is tried again after a mistake of our own. */
  readonly defectTries: number;
  /** How many lookups in a row must find nothing before that ends an entry: one answer may be a mix-up on the way. */
  readonly absenceTries: number;
  /** Stretches or shrinks every retry delay; 1 in production. */
  readonly retryTimeScale: number;
  /** Whether an order can be looked up by its reference (not shown in the spec: configurable). */
  readonly canLookUp: boolean;
  /**
   * Whether a lookup of this family has ever found an order here. Until then "not found" may as well mean that the
   * configured path is not the API's, and must not settle a doubt.
   */
  readonly trustsAbsence: boolean;
}

/** What no deployment has a reason to change. */
export const usualTries = { defectTries: 3, absenceTries: 3 } as const;

/** What becomes of an entry. The store writes it as it stands. */
export interface Settlement {
  readonly state: EntryState;
  readonly nextStep: 'send' | 'lookup';
  readonly dueAtMs: number;
  readonly outcomeUnknown: boolean;
  readonly settlementDelayEndMs: number | null;
  /** How long from now on nothing may be concluded, when that time begins with this; null when it goes on as it was. */
  readonly settlementDelayMs: number | null;
  readonly recoveryStage: RecoveryStage;
  /** The position in the retry schedule after this. */
  readonly tries: number;
  readonly absences: number;
  /** Whether the attempt counts; a call that never left, or was turned away at the door, does not. */
  readonly counted: boolean;
  readonly row: OutcomeRow;
  readonly error: { code: string; message: string; buffered: boolean } | null;
  readonly reviewReason: string | null;
  readonly answer: OrderAnswer | null;
  readonly pause: { kind: PauseKind; reason: OutcomeRow; message: string } | null;
  /** Entries that take the place of this one; inserted in the same transaction, before any of them is sent. */
  readonly replacements: readonly Replacement[];
}

/** Reads a stored outcome row back; null for a value that this version does not know. */
export function outcomeRowFrom(value: string | null): OutcomeRow | null {
  return value !== null && isOutcomeRow(value) ? value : null;
}
