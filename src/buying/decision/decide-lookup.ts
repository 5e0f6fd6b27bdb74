import { isReplacementSought, mayBeElsewhere, mayBeInParts } from '../../core/entry/after-loss.ts';
import { outcomeKnown } from '../../core/entry/may-be-bought.ts';
import type { Random } from '../../core/clock.ts';
import { applyCell, endOf, refusalInReview } from './decide-submission.ts';
import { columnFor, decisionTable } from './decision-table.ts';
import { foreignText, unreadText, type OrderAnswer } from '../../core/answers/order-answer.ts';
import { withoutAnswer, type LookupOutcome, type Outcome } from '../../core/answers/outcome.ts';
import { assert } from '../../core/order-sync-error.ts';
import { isOverdue } from '../../core/entry/resend.ts';
import {
  denialOf,
  lookUpAfterDelay,
  lookUpAgain,
  nextTryAtMs,
  flagForReview,
  reviewIfExpired,
  flagUnknown,
  otherGoods,
  settleByAnswer,
  unchanged,
  type DecisionInput,
  type DecisionPolicy,
  type EntryFacts,
  type Settlement,
} from './settlement.ts';

/**
 * Decides what happens to an entry after a lookup: its outcome is unknown, or it was accepted and
 * waits for its units.
 */
export function decideLookup(
  facts: EntryFacts,
  lookup: LookupOutcome,
  policy: DecisionPolicy,
  nowMs: number,
  random: Random,
): Settlement {
  const input = { facts, policy, nowMs, random };
  return reviewIfExpired(input, settlementOf(input, lookup));
}

function settlementOf(input: DecisionInput, lookup: LookupOutcome): Settlement {
  switch (lookup.kind) {
    case 'found':
      return orderFound(input, lookup);
    case 'absent':
      return notFound(input);
    case 'failed':
      return lookupFailed(input, lookup.outcome);
  }
}

function orderFound(input: DecisionInput, found: LookupOutcome & { kind: 'found' }): Settlement {
  const { facts } = input;
  const { answer, differs = null, repeatsGoods = false } = found;
  if (facts.operation === 'esim_cancel') return cancelFound(input, answer);
  if (isReplacementSought(facts)) {
    const number = answer.orderNumber === null ? '' : ` (${answer.orderNumber})`;
    const reason = `the outbox was lost, and an order${number} has the reference that this line would get if it was ordered again or charged to its other balance`;
    return flagUnknown(input, 'accepted', reason);
  }
  // Another purchase has this reference: nobody gets its units.
  if (differs !== null) return flagUnknown(input, 'answer_mismatch', foreignText(differs, answer));
  if (facts.buffered?.code === otherGoods && !repeatsGoods) {
    const reason = `${facts.buffered.message}; and the order that a lookup found does not show which product and quantity it is for`;
    return flagUnknown(input, 'answer_mismatch', reason);
  }
  const settled = settleByAnswer(input, answer);
  if (facts.isEnding) {
    const reason = `the line was cancelled, but a lookup found that it was bought: ${facts.buffered?.message}`;
    return { ...settled, state: 'needs_review', reviewReason: reason };
  }
  return settled.state === 'placed' && facts.state === 'placed'
    ? stillPlaced(input, settled, answer)
    : settled;
}

/** A lookup for a cancel with an unknown outcome found the order that the eSIM came from. */
function cancelFound(input: DecisionInput, answer: OrderAnswer): Settlement {
  const { facts, policy, nowMs } = input;
  const { buffered } = facts;
  if (showsCancelled(answer, facts.iccid)) {
    // The cost and the refund of the order are not those of the cancel.
    const { refund: _refund, ...order } = answer;
    return settleByAnswer(input, { ...order, units: [], cost: null });
  }
  const isEsimUsed = usedStates.test(stateOf(answer, facts.iccid) ?? '');
  if (isConfirming(facts)) return believeRefusal({ ...input, facts: { ...facts, isEsimUsed } });
  if (buffered !== null) {
    const reason = `the cancel was rejected after an ambiguous attempt, and the order's status is "${answer.status}": ${buffered.message}`;
    return flagForReview(input, buffered.row, reason);
  }
  if (isOverdue(facts, nowMs)) {
    // Some orders do not show the state of their eSIM, so the eSIM may still be cancelled.
    const reason = `the deadline passed while the outcome of the cancel was unknown, and the order's status is "${answer.status}"`;
    return lookUpAfterDelay(input, 'accepted') ?? flagUnknown(input, 'accepted', reason);
  }
  // Not cancelled so far, and repeating is safe: an eSIM is refunded once (Spec 3).
  const again = {
    ...unchanged(input, 'accepted'),
    state: 'unknown',
    counted: false,
    askedAfterLoss: 1,
  } as const;
  if (!policy.isPaused) return again;
  // It is not sent now: it is looked up, later each time.
  return {
    ...again,
    nextStep: 'lookup',
    tries: facts.tries + 1,
    dueAtMs: nextTryAtMs(input, 'standard', facts.tries),
  };
}

