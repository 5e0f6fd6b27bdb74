import { outcomeKnown } from '../../core/entry/may-be-bought.ts';
import type { Random } from '../../core/clock.ts';
import type { RejectedEntry, Replacement } from '../../core/entry/replacement.ts';
import type { EntryState } from '../../core/entry/states.ts';
import { deliversUnits, type Purchase } from '../../core/order/purchase.ts';
import {
  judgeUnits,
  type OrderOfUnits,
  type UnitsVerdict,
  withDelivered,
} from '../../core/answers/units.ts';
import { decisionTable, type Column, type PauseKind } from './decision-table.ts';
import { unreadText, type OrderAnswer, type Unit } from '../../core/answers/order-answer.ts';
import type { Outcome, OutcomeRow } from '../../core/answers/outcome.ts';
import { retryDelayMs, type ScheduleName } from './retry-schedule.ts';

/** The facts about an entry when the end of one of its attempts is judged. All times are steady. */
export interface EntryFacts extends RejectedEntry, OrderOfUnits, Pick<Purchase, 'iccid'> {
  /** The units that earlier answers delivered. */
  readonly units: readonly Unit[];
  readonly state: EntryState;
  readonly outcomeUnknown: boolean;
  /** When the in-flight window of the last ambiguous attempt ends; null when there is none. */
  readonly inFlightWindowEndMs: number | null;
  /** How long that still is; 0 when it is over. */
  readonly inFlightWindowLeftMs: number;
  /**
   * A rejection that an earlier call may have caused: only a lookup tells whether it is to be
   * believed.
   */
  readonly buffered: { row: OutcomeRow; code: string | null; message: string } | null;
  /** `buffered` is why it was cancelled: that counts once lookups have not found it. */
  readonly isEnding: boolean;
  /** The order of the eSIM of a cancel shows that it is in use. */
  readonly isEsimUsed?: boolean;
  /** How the last attempt ended, and how many tries in a row ended like that. */
  readonly lastRow: OutcomeRow | null;
  readonly tries: number;
  /** Attempts that count, before this one. */
  readonly attempts: number;
  /** How many lookups in a row found nothing where that would have ended the entry. */
  readonly absences: number;
  /** See `isReplacementSought`. */
  readonly askedAfterLoss: 0 | 1 | null;
  readonly firstSentAtMs: number | null;
  readonly notAfterMs: number | null;
  readonly createdAtMs: number;
}

export interface DecisionPolicy {
  /**
   * How long after an ambiguous attempt the API may still process it (the spec is silent; default
   * 120 s).
   */
  readonly inFlightWindowMs: number;
  /**
   * After this long since the first send the worker does not send the same reference again: an
   * operator decides.
   */
  readonly referenceExpiryMs: number;
  /** How long an accepted order may wait for its units before it needs review. */
  readonly placedDeadlineMs: number;
  /** How often a cancel is tried while the API cannot check the state of the eSIM. */
  readonly cancelTries: number;
  /** How often an entry is tried when the worker itself fails to send it. */
  readonly defectTries: number;
  /**
   * How many lookups in a row must find nothing before that ends an entry: one answer may be a
   * mix-up.
   */
  readonly absenceTries: number;
  /** Multiplies every retry delay; 1 in production. */
  readonly retryTimeScale: number;
  /** Whether this entry can be looked up by a reference (not shown in the spec: configurable). */
  readonly canLookUp: boolean;
  /**
   * Whether an accepted order of this entry, with this number, can be read for its units in another
   * way.
   */
  readonly canReadAccepted?: (orderNumber: string | null) => boolean;
  /**
   * Whether a lookup of this kind has ever found an order. Until then "not found" may also mean
   * that the configured path is wrong, and proves nothing.
   */
  readonly lookupsProven: boolean;
  /** Whether a scope of this entry is paused, so that it is not sent again now. */
  readonly isPaused: boolean;
  /**
   * Whether the key that sent it is of another account: only what is proven absent there may be
   * sent with another key.
   */
  readonly isSenderStopped?: boolean;
}

/** Constants that no deployment has a reason to change. */
export const usualTries = { defectTries: 3, absenceTries: 3 } as const;

