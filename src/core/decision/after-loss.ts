import { fallbackFor, replacementsFor, type Replacement } from '../entry/replacement.ts';
import type { OutcomeRow } from './outcome.ts';
import type { DecisionPolicy, EntryFacts, Settlement } from './settlement.ts';

/** How long after a loss shops may send their orders again. */
export const afterLossMs = 7 * 86_400_000;

/** What is to be done with an entry that an outbox which was lost may have bought, after one of its lookups. */
export type LossVerdict =
  /** Look for what may have taken its place. */
  | { readonly step: 'look' }
  /** Look for itself once more: now its absence can be believed. */
  | { readonly step: 'lookAgain' }
  /** All of it was looked up: it is treated like any other entry in doubt. */
  | { readonly step: 'goOn' }
  | { readonly step: 'review'; readonly row: OutcomeRow; readonly reason: string }
  /** Others take its place; each of them is looked up as this one was. */
  | {
      readonly step: 'replace';
      readonly row: OutcomeRow;
      readonly message: string;
      readonly replacements: readonly Replacement[];
    };

type Order = Pick<EntryFacts, 'operation' | 'rules' | 'quantity' | 'currency'>;

/** Only gift cards are ordered in parts: the refusals that lead to it are theirs (Spec 7). */
const mayHaveParts = (order: Order, rule: 'split' | 'partial'): boolean =>
  order.operation === 'gift_card_order' && order.rules[rule] === true && (order.quantity ?? 1) > 1;

/** Whether it may have been bought under other references than its own: from another balance, or in parts. */
export function mayBeElsewhere(order: Order): boolean {
  // Rules are those of a whole order: of its cancels there are no parts, and no other balance.
  if (order.operation === 'esim_cancel') return false;
  const { fallback_currency: other } = order.rules;
  if (other !== undefined && other !== order.currency) return true;
  return mayHaveParts(order, 'split') || mayHaveParts(order, 'partial');
}

type Policy = Pick<DecisionPolicy, 'trustsAbsence'>;

/** The parts that it may have been bought in because less was in stock then. */
const partsOf = (facts: EntryFacts): readonly Replacement[] =>
  mayHaveParts(facts, 'partial') ? replacementsFor('out_of_stock', facts) : [];

export const maybeSplitReason =
  'the outbox was lost, and its order may have been bought in parts, of which its own refusal says nothing';

/**
 * Whether an entry would end, or wait for better times, of which parts may be bought. Those above a per-order limit lie as
 * deep as that limit wants, so only the first is looked up: while the limit stands, the rest is found when it refuses the
 * whole once more. Another refusal leads to no parts, and a part from another balance has the reference of another part.
 */
export function mayBeSplit(facts: EntryFacts, next: Settlement): boolean {
  if (facts.recoveryStage === 0 || !mayHaveParts(facts, 'split') || next.outcomeUnknown) return false;
  if (next.state !== 'rejected' && next.state !== 'expired' && next.state !== 'waiting') return false;
  return next.replacements.length === 0 || fallbackFor(facts).length > 0;
}

/**
 * It is not there under its own reference. An order that takes fewer is never sent whole then: any of its parts may be
 * bought, also where the first is not. The parts take its place, and what of them is not there is sent.
 */
export function ownIsAbsent(facts: EntryFacts, policy: Policy): LossVerdict {
  const replacements = partsOf(facts);
  if (replacements.length === 0 || !policy.trustsAbsence || fallbackFor(facts).length > 0) return { step: 'look' };
  const message = 'the outbox was lost, and it may have been bought in parts: each is looked up before it is ordered';
  return { step: 'replace', row: 'out_of_stock', message, replacements };
}

/** Nothing is there under the reference of what may have taken its place. */
export function successorIsAbsent(facts: EntryFacts, policy: Policy): LossVerdict {
  if (mayBeElsewhere(facts) && !policy.trustsAbsence) {
    const reason =
      'the outbox was lost, its order may have been charged to another balance or bought in parts, and no lookup has ever found an order';
    return { step: 'review', row: 'not_found', reason };
  }
  if (partsOf(facts).length === 0) return { step: 'goOn' };
  // No lookup had found anything when it was looked for itself; since then one has, and it can give way to its parts.
  if (fallbackFor(facts).length === 0) return { step: 'lookAgain' };
  const reason = 'the outbox was lost: its order may have been bought in parts, and from either balance';
  return { step: 'review', row: 'not_found', reason };
}

/**
 * An order is there under the reference that takes the place of this one. Where that can only be the other balance, it
 * is taken up; parts, or an order that a person made anew, only a person can tell apart.
 */
export function successorIsThere(facts: EntryFacts): LossVerdict {
  const replacements = mayHaveParts(facts, 'split') || mayHaveParts(facts, 'partial') ? [] : fallbackFor(facts);
  const found = 'an order is there under the reference that takes the place of this one';
  if (replacements.length === 0)
    return { step: 'review', row: 'accepted', reason: `the outbox was lost, and ${found}` };
  const message = `charged to the other balance before the outbox was lost: ${found}`;
  return { step: 'replace', row: 'insufficient_balance', message, replacements };
}