const stateOf = ({ units }: OrderAnswer, iccid: string | null): string | undefined =>
  units.find((unit) => unit.iccid === iccid)?.status;
/** States in which an eSIM cannot be cancelled (Spec 3), and surely was not. */
const usedStates = /^(install|topp?ed|expired)/i;

/**
 * Whether an order shows that one of its eSIMs was cancelled. The status of the eSIM itself counts;
 * the status of the order counts only where the order has no other eSIM.
 */
function showsCancelled(answer: OrderAnswer, iccid: string | null): boolean {
  const gone = /^(cancel|refund)/i;
  const status = stateOf(answer, iccid);
  if (status !== undefined) return gone.test(status);
  return (
    answer.units.length <= 1 &&
    (answer.statusClass === 'refunded' || gone.test(answer.status ?? ''))
  );
}

/** Accepted, and not all units are there yet. */
function stillPlaced(input: DecisionInput, settled: Settlement, answer: OrderAnswer): Settlement {
  const { facts } = input;
  // The in-flight window is the one of the acceptance, from which the deadline for the units is
  // counted.
  const placed = { ...settled, inFlightWindowEndMs: facts.inFlightWindowEndMs };
  if (isAcceptedTooLongAgo(input)) {
    const reasons = [
      'accepted, but the units did not come before the deadline',
      unreadText(answer) ?? [],
    ];
    return { ...placed, state: 'needs_review', reviewReason: reasons.flat().join('; ') };
  }
  return {
    ...placed,
    tries: facts.tries + 1,
    dueAtMs: nextTryAtMs(input, 'standard', facts.tries),
  };
}

/**
 * Counted from the acceptance: an order may have waited for a balance or for stock long before it.
 */
function isAcceptedTooLongAgo({ facts, policy, nowMs }: DecisionInput): boolean {
  const { inFlightWindowEndMs, firstSentAtMs, createdAtMs } = facts;
  const acceptedAtMs =
    inFlightWindowEndMs === null
      ? (firstSentAtMs ?? createdAtMs)
      : inFlightWindowEndMs - policy.inFlightWindowMs;
  return nowMs - acceptedAtMs >= policy.placedDeadlineMs;
}

/*
 * "Not found" raises three questions, which are answered one by one:
 * - Was it said often enough? One answer may be a mix-up (`notFound`).
 * - Can the API still be processing the last attempt? Until the in-flight window is over, the answer says nothing
 *   (`lookUpAfterDelay`).
 * - Do lookups work? Until one has found an order, their path may be wrong (`policy.lookupsProven`).
 */

/**
 * A lookup found nothing. An absence that ends the entry must be answered several times in a row.
 * To look the entry up or to send it again ends nothing.
 */
function notFound(input: DecisionInput): Settlement {
  const { facts, policy } = input;
  const settlement = settleNotFound(input);
  if (settlement.state === facts.state || facts.absences + 1 >= policy.absenceTries)
    return settlement;
  const dueAtMs = nextTryAtMs(input, 'standard', facts.absences);
  return { ...lookUpAgain(input, 'not_found'), absences: facts.absences + 1, dueAtMs };
}

/** Whether the lookup only confirms a refusal: no call of the entry had an unknown outcome. */
const isConfirming = ({ outcomeUnknown, buffered }: EntryFacts): boolean =>
  !outcomeUnknown && buffered !== null;

/** The settlement of the entry if "not found" was answered often enough. */
function settleNotFound(input: DecisionInput): Settlement {
  const { facts } = input;
  if (facts.state === 'placed') return acceptedNotFound(input);
  if (facts.operation === 'esim_cancel') return cancelledOrderNotFound(input);
  if (isConfirming(facts)) return neverArrived(input);
  return facts.askedAfterLoss === 0 ? absentAfterLoss(input) : unknownNotFound(input);
}

