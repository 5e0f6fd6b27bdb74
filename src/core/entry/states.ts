/**
 * The states of an entry of the outbox. Together with `transitions` and `allowedActions`, the only
 * place that says how an entry gets from one to another: the store asserts it on every write, and
 * the command line, the API and the pages offer the actions that are allowed here.
 * docs/reference/entry-states.md is generated from this file.
 */
export const entryStates = [
  'pending', // on disk and never sent; no byte of it left
  'sending', // a call is open; it was recorded before the socket was used
  'waiting', // nothing was charged; due again later
  'unknown', // perhaps processed, also by a lost outbox; looked up, or sent again under the same reference
  'placed', // accepted, and units are missing; looked up until a deadline
  'fulfilled', // final: all units are there, or the cancel is confirmed
  'refunded', // final: the money is back (Spec 7)
  'rejected', // final: the API rejected it; with two balances, until the first has its turn again
  'expired', // final: its deadline passed, and it was certainly not bought
  'cancelled', // final: an operator or the shop cancelled it; nothing was charged
  'needs_review', // an operator must decide
  'held', // an operator or the state of the shop's order keeps it from being sent; goes back to its state before
] as const;
export type EntryState = (typeof entryStates)[number];

export function zeroCounts(): Record<EntryState, number>;
export function zeroCounts(): Record<string, number> {
  return Object.fromEntries(entryStates.map((state) => [state, 0]));
}

export const finalStates = ['fulfilled', 'refunded', 'rejected', 'expired', 'cancelled'] as const;
type FinalState = (typeof finalStates)[number];

const transitions: Record<EntryState, readonly EntryState[]> = {
  pending: ['sending', 'unknown', 'held', 'cancelled', 'expired', 'needs_review'],
  sending: [
    'pending',
    'waiting',
    'unknown',
    'placed',
    'fulfilled',
    'refunded',
    'rejected',
    'needs_review',
  ],
  waiting: ['sending', 'unknown', 'held', 'rejected', 'cancelled', 'needs_review'],
  unknown: [
    'sending',
    'waiting',
    'placed',
    'fulfilled',
    'refunded',
    'rejected',
    'expired',
    'cancelled',
    'needs_review',
    'held',
  ],
  placed: ['fulfilled', 'refunded', 'needs_review', 'held'],
  fulfilled: [],
  refunded: [],
  // Its balance has a turn again: the other one refused the order, too.
  rejected: ['waiting'],
  expired: [],
  cancelled: [],
  needs_review: ['unknown', 'waiting', 'placed', 'fulfilled', 'refunded', 'rejected', 'cancelled'],
  // It needs review when it was held for so long that neither a lookup nor the same reference can
  // settle its outcome.
  held: ['pending', 'waiting', 'unknown', 'placed', 'cancelled', 'needs_review'],
};

export function canTransition(from: EntryState, to: EntryState): boolean {
  return transitions[from].includes(to);
}

export function isFinal(state: EntryState): state is FinalState {
  return finalStates.some((it) => it === state);
}

const entryActions = ['retry', 'hold', 'release', 'cancel', 'reorder', 'resolve'] as const;
export type EntryActionName = (typeof entryActions)[number];

export interface ActionSubject {
  readonly state: EntryState;
  /**
   * Something of it may be bought: ended without a purchase, or ordered again, it would be lost or
   * bought twice.
   */
  readonly mayBeBought: boolean;
  /** The state to which a held entry goes back; null for every other. */
  readonly heldFrom: EntryState | null;
  /** Other entries took its place: parts, another balance, or a re-order by an operator. */
  readonly replaced: boolean;
  /**
   * Its line came in the place of another line of the shop's order, and nobody has decided whether
   * both are one.
   */
  readonly hasOtherId: boolean;
  /** How many units nobody has of what an operator found to be bought. */
  readonly unitsMissing: number;
}

/**
 * The actions that are allowed for an entry now. The command line, the API and the pages all ask
 * this function.
 */
export function allowedActions(entry: ActionSubject): readonly EntryActionName[] {
  switch (entry.state) {
    case 'pending':
      return entry.mayBeBought ? ['hold'] : ['hold', 'cancel'];
    case 'waiting':
      return entry.mayBeBought ? ['retry', 'hold'] : ['retry', 'hold', 'cancel'];
    case 'unknown':
    case 'placed':
      return ['retry', 'hold'];
    case 'held': {
      // The outcome of a placed entry is known: it is bought, and must not be cancelled.
      const isClean =
        !entry.mayBeBought && (entry.heldFrom === 'pending' || entry.heldFrom === 'waiting');
      return isClean ? ['release', 'cancel'] : ['release'];
    }
    case 'needs_review':
      return ['retry', 'resolve'];
    case 'rejected':
    case 'expired':
    case 'cancelled':
      // Nothing was bought under this reference: an operator may re-order once, under a new one.
      return entry.mayBeBought || entry.replaced ? [] : ['reorder'];
    case 'fulfilled':
      return entry.unitsMissing > 0 ? ['resolve'] : [];
    case 'sending':
    case 'refunded':
      return [];
  }
}