/** The change of an entry after an attempt. The store writes it as it is. */
export interface Settlement {
  readonly state: EntryState;
  readonly nextStep: 'send' | 'lookup';
  readonly dueAtMs: number;
  readonly outcomeUnknown: boolean;
  readonly inFlightWindowEndMs: number | null;
  readonly askedAfterLoss: 0 | 1 | null;
  /** The position in the retry schedule after this attempt. */
  readonly tries: number;
  readonly absences: number;
  /**
   * Whether the attempt counts; a call that never left, or that the API did not look at, does not.
   */
  readonly counted: boolean;
  readonly row: OutcomeRow;
  readonly error: { code: string; message: string; buffered: boolean } | null;
  readonly reviewReason: string | null;
  readonly answer: OrderAnswer | null;
  readonly pause: { kind: PauseKind; reason: OutcomeRow; message: string } | null;
  /**
   * Entries that take the place of this one; inserted in the same transaction, before any of them
   * is sent.
   */
  readonly replacements: readonly Replacement[];
}

/** Everything that a decision is made from, in steady time. */
export interface DecisionInput {
  readonly facts: EntryFacts;
  readonly policy: DecisionPolicy;
  readonly nowMs: number;
  readonly random: Random;
}

/** When the next try of a schedule is due, after so many tries. */
export function nextTryAtMs(
  { policy, nowMs, random }: DecisionInput,
  schedule: ScheduleName,
  tries: number,
): number {
  return nowMs + retryDelayMs(schedule, tries, policy.retryTimeScale, random);
}

/** The entry as it is, due now. Every other settlement is this one with changes. */
export function unchanged({ facts, nowMs }: DecisionInput, row: OutcomeRow): Settlement {
  return {
    state: facts.state,
    nextStep: 'send',
    dueAtMs: nowMs,
    outcomeUnknown: facts.outcomeUnknown,
    inFlightWindowEndMs: facts.inFlightWindowEndMs,
    askedAfterLoss: facts.askedAfterLoss,
    tries: facts.tries,
    absences: 0,
    counted: true,
    row,
    error: null,
    reviewReason: null,
    answer: null,
    pause: null,
    replacements: [],
  };
}

export function inFlightWindowFromNow({
  policy,
  nowMs,
}: DecisionInput): Pick<Settlement, 'inFlightWindowEndMs'> {
  return { inFlightWindowEndMs: nowMs + policy.inFlightWindowMs };
}

/** Flags the entry for review; whether its outcome is unknown stays as it was. */
export function flagForReview(
  input: DecisionInput,
  row: OutcomeRow,
  reviewReason: string,
): Settlement {
  return { ...unchanged(input, row), state: 'needs_review', reviewReason };
}

/** Flags for review an entry that may have been bought. */
export function flagUnknown(input: DecisionInput, row: OutcomeRow, reason: string): Settlement {
  return { ...flagForReview(input, row, reason), outcomeUnknown: true };
}

export function errorOf(
  outcome: Pick<Outcome, 'code' | 'row' | 'message'>,
  buffered = false,
): Settlement['error'] {
  return { code: outcome.code ?? outcome.row, message: outcome.message, buffered };
}

/**
 * The code of an answer that shows other goods, but no other reference: nothing says that it was
 * swapped.
 */
export const otherGoods = 'other_goods';

/** The key or account that an outcome says is denied; null when it denies neither. */
export function denialOf({ row, message }: Outcome, column: Column = 'clean'): Settlement['pause'] {
  const kind = decisionTable[row][column].pause;
  return kind === 'key' || kind === 'account' ? { kind, reason: row, message } : null;
}

/** Looks the entry up again now. The buffered rejection stays. */
export function lookUpAgain(input: DecisionInput, row: OutcomeRow): Settlement {
  const { buffered } = input.facts;
  const error = buffered && errorOf(buffered, true);
  return { ...unchanged(input, buffered?.row ?? row), nextStep: 'lookup', counted: false, error };
}

/** Looks the entry up again when its in-flight window ends; null when it is over. */
export function lookUpAfterDelay(input: DecisionInput, row: OutcomeRow): Settlement | null {
  const { inFlightWindowLeftMs } = input.facts;
  if (inFlightWindowLeftMs === 0) return null;
  return { ...lookUpAgain(input, row), dueAtMs: input.nowMs + inFlightWindowLeftMs };
}

/**
 * Believes the answer to an order: the next step depends on the delivered units. Only units that
 * can be believed are kept (`judgeUnits`).
 */