/**
 * A lost outbox may have sent it, and its own reference is absent. The entry that takes its place may
 * be bought all the same: it is looked up, too, as often as an absence must be answered.
 */
function absentAfterLoss(input: DecisionInput): Settlement {
  const { facts, policy, nowMs } = input;
  const delayed = lookUpAfterDelay(input, 'not_found');
  if (delayed !== null) return delayed;
  if (mayBeInParts(facts) || (mayBeElsewhere(facts) && !policy.lookupsProven)) {
    const reason =
      'the outbox was lost, and a lookup does not find the line: it was perhaps bought in parts or from the other balance, so look for it in the list of the supplier';
    return flagUnknown(input, 'not_found', reason);
  }
  const again = lookUpAgain(input, 'not_found');
  const { absences } = facts;
  // From now on the rules of any unknown outcome count. See `replacementOf`: two are asked for by turns.
  if (absences >= policy.absenceTries * (facts.generation > 0 ? 2 : 1))
    return { ...again, askedAfterLoss: 1 };
  const dueAtMs = absences === 0 ? nowMs : nextTryAtMs(input, 'standard', absences - 1);
  return { ...again, absences: absences + 1, dueAtMs };
}

function acceptedNotFound(input: DecisionInput): Settlement {
  const { facts } = input;
  if (facts.inFlightWindowLeftMs > 0) {
    const dueAtMs = nextTryAtMs(input, 'standard', facts.tries);
    return {
      ...unchanged(input, 'not_found'),
      nextStep: 'lookup',
      counted: false,
      tries: facts.tries + 1,
      dueAtMs,
    };
  }
  return flagUnknown(
    input,
    'not_found',
    'the API accepted the order, but a lookup does not find it',
  );
}

/**
 * The order that the eSIM came from is not found, which says nothing about the cancel. A cancel can
 * be repeated (Spec 3).
 */
function cancelledOrderNotFound(input: DecisionInput): Settlement {
  const { facts, nowMs } = input;
  if (facts.askedAfterLoss === 0 && !isOverdue(facts, nowMs))
    return { ...unchanged(input, 'not_found'), counted: false, askedAfterLoss: 1 };
  const reason = 'the cancel may have worked, but the order of its eSIM is not found';
  return flagUnknown(input, facts.buffered?.row ?? 'not_found', reason);
}

/** The order of an entry whose outcome is unknown is not found. */
function unknownNotFound(input: DecisionInput): Settlement {
  const { facts, nowMs } = input;
  const maySendAgain = facts.buffered === null && !isOverdue(facts, nowMs);
  if (maySendAgain) return sendAgain(input);
  const delayed = lookUpAfterDelay(input, 'not_found');
  return delayed ?? neverArrived(input);
}

/**
 * The same reference again buys it, or brings the first answer (Spec 7, retry rule 1): at once
 * after the first ambiguous attempt, because most of them are short faults of the network. After a
 * second one, or while a scope of it is paused, lookups first prove that it did not arrive: then
 * the outcome is known, and the entry holds nobody up while it waits.
 */
function sendAgain(input: DecisionInput): Settlement {
  const { facts, policy } = input;
  const isFirst = facts.attempts < 2 && !policy.isPaused;
  const isSentNow = isFirst || !policy.lookupsProven;
  if (isSentNow && policy.isSenderStopped !== true)
    return { ...unchanged(input, 'not_found'), counted: false };
  const delayed = lookUpAfterDelay(input, 'not_found');
  if (delayed !== null) return delayed;
  if (!policy.lookupsProven) return flagUnknown(input, 'not_found', unprovenAtSender);
  const message =
    'the attempts ended without a clear answer, and lookups after the in-flight window do not find the order: the line is sent again under the same reference';
  return {
    ...unchanged(input, 'not_found'),
    ...outcomeKnown,
    state: 'waiting',
    counted: false,
    tries: 0,
    dueAtMs: nextTryAtMs(input, 'absent', Math.max(0, facts.attempts - 2)),
    error: { code: 'order_absent', message, buffered: false },
  };
}

const unprovenAtSender =
  'the key that sent the line belongs to another account and does not find the line, but no lookup has ever found an order: perhaps the line was bought from that account';

