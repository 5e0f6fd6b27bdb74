import { outcomeKnown } from '../../core/entry/may-be-bought.ts';
import type { Random } from '../../core/clock.ts';
import { replacementsFor, splitInto } from '../../core/entry/replacement.ts';
import { unreachable } from '../../core/order-sync-error.ts';
import { columnFor, decisionTable, rejections, type Cell } from './decision-table.ts';
import { foreignText } from '../../core/answers/order-answer.ts';
import type { Outcome, OutcomeRow } from '../../core/answers/outcome.ts';
import { isOverdue } from '../../core/entry/resend.ts';
import {
  errorOf,
  otherGoods,
  nextTryAtMs,
  flagForReview,
  reviewIfExpired,
  settleByAnswer,
  inFlightWindowFromNow,
  unchanged,
  type DecisionInput,
  type DecisionPolicy,
  type EntryFacts,
  type Settlement,
} from './settlement.ts';

/**
 * Decides what happens to an entry after a submission. Total: every outcome has a row, and every
 * row a cell.
 */
export function decideSubmission(
  facts: EntryFacts,
  ended: Outcome,
  policy: DecisionPolicy,
  nowMs: number,
  random: Random,
): Settlement {
  const input = { facts, policy, nowMs, random };
  const outcome = withoutForeignAnswer(ended);
  const cell = decisionTable[outcome.row][columnFor(facts)];
  const isRejection = rejections.has(cell.verdict) && !facts.outcomeUnknown;
  const applied = isRejection ? afterLookup(input, cell, outcome) : applyCell(input, cell, outcome);
  const evidence = { error: errorOf(outcome), answer: outcome.answer };
  return reviewIfExpired(input, applied, evidence);
}

/**
 * Nothing of an answer about another order is kept but its number, in words for an operator, and
 * whether it was swapped.
 */
function withoutForeignAnswer(outcome: Outcome): Outcome {
  const { row, message, answer } = outcome;
  if (row !== 'answer_mismatch') return outcome;
  const code = typeof answer?.reference === 'string' ? outcome.code : otherGoods;
  return { ...outcome, code, message: foreignText(message, answer), answer: null };
}

/** Applies one cell of the decision table to an entry. Pure. */
export function applyCell(input: DecisionInput, cell: Cell, outcome: Outcome): Settlement {
  const { row, message, answer } = outcome;
  const pause = cell.pause === undefined ? null : { kind: cell.pause, reason: row, message };
  const base = { ...unchanged(input, row), pause, error: errorOf(outcome) };
  switch (cell.verdict) {
    case 'settle':
      return answer === null
        ? {
            ...flagForReview(input, row, 'an accepted order came without an answer'),
            error: errorOf(outcome),
          }
        : settleByAnswer(input, answer);
    case 'reject':
      return reject(input, base);
    case 'wait':
      return wait(input, base, cell);
    case 'again':
      return again(input, base, cell, outcome);
    case 'unknown':
      return unknown(input, base, cell);
    case 'resolve':
      return resolve(input, base, cell, outcome);
    case 'unexplained':
    case 'review':
      return {
        ...base,
        state: 'needs_review',
        reviewReason: `answered ${outcome.code ?? row}: ${message}`,
      };
    default:
      return unreachable(cell.verdict);
  }
}

/**
 * A rejection counts once a lookup has not found the entry. Where orders cannot be looked up, it
 * does not end a purchase: an operator decides. Where no lookup has found an order yet, the first
 * order that was bought may be looked up at this moment: see `refusalInReview`.
 */
function afterLookup(input: DecisionInput, cell: Cell, outcome: Outcome): Settlement {
  const { facts, policy } = input;
  if (policy.canLookUp && policy.lookupsProven) return confirm(input, outcome);
  const applied = applyCell(input, cell, outcome);
  if (applied.state !== 'rejected' || facts.operation === 'esim_cancel') return applied;
  return policy.canLookUp
    ? confirm(input, outcome)
    : refusalInReview(applied, 'the order cannot be looked up');
}

/** A rejection that no lookup has confirmed. */
export function refusalInReview(rejected: Settlement, why: string): Settlement {
  const reviewReason = `rejected (${rejected.error?.message}), and ${why}: if a proxy repeated the call, another copy of it perhaps bought the order`;
  return { ...rejected, state: 'needs_review', reviewReason, replacements: [] };
}

/**
 * Looks the entry up before its refusal counts: the refusal may answer the second copy of a call
 * whose first copy was processed. One lookup that finds nothing confirms it, but not for a cancel:
 * the order of its eSIM exists, so if several lookups do not find it, an operator decides. Until then
 * the outcome does not count as unknown.
 */
function confirm(input: DecisionInput, outcome: Outcome): Settlement {
  const { facts, policy } = input;
  return {
    ...unchanged(input, outcome.row),
    state: 'unknown',
    nextStep: 'lookup',
    tries: triesOf(facts, outcome.row),
    absences: facts.operation === 'esim_cancel' ? 0 : policy.absenceTries - 1,
    // A lookup may not show at once what was just sold.
    dueAtMs: nextTryAtMs(input, 'standard', 0),
    error: errorOf(outcome, true),
  };
}

