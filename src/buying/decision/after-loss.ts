import { mayBeElsewhere, mayHaveBoughtParts, mayHaveParts } from '../../core/entry/after-loss.ts';
import { outcomeKnown } from '../../core/entry/may-be-bought.ts';
import { fallbackFor, replacementsFor, type Replacement } from '../../core/entry/replacement.ts';
import type { OutcomeRow } from '../../core/answers/outcome.ts';
import {
  lookUpAfterDelay,
  flagUnknown,
  unchanged,
  type DecisionInput,
  type EntryFacts,
  type Settlement,
} from './settlement.ts';

// After the loss of an outbox, an order that comes in again may have been bought: under its own
// reference, or under that of a replacement, because it was charged to the other balance, split, or
// re-ordered by a person. The worker looks up the entry under its own reference, then under the
// reference that its first replacement has. If neither lookup answers that, a person decides.

/** The parts in which it may have been bought because less was in stock then. */
const partsOf = (facts: EntryFacts): readonly Replacement[] =>
  mayHaveParts(facts, 'partial') ? replacementsFor('out_of_stock', facts) : [];

/** Nothing was found at the present stage; null when every reference was looked up. */
export function absentAfterLoss(input: DecisionInput): Settlement | null {
  const delayed = lookUpAfterDelay(input, 'not_found');
  if (delayed !== null) return delayed;
  return input.facts.recoveryStage === 'own_reference'
    ? ownIsAbsent(input)
    : replacementIsAbsent(input);
}

/**
 * An order that allows fewer units is not sent whole now: any of its parts may be bought, even if
 * the first is not. It is replaced by its parts. Each part is looked up before it is sent.
 */
function ownIsAbsent(input: DecisionInput): Settlement {
  const { facts, policy } = input;
  const parts = partsOf(facts);
  if (parts.length === 0 || !policy.lookupsProven || fallbackFor(facts).length > 0)
    return lookUpUnder(input, 'replacement');
  const message =
    'the outbox was lost, and it may have been bought in parts: each is looked up before it is ordered';
  return replaceBy(input, 'out_of_stock', message, parts);
}

function replacementIsAbsent(input: DecisionInput): Settlement | null {
  const { facts, policy } = input;
  if (mayBeElsewhere(facts) && !policy.lookupsProven) {
    const reason =
      'the outbox was lost, its order may have been charged to another balance or bought in parts, and no lookup has ever found an order';
    return flagUnknown(input, 'not_found', reason);
  }
  if (partsOf(facts).length === 0) return null;
  // A lookup has found an order since its own reference was looked up: now that absence can be
  // believed, too.
  if (fallbackFor(facts).length === 0) return lookUpUnder(input, 'own_reference');
  const reason =
    'the outbox was lost: its order may have been bought in parts, and from either balance';
  return flagUnknown(input, 'not_found', reason);
}

/**
 * An order has the reference of the first replacement. If only the other balance can explain that,
 * the replacement is taken up. A part and an order that a person re-ordered only a person can tell
 * apart.
 */
export function replacementFound(input: DecisionInput): Settlement {
  const { facts } = input;
  const found = 'an order is there under the reference that takes the place of this one';
  const delayed = lookUpAfterDelay(input, 'not_found');
  if (delayed !== null) return delayed;
  const fallback =
    mayHaveParts(facts, 'split') || mayHaveParts(facts, 'partial') ? [] : fallbackFor(facts);
  if (fallback.length === 0)
    return flagUnknown(input, 'accepted', `the outbox was lost, and ${found}`);
  const message = `charged to the other balance before the outbox was lost: ${found}`;
  return replaceBy(input, 'insufficient_balance', message, fallback);
}

function lookUpUnder(
  input: DecisionInput,
  recoveryStage: 'own_reference' | 'replacement',
): Settlement {
  return { ...unchanged(input, 'not_found'), nextStep: 'lookup', counted: false, recoveryStage };
}

function replaceBy(
  input: DecisionInput,
  row: OutcomeRow,
  message: string,
  replacements: readonly Replacement[],
): Settlement {
  const done = {
    ...unchanged(input, row),
    ...outcomeKnown,
    counted: false,
    recoveryStage: 'done',
  } as const;
  return {
    ...done,
    state: 'rejected',
    error: { code: row, message, buffered: false },
    replacements,
  };
}

/**
 * Flags for review an entry that would end, or wait, while parts of it may be bought. Only the
 * first part was looked up; the others are found when the limit rejects the whole order again.
 * Another rejection leads to no parts, and a part that is charged to another balance has the
 * reference of another part.
 */
export function reviewIfMaybeSplit(input: DecisionInput, settlement: Settlement): Settlement {
  const { facts } = input;
  const { state, row, error, pause, replacements } = settlement;
  if (!mayHaveBoughtParts(facts) || settlement.outcomeUnknown) return settlement;
  // An entry that was proven absent is sent again under its own reference. It waits only because
  // its attempts had no clear answer.
  const isRefused = state === 'waiting' && row !== 'not_found';
  const endsOrWaits = state === 'rejected' || state === 'expired' || isRefused;
  if (!endsOrWaits || (replacements.length > 0 && fallbackFor(facts).length === 0))
    return settlement;
  const reason = `the outbox was lost, and its order may have been bought in parts, about which its own rejection says nothing (${error?.code}: ${error?.message})`;
  return { ...flagUnknown(input, row, reason), pause };
}