/** It is not sent again, and the in-flight window is over. If lookups work, nothing was bought. */
function neverArrived(input: DecisionInput): Settlement {
  const { facts, policy } = input;
  const { buffered: rejection } = facts;
  if (rejection?.row === 'answer_mismatch') {
    const reason = `${rejection.message}; and lookups do not find an order under the line's own reference`;
    return flagUnknown(input, 'answer_mismatch', reason);
  }
  const unconfirmed = unconfirmedRefusal(input);
  if (unconfirmed !== null) return unconfirmed;
  if (!policy.lookupsProven) {
    const reason =
      rejection === null
        ? 'the deadline passed while the outcome of the line was unknown, and no lookup has ever found an order: "not found" proves nothing'
        : `${facts.isEnding ? 'cancelled' : 'rejected'} after an attempt that may have bought it (${rejection.message}), and no lookup has ever found an order: is the lookup path right?`;
    return flagUnknown(input, rejection?.row ?? 'not_found', reason);
  }
  if (rejection === null) {
    const message =
      'the deadline of the order passed while its outcome was unknown; a later lookup does not find the order: nothing was bought';
    const error = { code: 'not_after_passed', message, buffered: false };
    return {
      ...unchanged(input, 'not_found'),
      ...outcomeKnown,
      state: 'expired',
      counted: false,
      error,
    };
  }
  return believeRefusal(input);
}

/**
 * The review of a refusal that would end the entry, while no lookup has found an order; null where
 * lookups work, and where the entry would wait.
 */
function unconfirmedRefusal(input: DecisionInput): Settlement | null {
  const { facts, policy } = input;
  if (policy.lookupsProven || !isConfirming(facts) || facts.isEnding) return null;
  const believed = believeRefusal(input);
  if (believed.state !== 'rejected') return null;
  return refusalInReview(believed, 'no lookup has found an order yet');
}

/** The kept refusal counts as that of an entry that was sent for the first time. */
function believeRefusal(input: DecisionInput): Settlement {
  const { facts } = input;
  assert(facts.buffered !== null, `a refusal of ${facts.reference} is kept`);
  const { row, code, message } = facts.buffered;
  if (facts.isEnding) {
    const error = { code: code ?? row, message, buffered: false };
    const ended = { ...unchanged(input, row), ...outcomeKnown, counted: false, error };
    // A cancel of an eSIM that is given up may have been done before.
    const { state, reviewReason } = endOf(facts, ended);
    return { ...ended, state: state === 'rejected' ? 'cancelled' : state, reviewReason };
  }
  const clean: EntryFacts = {
    ...facts,
    ...outcomeKnown,
    inFlightWindowLeftMs: 0,
    buffered: null,
    state: 'sending',
  };
  const outcome = { ...withoutAnswer(row, true, message), code };
  const settlement = applyCell(
    { ...input, facts: clean },
    decisionTable[row][columnFor(clean)],
    outcome,
  );
  return { ...settlement, ...outcomeKnown, counted: false };
}

/** Where in the schedule the lookup of a refusal is that failed. */
const triesWhileConfirming = 2;

const isEndOfWorker = ({ row }: Outcome): boolean => row === 'crashed' || row === 'shutdown';

/** The lookup brought no answer to its question. */
function lookupFailed(input: DecisionInput, outcome: Outcome): Settlement {
  const { facts, nowMs } = input;
  const pause = denialOf(outcome, columnFor(facts));
  // A lookup that died with the worker asked nothing: the next one may show the units.
  if (facts.state === 'placed' && outcome.row !== 'crashed' && isAcceptedTooLongAgo(input)) {
    const reason = `accepted, but the units did not come before the deadline, and the last lookup failed: ${outcome.message}`;
    return { ...flagForReview(input, 'accepted', reason), pause };
  }
  // A lookup that ended with the worker is repeated. With any other the order could wait for days.
  const unconfirmed = isEndOfWorker(outcome) ? null : unconfirmedRefusal(input);
  if (unconfirmed !== null) return { ...unconfirmed, pause };
  const askedAtMs = outcome.retryAfterMs === null ? 0 : nowMs + outcome.retryAfterMs;
  // The tries of a refusal are those of the call that was refused.
  const [scheduled, tries] = isConfirming(facts)
    ? [triesWhileConfirming, facts.tries]
    : [facts.tries, facts.tries + 1];
  const dueAtMs = Math.max(askedAtMs, nextTryAtMs(input, 'standard', scheduled));
  return { ...lookUpAgain(input, outcome.row), tries, absences: facts.absences, dueAtMs, pause };
}
