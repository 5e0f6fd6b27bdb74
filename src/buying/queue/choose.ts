import { mayBeElsewhere } from '../../core/entry/after-loss.ts';
import { judgeResend, type ResendFacts } from '../../core/entry/resend.ts';
import type { OrderRules } from '../../core/order/order-request.ts';
import type { Purchase } from '../../core/order/purchase.ts';
import type { Lane, QueueState } from '../../store/entries/lanes.ts';
import type { Exposure } from '../../store/entries/open-calls.ts';
import {
  isLanePaused,
  keyOfOtherAccount,
  type Pause,
  type PausedScopes,
} from '../../store/entries/pauses.ts';
import type { ProductStates } from '../breakers/products.ts';
import { mayStart } from './exposure.ts';

/*
 * Chooses what is called next, among candidates that were read from the outbox. Everything here is
 * pure: the claim then writes what was chosen if it is still so.
 */

/** What becomes of a candidate. `skip`: it stays where it is, and another one is chosen. */
export type Step =
  | { readonly step: 'send' }
  | { readonly step: 'skip' }
  /** The state of its order in the shop, or an operator, must change first. */
  | { readonly step: 'hold'; readonly why: string }
  /** It would exceed a limit on spending. */
  | { readonly step: 'over_limit'; readonly limit: string; readonly why: string }
  /**
   * Its outcome is unknown from now on: an outbox that was lost may have sent it, or see `askFirst`.
   */
  | { readonly step: 'recover'; readonly isAfterLoss: boolean }
  /** Its order is read from the shop again before it is bought. */
  | { readonly step: 'recheck'; readonly source: string; readonly orderId: string }
  | { readonly step: 'lookup' }
  | { readonly step: 'review'; readonly reason: string };

/** A lane with entries in this state of which one is due. */
export interface Candidates {
  readonly state: QueueState;
  readonly lane: string;
  readonly read: Lane;
  /** An entry of the lane was refused, and waits. */
  readonly hasWaiting: boolean;
}

export interface LaneRules {
  readonly paused: PausedScopes;
  /** The paused scopes whose trial order may be sent now, and how often each was tried. */
  readonly trials: ReadonlyMap<string, number>;
  readonly exposure: Exposure;
  readonly maxUnknownOutcomes: number;
  readonly products: ProductStates;
  /**
   * Families of which no further order may be open until one was delivered under the present
   * mapping.
   */
  readonly fullFamilies: ReadonlySet<string>;
  /**
   * How old the known state of an order of this source may be, in ms; null: any. -Infinity: nothing
   * of it is sent yet.
   */
  readonly maxAgeMs: (source: string) => number | null;
}

/** Whether an entry of this lane may be sent now. */
export function mayClaim(lane: Lane, rules: LaneRules): boolean {
  const { product, family, source } = lane;
  if (rules.maxAgeMs(source) === Number.NEGATIVE_INFINITY || isLanePaused(lane, rules.paused))
    return false;
  if (!mayStart(rules.exposure, product, rules.products, rules.maxUnknownOutcomes)) return false;
  // A cancel delivers nothing, so it does not wait for the first delivered order.
  return product === null || !rules.fullFamilies.has(family);
}

/** The places of lanes: the smallest number comes first. */
export const places = { trial: -2, usual: 0, new: 1, failing: 2 } as const;

/**
 * The place of a lane. The trial of a balance takes turns between products that it refused and
 * others, of these first the proven ones; that of a family goes to a proven product, which tells most, or a new one. Otherwise
 * products that fail come last, and while many do, new ones come after proven ones.
 */
export function placeOf({ read, hasWaiting }: Candidates, { products, trials }: LaneRules): number {
  const { product, family, balance } = read;
  const isFailing = product !== null && products.isFailing(product);
  const isNew = product !== null && !isFailing && !products.isProven(product);
  if (trials.has(family) && product !== null && !isFailing)
    return isNew ? places.trial + 1 : places.trial;
  const turn = balance === null ? undefined : trials.get(balance);
  if (turn !== undefined) {
    if (hasWaiting !== (turn % 2 === 1)) return places.usual;
    // Many may be too dear for what is left: one that was bought before tells most, too.
    return !hasWaiting && (isNew || isFailing) ? places.trial + 1 : places.trial;
  }
  if (isFailing) return places.failing;
  return isNew && products.manyFail() ? places.new : places.usual;
}

