import type { Random } from '../clock.ts';
import { mayBeSplit, maybeSplitReason } from './after-loss.ts';
import { columnFor, decisionTable } from './decision-table.ts';
import type { LookupOutcome, Outcome } from './outcome.ts';
import type { DecisionPolicy, EntryFacts, Settlement } from './settlement.ts';
import { Verdicts } from './verdicts.ts';

/** Judges the end of a submitting attempt. Total: every outcome has a row, every row a cell. */
export function decideSubmission(
  facts: EntryFacts,
  outcome: Outcome,
  policy: DecisionPolicy,
  nowMs: number,
  random: Random,
): Settlement {
  const verdicts = new Verdicts(facts, policy, nowMs, random);
  const applied = verdicts.apply(decisionTable[outcome.row][columnFor(facts)], outcome);
  const settlement = unlessInParts(facts, verdicts, applied);
  if (withinReferenceExpiry(settlement, facts, policy, nowMs)) return settlement;
  const { pause, settlementDelayEndMs, settlementDelayMs } = settlement;
  // What was just sent may still arrive: until then no person can say that it was not bought.
  return { ...verdicts.review(outcome, settlement.row, tooOld, true), pause, settlementDelayEndMs, settlementDelayMs };
}

/** After a loss the refusal of the whole says nothing of its parts: a person compares. */
function unlessInParts(facts: EntryFacts, verdicts: Verdicts, settlement: Settlement): Settlement {
  if (!mayBeSplit(facts, settlement)) return settlement;
  const reason = `${maybeSplitReason} (${settlement.error?.code}: ${settlement.error?.message})`;
  return { ...verdicts.review(null, settlement.row, reason, true), pause: settlement.pause };
}

const tooOld = 'still in doubt when the reference became too old to be sent again by itself';

/** Nothing in the spec says how long a reference is remembered, so a doubt is not repeated for ever by itself. */
function withinReferenceExpiry(
  settlement: Settlement,
  facts: EntryFacts,
  policy: DecisionPolicy,
  nowMs: number,
): boolean {
  // After the loss of an outbox nobody knows when it was sent; it came in again at this time.
  const sinceMs = facts.firstSentAtMs ?? (facts.recoveryStage === 0 ? null : facts.createdAtMs);
  return settlement.state !== 'unknown' || sinceMs === null || nowMs - sinceMs < policy.referenceExpiryMs;
}

/** Judges what a lookup brought, for an entry that is in doubt or placed. */
export function decideLookup(
  facts: EntryFacts,
  lookup: LookupOutcome,
  policy: DecisionPolicy,
  nowMs: number,
  random: Random,
): Settlement {
  const verdicts = new Verdicts(facts, policy, nowMs, random);
  const settlement = unlessInParts(facts, verdicts, judgeLookup(verdicts, facts, lookup, policy));
  return withinReferenceExpiry(settlement, facts, policy, nowMs)
    ? settlement
    : // That its own time is over does not open a door that was just found shut.
      { ...verdicts.review(null, settlement.row, tooOld, true), pause: settlement.pause };
}

/**
 * Whether an absence has a consequence that a second look could not mend. To look again later has none, and the same
 * reference buys nothing twice, unless its order may stand under another one.
 */
function endsSomething(facts: EntryFacts, settlement: Settlement): boolean {
  return settlement.state !== facts.state || facts.recoveryStage === 2;
}

function judgeLookup(verdicts: Verdicts, facts: EntryFacts, lookup: LookupOutcome, policy: DecisionPolicy): Settlement {
  switch (lookup.kind) {
    case 'found': {
      if (facts.operation === 'esim_cancel') return verdicts.cancelFound(lookup.answer);
      if (facts.recoveryStage === 2) return verdicts.foundInItsPlace();
      if (lookup.differs !== undefined) return verdicts.foundOther(lookup.answer, lookup.differs);
      const settled = verdicts.settle('accepted', lookup.answer);
      return settled.state === 'placed' && facts.state === 'placed' ? verdicts.stillPlaced(lookup.answer) : settled;
    }
    case 'absent': {
      const settlement = verdicts.absent();
      const isEnough = !endsSomething(facts, settlement) || facts.absences + 1 >= policy.absenceTries;
      return isEnough ? settlement : verdicts.absentPerhaps();
    }
    case 'failed':
      return verdicts.lookupFailed(lookup.outcome);
  }
}
