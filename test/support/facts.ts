import { decideLookup } from '../../src/buying/decision/decide-lookup.ts';
import { decideSubmission } from '../../src/buying/decision/decide-submission.ts';
import type { OrderAnswer } from '../../src/core/answers/order-answer.ts';
import { withoutAnswer, type Outcome, type OutcomeRow } from '../../src/core/answers/outcome.ts';
import {
  usualTries,
  type DecisionPolicy,
  type EntryFacts,
  type Settlement,
} from '../../src/buying/decision/settlement.ts';

export const now = 1_000_000;
export const noJitter = (): number => 0.5;

export const policy: DecisionPolicy = {
  inFlightWindowMs: 120_000,
  referenceExpiryMs: 86_400_000,
  placedDeadlineMs: 86_400_000,
  cancelTries: 3,
  ...usualTries,
  retryTimeScale: 1,
  canLookUp: true,
  lookupsProven: true,
  isPaused: false,
};

/** What an entry was looked up for in vain, so that the next such answer is believed. */
export const saidBefore = { absences: policy.absenceTries - 1 } as const;

/** An entry that was never sent. */
export function facts(changes: Partial<EntryFacts> = {}): EntryFacts {
  return {
    operation: 'gift_card_order',
    state: 'pending',
    generation: 0,
    part: 0,
    quantity: 1,
    currency: 'USD',
    rules: {},
    knownLimit: null,
    iccid: null,
    variant: 'steam-10',
    plan: null,
    reference: 'os-1',
    orderNumber: null,
    units: [],
    outcomeUnknown: false,
    askedAfterLoss: null,
    inFlightWindowEndMs: null,
    inFlightWindowLeftMs: 0,
    buffered: null,
    isEnding: false,
    lastRow: null,
    attempts: 1,
    tries: 0,
    absences: 0,
    firstSentAtMs: null,
    notAfterMs: null,
    createdAtMs: 0,
    ...changes,
  };
}

export function answer(changes: Partial<OrderAnswer> = {}): OrderAnswer {
  return {
    orderNumber: 'GC-1',
    reference: null,
    status: 'completed',
    statusClass: 'done',
    cost: '10.00',
    currency: 'USD',
    units: [{ code: 'A' }],
    ...changes,
  };
}

export function outcome(row: OutcomeRow, changes: Partial<Outcome> = {}): Outcome {
  const accepted = row === 'accepted' ? { answer: answer(), http: 200 } : {};
  return { ...withoutAnswer(row, true, `the message of ${row}`), ...accepted, ...changes };
}

/** The history of an entry whose last attempt may have been processed. */
export const outcomeUnknown: Partial<EntryFacts> = {
  state: 'unknown',
  outcomeUnknown: true,
  inFlightWindowEndMs: now + 60_000,
  inFlightWindowLeftMs: 60_000,
  firstSentAtMs: now - 1000,
};

/** An entry whose refusal waits for the lookup that confirms it. */
export function confirming(entry: EntryFacts, row: OutcomeRow): EntryFacts {
  const { tries, absences } = decideSubmission(entry, outcome(row), policy, now, noJitter);
  const buffered = { row, code: row, message: `the message of ${row}` };
  return {
    ...entry,
    state: 'unknown',
    buffered,
    lastRow: row,
    tries,
    absences,
    firstSentAtMs: now - 1000,
  };
}

/** What becomes of a refused entry that a lookup does not find. */
export function refused(entry: EntryFacts, row: OutcomeRow): Settlement {
  const { iccid } = entry;
  const active = {
    kind: 'found',
    answer: answer({ units: [{ iccid: iccid ?? '', status: 'active' }] }),
  } as const;
  const lookup = entry.operation === 'esim_cancel' ? active : ({ kind: 'absent' } as const);
  return decideLookup(confirming(entry, row), lookup, policy, now, noJitter);
}
