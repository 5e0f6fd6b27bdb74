import type { SeededRandom } from './seeded-random.ts';

/**
 * One reading of everything that the specification leaves open. Each run draws one, and the worker
 * must keep its promises with all of them.
 */
export interface ApiReadings {
  /** Whether the API looks for a known reference before its checks, or after them. */
  readonly replay: 'first' | 'after_checks';
  /** Whether a refused reference is refused for ever. */
  readonly refusalsStick: boolean;
  /** How long after the order a lookup finds it. */
  readonly lookupLagMs: number;
  readonly lookup: boolean;
  /** What of an order its answers repeat; `goods`: all but its reference. */
  readonly echo: boolean | 'goods';
  readonly costShown: boolean;
  /** Whether the answer to a cancel shows what came back. */
  readonly refundShown?: boolean;
  readonly envelope: '$' | 'data' | 'order';
  readonly doneWord: string | null;
  readonly pendingWord: string | null;
  /** How a cancelled eSIM shows in a lookup of its order. */
  readonly cancelShows: 'order_refunded' | 'unit_cancelled' | 'nothing';
  readonly notCancellableMessage: string;
  readonly couldNotCheckMessage: string;
  /** The share of orders whose units are delivered later, and after how long at most. */
  readonly laterShare: number;
  readonly laterMs: number;
  /** The share of orders whose units are never delivered. */
  readonly neverShare: number;
  readonly refundedShare: number;
  readonly failedShare: number;
  /** In which fields the codes of gift cards are; absent: a code. A card has a number that others have, too, and a PIN. */
  readonly unitForm?: 'card' | 'link';
  /** Costs are no plain amounts. */
  readonly strangeCosts?: true;
  /** Whether units have a field that the mapping does not read. */
  readonly unreadField?: true;
}

export const plainReadings: ApiReadings = {
  replay: 'first',
  refusalsStick: false,
  lookupLagMs: 0,
  lookup: true,
  echo: true,
  costShown: true,
  envelope: '$',
  doneWord: 'completed',
  pendingWord: 'processing',
  cancelShows: 'order_refunded',
  notCancellableMessage: 'This eSIM cannot be cancelled.',
  couldNotCheckMessage: 'The state could not be checked, try again in a minute.',
  laterShare: 0,
  laterMs: 0,
  neverShare: 0,
  refundedShare: 0,
  failedShare: 0,
};

export function drawReadings(random: SeededRandom): ApiReadings {
  const rare = (share: number): number => (random.chance(0.15) ? share : 0);
  return {
    replay: random.pick('first', 'after_checks'),
    refusalsStick: random.chance(0.3),
    lookupLagMs: random.pick(0, 0, 2000, 12_000, 25_000),
    lookup: random.chance(0.85),
    echo: random.chance(0.7),
    costShown: random.chance(0.8),
    envelope: random.pick('$', '$', 'data', 'order'),
    doneWord: random.pick('completed', 'delivered', 'OK', 'SUCCESS', null),
    pendingWord: random.pick('processing', 'pending', 'accepted', 'in progress', null),
    cancelShows: random.pick('order_refunded', 'order_refunded', 'unit_cancelled', 'nothing'),
    notCancellableMessage: random.pick(
      'not cancellable',
      'The eSIM is already cancelled.',
      'Please retry later.',
      '',
    ),
    couldNotCheckMessage: random.pick('could not check', 'already cancelled or installed', ''),
    laterShare: random.pick(0, 0, 0.3, 1),
    laterMs: random.pick(3000, 60_000, 200_000),
    neverShare: rare(0.2),
    refundedShare: rare(0.3),
    failedShare: rare(0.2),
  };
}