export function settleByAnswer(input: DecisionInput, shown: OrderAnswer): Settlement {
  const { facts, policy } = input;
  const verdict = deliversUnits(facts.operation)
    ? judgeUnits(shown.units, { ...facts, orderNumber: shown.orderNumber ?? facts.orderNumber })
    : null;
  const answer = verdict === null ? shown : { ...shown, units: verdict.units };
  const done = { ...unchanged(input, 'accepted'), ...outcomeKnown, answer };
  const needsReview = (reason: string): Settlement => {
    const reviewReason = [reason, unreadText(answer) ?? []].flat().join('; ');
    return { ...done, state: 'needs_review', reviewReason };
  };
  if (facts.operation === 'esim_cancel')
    return answer.statusClass === 'failed' && !/^cancel/i.test(answer.status ?? '')
      ? needsReview(`the API accepted the cancel, but its status is "${answer.status}"`)
      : { ...done, state: 'fulfilled' };
  // Spec 7: such a response is a success; the money is back in the balance.
  if (answer.statusClass === 'refunded') return { ...done, state: 'refunded' };
  if (answer.statusClass === 'failed')
    return needsReview(`the API accepted the order, but its status is "${answer.status}"`);
  const problem = verdict === null ? null : problemOf(facts, verdict, answer);
  if (problem !== null) return needsReview(problem);
  // A word such as "processing" means that codes may still change: believable or not, they are not
  // delivered yet.
  const isComplete =
    (verdict === null || verdict.kind === 'complete') && answer.statusClass !== 'pending';
  // A code may be in a field that was not read: nothing is delivered that may be false.
  if (isComplete && verdict !== null && unreadText(answer) !== null)
    return needsReview(unreadReason);
  if (isComplete && isUnknownWord(answer))
    return needsReview(
      `bought, but not delivered: the status is "${answer.status}", which \`wholesale.wire.answer.status_words\` does not list`,
    );
  if (isComplete) return { ...done, state: 'fulfilled' };
  const number = answer.orderNumber ?? facts.orderNumber;
  if (!policy.canLookUp && policy.canReadAccepted?.(number) !== true)
    return needsReview(
      verdict?.kind === 'complete'
        ? `accepted with all units, but its status is "${answer.status}", and orders cannot be looked up`
        : 'accepted without all units, and orders cannot be looked up',
    );
  const dueAtMs = nextTryAtMs(input, 'standard', 0);
  // A lookup may not show at once what was just accepted. Until the delay is over, its absence says
  // nothing.
  return {
    ...done,
    state: 'placed',
    nextStep: 'lookup',
    tries: 0,
    dueAtMs,
    ...inFlightWindowFromNow(input),
  };
}

/** A word may say `reversed`. An HTTP status that is repeated in the body says nothing. */
const isUnknownWord = ({ status, statusClass }: OrderAnswer): boolean =>
  status !== null && statusClass === 'none' && !/^(ok|true|20\d)$/i.test(status.trim());

const unreadReason =
  'bought, but not delivered until each field is read by `wholesale.wire` or listed in `wholesale.wire.ignored`';

/** Why an operator must look at the units, without any code; null when nobody must. */
function problemOf(
  facts: EntryFacts,
  { kind, units, shown, different }: UnitsVerdict,
  answer: OrderAnswer,
): string | null {
  const ordered = facts.quantity ?? 1;
  if (kind === 'more')
    return `the API shows ${different} units, but ${ordered} ${ordered === 1 ? 'was' : 'were'} ordered`;
  // While the order is in progress, its units may still change.
  if (answer.statusClass === 'pending') return null;
  if (kind === 'repeated')
    return `the API shows a unit more than once: ${shown} units, ${different} different`;
  if (kind !== 'complete') return null;
  const known = withDelivered(units, facts.units).length;
  return known > ordered
    ? `the API has shown ${known} different units in several answers, but ${ordered} ${ordered === 1 ? 'was' : 'were'} ordered`
    : null;
}

/**
 * Replaces a settlement by a review when the outcome is still unknown at the reference expiry: the
 * spec does not say how long the API remembers a reference, so the worker must not repeat it for
 * ever. A pause stays, and so does the delay in which an operator cannot yet say that nothing was
 * bought.
 * @param evidence what the attempt brought, for that operator
 */
export function reviewIfExpired(
  input: DecisionInput,
  settlement: Settlement,
  evidence: Pick<Settlement, 'error' | 'answer'> = { error: null, answer: null },
): Settlement {
  const { facts, policy, nowMs } = input;
  // After a loss of the outbox nobody knows when it was sent first; the order came in again at
  // `createdAtMs`.
  const sinceMs = facts.firstSentAtMs ?? (facts.askedAfterLoss === null ? null : facts.createdAtMs);
  const isExpired = sinceMs !== null && nowMs - sinceMs >= policy.referenceExpiryMs;
  // A refusal that is being confirmed has no unknown outcome.
  if (settlement.state !== 'unknown' || !settlement.outcomeUnknown || !isExpired) return settlement;
  const { row, pause, inFlightWindowEndMs } = settlement;
  const reason = 'the outcome was still unknown when the reference became too old to be sent again';
  return {
    ...flagUnknown(input, row, reason),
    ...evidence,
    pause,
    inFlightWindowEndMs,
  };
}