/** An entry that was never sent, or that waited to be sent again. */
export interface NewFacts extends Pick<Purchase, 'operation'> {
  readonly heldByShop: string | null;
  readonly lostOutboxMayHaveSent: boolean;
  /**
   * Its last call may have bought it, whatever was answered, and this key may be of another account,
   * where it would be bought a second time; or the reference is too old.
   */
  readonly askFirst: boolean;
  /**
   * Its order in the shop as it is known; null: it came in another way, or an operator has decided
   * without the shop.
   */
  readonly shopOrder: {
    readonly source: string;
    readonly orderId: string;
    readonly currentAtMs: number;
  } | null;
}

export function judgeNew(
  facts: NewFacts,
  { maxAgeMs }: Pick<LaneRules, 'maxAgeMs'>,
  nowMs: number,
): Exclude<Step, { step: 'skip' }> {
  const { operation, heldByShop, lostOutboxMayHaveSent, shopOrder } = facts;
  if (heldByShop !== null) return { step: 'hold', why: heldByShop };
  if (lostOutboxMayHaveSent || facts.askFirst)
    return { step: 'recover', isAfterLoss: lostOutboxMayHaveSent };
  // A cancel returns money: it buys nothing.
  const mostMs =
    shopOrder === null || operation === 'esim_cancel' ? null : maxAgeMs(shopOrder.source);
  if (shopOrder === null || mostMs === null) return { step: 'send' };
  const ageMs = nowMs - shopOrder.currentAtMs;
  // A time ahead of the clock comes from a clock that was set: nobody knows how old the state is.
  if (ageMs >= 0 && ageMs <= mostMs) return { step: 'send' };
  return { step: 'recheck', source: shopOrder.source, orderId: shopOrder.orderId };
}

/** An entry of unknown outcome that is due to be sent again. */
export interface UnknownFacts extends Omit<ResendFacts, 'canLookUp' | 'mayBeElsewhere'>, Purchase {
  readonly rules: OrderRules;
  readonly originReference: string | null;
  readonly heldByShop: string | null;
  /**
   * Null: a lookup with this key tells what became of its last call. 0: only "found" counts. 1:
   * another key must ask.
   */
  readonly otherSender: 0 | 1 | null;
  /** The pause of the key that sent it, where that is another one. */
  readonly senderPause: Pick<Pause, 'reason' | 'openedBy'> | null;
  /** A scope of it sends nothing now. */
  readonly isPaused: boolean;
}

export interface ResendRules {
  readonly referenceExpiryMs: number;
  /** Whether a lookup can tell what became of such an order. */
  readonly canLookUp: (operation: Purchase['operation'], originReference: string | null) => boolean;
  /** Whether a lookup has ever found such an order: only then does "not found" prove anything. */
  readonly lookupsProven: (operation: Purchase['operation']) => boolean;
}

const senderGone =
  'the key that sent the line is gone or buys nothing any more, and the present key may belong to another account, which could buy the line a second time';

/** @param latestMs the latest time that it may be now */
export function judgeUnknown(facts: UnknownFacts, rules: ResendRules, latestMs: number): Step {
  const { otherSender, senderPause, heldByShop } = facts;
  // Its key buys nothing any more: once it is proven absent there, any other key may send it.
  const isStopped = otherSender === 1 && senderPause !== null;
  if (otherSender === 1 && !isStopped) return { step: 'skip' };
  const next = resendOrLookUp(facts, rules, latestMs);
  // It waits for the operator who paused its key, as all that is paused does.
  if (next.step === 'skip' && isStopped && senderPause.openedBy !== 'worker') return next;
  if (otherSender === 0 || (otherSender === 1 && next.step === 'skip'))
    return { step: 'review', reason: senderGone };
  return next.step === 'send' && heldByShop !== null ? { step: 'hold', why: heldByShop } : next;
}

function resendOrLookUp(facts: UnknownFacts, rules: ResendRules, latestMs: number): Step {
  const { operation, otherSender, senderPause } = facts;
  const canLookUp = rules.canLookUp(operation, facts.originReference);
  const verdict = judgeResend(
    { ...facts, canLookUp, mayBeElsewhere: mayBeElsewhere(facts) },
    rules,
    latestMs,
  );
  if (verdict.step !== 'send' || !(facts.isPaused || otherSender === 1)) return verdict;
  // It counts as unknown, and would hold up others as long as its scope is paused. A key of another
  // account is still asked for what was sent with it.
  const isSenderAsked =
    otherSender === 1 && senderPause?.reason === keyOfOtherAccount && operation !== 'esim_cancel';
  return {
    step: canLookUp && (isSenderAsked || rules.lookupsProven(operation)) ? 'lookup' : 'skip',
  };
}
