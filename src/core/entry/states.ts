/**
 * The states of an outbox entry, and how it gets from one to another. This is the only place that says so: the store
 * asserts it on every write, and the command line, the API and the pages take their allowed actions from here.
 *
 *   pending       on disk, never sent (or surely never sent: the connection failed before a byte left)
 *   sending       an attempt row is open; committed before the socket is used
 *   waiting       answered or surely not processed, nothing charged; due again at next_attempt_at
 *   unknown       perhaps processed, by this outbox or by one that was lost: reconciled by a lookup, or by sending the same reference again
 *   placed        accepted, but not all units are there yet: polled until a deadline
 *   fulfilled     final: all units are there, or the cancel is confirmed
 *   refunded      final, and a success of the API: the money is back (Spec 7)
 *   rejected      final: a definite refusal, with code, message and what to do
 *   expired       final: its deadline passed before it was sent, or before a call that is proven not to have arrived
 *                 could be repeated
 *   cancelled     final: taken back by a person before it was ever sent
 *   needs_review  stands in front of a person, with the evidence and the actions that are allowed
 *   held          stopped by a person; goes back to where it was
 */
export const entryStates = [
  'pending',
  'sending',
  'waiting',
  'unknown',
  'placed',
  'fulfilled',
  'refunded',
  'rejected',
  'expired',
  'cancelled',
  'needs_review',
  'held',
] as const;
export type EntryState = (typeof entryStates)[number];

/** A count for every state, all zero. */
export function zeroCounts(): Record<EntryState, number> {
  return {
    pending: 0,
    sending: 0,
    waiting: 0,
    unknown: 0,
    placed: 0,
    fulfilled: 0,
    refunded: 0,
    rejected: 0,
    expired: 0,
    cancelled: 0,
    needs_review: 0,
    held: 0,
  };
}

export const finalStates = ['fulfilled', 'refunded', 'rejected', 'expired', 'cancelled'] as const;
export type FinalState = (typeof finalStates)[number];

const transitions: Record<EntryState, readonly EntryState[]> = {
  pending: ['sending', 'unknown', 'held', 'cancelled', 'expired', 'needs_review'],
  sending: ['pending', 'waiting', 'unknown', 'placed', 'fulfilled', 'refunded', 'rejected', 'needs_review'],
  waiting: ['sending', 'unknown', 'held', 'rejected', 'cancelled', 'needs_review'],
  unknown: ['sending', 'waiting', 'placed', 'fulfilled', 'refunded', 'rejected', 'expired', 'needs_review', 'held'],
  placed: ['fulfilled', 'refunded', 'needs_review', 'held'],
  fulfilled: [],
  refunded: [],
  rejected: [],
  expired: [],
  cancelled: [],
  needs_review: ['unknown', 'waiting', 'placed', 'fulfilled', 'refunded', 'rejected', 'cancelled'],
  // To a person when it was held for so long that neither a lookup nor the same reference can settle its doubt.
  held: ['pending', 'waiting', 'unknown', 'placed', 'cancelled', 'needs_review'],
};

export function canTransition(from: EntryState, to: EntryState): boolean {
  return transitions[from].includes(to);
}

export function isFinal(state: EntryState): state is FinalState {
  return transitions[state].length === 0;
}

export const entryActions = ['retry', 'hold', 'release', 'cancel', 'reorder', 'resolve'] as const;
export type EntryActionName = (typeof entryActions)[number];

/** What decides which actions are allowed. */
export interface ActionSubject {
  readonly state: EntryState;
  /** An attempt may have been processed, and nothing has settled it yet. */
  readonly outcomeUnknown: boolean;
  /** Where a held entry goes back to; null for every other. */
  readonly heldFrom: EntryState | null;
  /** Others took its place already: parts, another balance, or a new order by a person. */
  readonly replaced: boolean;
}

/** What a person may do now: the one answer that the command line, the API and the pages give. */
export function allowedActions(entry: ActionSubject): readonly EntryActionName[] {
  switch (entry.state) {
    case 'pending':
      return entry.outcomeUnknown ? ['hold'] : ['hold', 'cancel'];
    case 'waiting':
      // Taking back what may have been bought would hide a purchase.
      return entry.outcomeUnknown ? ['retry', 'hold'] : ['retry', 'hold', 'cancel'];
    case 'unknown':
    case 'placed':
      return ['retry', 'hold'];
    case 'held': {
      // What was placed is bought, although nothing about it is in doubt.
      const isClean = !entry.outcomeUnknown && (entry.heldFrom === 'pending' || entry.heldFrom === 'waiting');
      return isClean ? ['release', 'cancel'] : ['release'];
    }
    case 'needs_review':
      return ['retry', 'resolve'];
    case 'rejected':
    case 'expired':
    case 'cancelled':
      // Nothing was bought under this reference: the person may order anew, under a new one, and once only.
      return entry.outcomeUnknown || entry.replaced ? [] : ['reorder'];
    case 'sending':
    case 'fulfilled':
    case 'refunded':
      return [];
  }
}
