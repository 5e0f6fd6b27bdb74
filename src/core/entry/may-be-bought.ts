import type { OutcomeRow } from '../answers/outcome.ts';
import type { EntryState } from './states.ts';

/** The error of an entry of which an operator found that it was not bought. */
export const rejectedByOperator = 'rejected_by_person';

export interface PurchaseFacts {
  readonly state: EntryState;
  /** An attempt may have been processed, and nothing has settled it yet. */
  readonly outcomeUnknown: boolean;
  /** No lookup has told yet. */
  readonly lostOutboxMayHaveSent: boolean;
  /**
   * How its last attempt ended; null before the first, and for a row that this version does not
   * know.
   */
  readonly row: OutcomeRow | null;
  readonly firstSentAtMs: number | null;
  /**
   * A call of it left after the last lookup that proved it absent. Something in between may have
   * repeated that call, and brought the answer to its second copy: before it ends, it is looked up.
   */
  readonly sentSinceLookup: boolean;
  readonly orderNumber: string | null;
  readonly errorCode: string | null;
  readonly unitCount: number;
}

/** Outcomes after which the API has an order with this reference. */
const taken: ReadonlySet<OutcomeRow | null> = new Set<OutcomeRow | null>([
  'accepted',
  'answer_mismatch',
]);

/**
 * Whether a part of an entry may be bought: then nobody may end it as unbought or order it again.
 */
export function mayBeBought(facts: PurchaseFacts): boolean {
  // An operator can see what the worker cannot. An API could answer with the same code.
  if (facts.state === 'rejected' && facts.errorCode === rejectedByOperator) return false;
  // An earlier copy of a cancel may have brought this answer to a later one.
  if (facts.row === 'not_cancellable' && facts.state !== 'rejected') return true;
  if (facts.outcomeUnknown || facts.lostOutboxMayHaveSent) return true;
  if (facts.orderNumber !== null || facts.unitCount > 0 || taken.has(facts.row)) return true;
  // A row that this version does not know proves nothing.
  return facts.row === null && facts.firstSentAtMs !== null;
}

const boughtStates: ReadonlySet<EntryState | null> = new Set<EntryState | null>([
  'placed',
  'fulfilled',
  'refunded',
]);

/** Whether people are told that it may have been bought: not of what is surely bought. */
export function isMaybeBought(entry: {
  readonly state: EntryState;
  readonly heldFrom: EntryState | null;
  readonly mayBeBought: boolean;
}): boolean {
  return (
    entry.mayBeBought && !boughtStates.has(entry.state === 'held' ? entry.heldFrom : entry.state)
  );
}

/** The changes of an entry whose outcome is known now. */
export const outcomeKnown = { outcomeUnknown: false, inFlightWindowEndMs: null } as const;