const scheduleOf = (cell: Cell) => cell.schedule ?? 'standard';

/** Tries in a row that ended like this one: a run of 429s must not use up the tries of a cancel. */
const triesOf = (facts: EntryFacts, row: OutcomeRow): number =>
  facts.lastRow === row ? facts.tries : 0;

function reject(input: DecisionInput, base: Settlement): Settlement {
  const { facts, nowMs } = input;
  // After its deadline no part of an order is bought in any way.
  const replacements = isOverdue(facts, nowMs)
    ? []
    : base.row === 'limit_exceeded'
      ? splitInto(facts)
      : replacementsFor(base.row, facts);
  return { ...base, ...outcomeKnown, ...endOf(facts, base), replacements };
}

/** A refusal ends an entry. A cancel may be done, unless its order shows the eSIM in use. */
export function endOf(
  { operation, isEsimUsed, isEnding }: EntryFacts,
  { row, error }: Settlement,
): Pick<Settlement, 'state' | 'reviewReason'> {
  if (operation !== 'esim_cancel' || isEsimUsed === true)
    return { state: 'rejected', reviewReason: null };
  const what = isEnding ? 'was given up' : 'was refused';
  const why = `the cancel ${what} (${error?.message ?? row}), and no order shows whether an earlier call has cancelled the eSIM`;
  return { state: 'needs_review', reviewReason: why };
}

function wait(input: DecisionInput, base: Settlement, cell: Cell): Settlement {
  const { facts, policy, nowMs } = input;
  const { row } = base;
  const tries = triesOf(facts, row);
  const replacements = isOverdue(facts, nowMs) ? [] : replacementsFor(row, facts);
  // An order without a deadline does not say how long to wait for stock, so its shop is told now.
  const isHopeless = row === 'out_of_stock' && facts.notAfterMs === null;
  const isTriedOften = row === 'not_cancellable' && tries + 1 >= policy.cancelTries;
  const dueAtMs = nextTryAtMs(input, scheduleOf(cell), tries);
  const next = { ...base, tries: tries + 1, dueAtMs };
  return replacements.length > 0 || isHopeless || isTriedOften
    ? { ...next, ...endOf(facts, base), replacements }
    : { ...next, ...outcomeKnown, state: 'waiting' };
}

/** Surely not processed: the entry goes back to where it was. */
function again(input: DecisionInput, base: Settlement, cell: Cell, outcome: Outcome): Settlement {
  const { facts, policy, nowMs } = input;
  const tries = facts.outcomeUnknown ? facts.tries : triesOf(facts, base.row);
  if (base.row === 'local_defect' && tries + 1 >= policy.defectTries) {
    const reviewReason = `could not be sent because of a defect: ${outcome.message}`;
    return { ...base, state: 'needs_review', reviewReason, pause: null, answer: outcome.answer };
  }
  const askedAtMs = outcome.retryAfterMs === null ? 0 : nowMs + outcome.retryAfterMs;
  const dueAtMs = Math.max(askedAtMs, nextTryAtMs(input, scheduleOf(cell), tries));
  const wasNeverSent = facts.firstSentAtMs === null && !outcome.sent;
  const state = facts.outcomeUnknown ? 'unknown' : wasNeverSent ? 'pending' : 'waiting';
  return { ...base, state, counted: false, tries: tries + 1, dueAtMs };
}

/** Perhaps processed. */
function unknown(input: DecisionInput, base: Settlement, cell: Cell): Settlement {
  const { facts, policy } = input;
  const tries = facts.outcomeUnknown ? facts.tries : 0;
  return {
    ...base,
    state: 'unknown',
    nextStep: policy.canLookUp ? 'lookup' : 'send',
    outcomeUnknown: true,
    ...inFlightWindowFromNow(input),
    tries: tries + 1,
    dueAtMs: nextTryAtMs(input, scheduleOf(cell), tries),
  };
}

/** It may have been bought all the same: the answer is kept until a lookup settles it. */
function resolve(input: DecisionInput, base: Settlement, cell: Cell, outcome: Outcome): Settlement {
  const isForeign = base.row === 'answer_mismatch';
  if (!input.policy.canLookUp) {
    const why = isForeign
      ? `answered ${base.row}: ${outcome.message}`
      : 'rejected after an attempt that perhaps bought the order';
    return {
      ...base,
      state: 'needs_review',
      reviewReason: `${why}, and the order cannot be looked up`,
      pause: null,
    };
  }
  const dueAtMs = nextTryAtMs(input, scheduleOf(cell), 0);
  // The answer to this order may still come.
  const delay = isForeign ? inFlightWindowFromNow(input) : {};
  const resolved = { state: 'unknown', nextStep: 'lookup', outcomeUnknown: true } as const;
  return {
    ...base,
    ...resolved,
    ...delay,
    tries: input.facts.tries + 1,
    dueAtMs,
    error: errorOf(outcome, true),
  };
}
