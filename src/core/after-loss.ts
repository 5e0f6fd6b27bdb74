import { fallbackFor, insteadOf, type FollowUp } from './follow-up.ts';
import type { OutcomeRow } from './outcome.ts';
import type { DecisionPolicy, EntryFacts } from './settlement.ts';

/** What is to be done with an entry that an outbox which was lost may have bought, after one of its lookups. */
export type LossVerdict =
  /** Look for what may have taken its place. */
  | { readonly step: 'look' }
  /** All of it was looked up: it is treated like any other entry in doubt. */
  | { readonly step: 'goOn' }
  | { readonly step: 'review'; readonly row: OutcomeRow; readonly reason: string }
  /** Others take its place; each of them is looked up as this one was. */
  | {
      readonly step: 'replace';
      readonly row: OutcomeRow;
      readonly message: string;
      readonly followUps: readonly FollowUp[];
    };

/** Whether it may have been bought under other references than its own: from another balance, or in parts. */
export function mayBeElsewhere(order: Pick<EntryFacts, 'rules' | 'quantity' | 'currency'>): boolean {
  const { split, partial, fallback_currency: other } = order.rules;
  if (other !== undefined && other !== order.currency) return true;
  return (split === true || partial === true) && (order.quantity ?? 1) > 1;
}

type Policy = Pick<DecisionPolicy, 'trustsAbsence'>;

/** The parts that it may have been bought in because less was in stock then. */
const partsOf = (facts: EntryFacts): readonly FollowUp[] => insteadOf('out_of_stock', facts);

/**
 * It is not there under its own reference. An order that takes fewer is never sent whole then: any of its parts may be
 * bought, also where the first is not. The parts take its place, and what of them is not there is sent.
 */
export function ownIsAbsent(facts: EntryFacts, policy: Policy): LossVerdict {
  const followUps = partsOf(facts);
  if (followUps.length === 0 || !policy.trustsAbsence || fallbackFor(facts).length > 0) return { step: 'look' };
  const message = 'the outbox was lost, and it may have been bought in parts: each is looked up before it is ordered';
  return { step: 'replace', row: 'out_of_stock', message, followUps };
}

/** Nothing is there under the reference of what may have taken its place. */
export function successorIsAbsent(facts: EntryFacts, policy: Policy): LossVerdict {
  const { split, partial, fallback_currency: other } = facts.rules;
  if ((split === true || partial === true || other !== undefined) && !policy.trustsAbsence) {
    const reason =
      'the outbox was lost, its order may have been charged to another balance or bought in parts, and no lookup has ever found an order';
    return { step: 'review', row: 'not_found', reason };
  }
  if (partsOf(facts).length === 0) return { step: 'goOn' };
  const reason = 'the outbox was lost: its order may have been bought in parts, and from either balance';
  return { step: 'review', row: 'not_found', reason };
}

/**
 * An order is there under the reference that takes the place of this one. Where that can only be the other balance, it
 * is taken up; parts, or an order that a person made anew, only a person can tell apart.
 */
export function successorIsThere(facts: EntryFacts): LossVerdict {
  const followUps = facts.rules.split === true || facts.rules.partial === true ? [] : fallbackFor(facts);
  const found = 'an order is there under the reference that takes the place of this one';
  if (followUps.length === 0) return { step: 'review', row: 'accepted', reason: `the outbox was lost, and ${found}` };
  const message = `charged to the other balance before the outbox was lost: ${found}`;
  return { step: 'replace', row: 'insufficient_balance', message, followUps };
}
