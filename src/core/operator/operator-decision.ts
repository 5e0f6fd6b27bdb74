import { allowedActions, type ActionSubject, type EntryActionName } from '../entry/states.ts';
import type { Unit } from '../answers/order-answer.ts';
import {
  isMaybeBought,
  mayBeBought,
  outcomeKnown,
  rejectedByOperator,
  type PurchaseFacts,
} from '../entry/may-be-bought.ts';
import { deliversUnits, type ReferencedPurchase } from '../order/purchase.ts';
import { judgeResend } from '../entry/resend.ts';
import type { OperatorCommand } from './operator-command.ts';
import { missingUnits } from '../answers/units.ts';
import { refuse, unitsByOperator } from './units-by-operator.ts';

type WithoutFrame<Command> = Command extends unknown
  ? Omit<Command, 'reference' | 'actor' | 'reason'>
  : never;
export type EntryAction = WithoutFrame<Extract<OperatorCommand, { action: EntryActionName }>>;

export interface OperatorFacts
  extends Omit<ActionSubject, 'mayBeBought'>,
    PurchaseFacts,
    Pick<ReferencedPurchase, 'reference' | 'operation' | 'variant' | 'plan' | 'quantity'> {
  readonly nextStep: 'send' | 'lookup';
  readonly dueAtMs: number;
  readonly inFlightWindowEndMs: number | null;
  /** How long the API may still process the last call, in ms. */
  readonly inFlightWindowLeftMs: number;
  readonly notAfterMs: number | null;
  /** Without those that may be of another order. */
  readonly units: readonly Unit[];
  /** Its order number may be that of another order: one that is entered takes its place. */
  readonly inQuestion: boolean;
  readonly reviewReason: string | null;
  /** A call for it is in flight; a lookup does not change the state. */
  readonly callOpen: boolean;
  /** Whether a lookup can tell what became of it. */
  readonly canLookUp: boolean;
}

interface OperatorPolicy {
  /** In steady time, as all times of the facts. */
  readonly nowMs: number;
  /**
   * After this long since the first send the same reference is not sent again: the API may have
   * forgotten it.
   */
  readonly referenceExpiryMs: number;
}

/** The change of the entry. The store writes every field as it is. */
export interface OperatorMove
  extends Pick<
    OperatorFacts,
    | 'state'
    | 'nextStep'
    | 'dueAtMs'
    | 'outcomeUnknown'
    | 'inFlightWindowEndMs'
    | 'reviewReason'
    | 'heldFrom'
    | 'orderNumber'
  > {
  readonly error: 'keep' | null | { readonly code: string; readonly message: string };
  /** All units of the entry; null: as they were. */
  readonly units: readonly Unit[] | null;
  readonly restartsSchedule: boolean;
  /** Whether another entry, under a new reference, replaces it. */
  readonly reorders: boolean;
  /** It ends as cancelled once lookups have not found it. */
  readonly isEnding: boolean;
}

type OperatorVerdict =
  | { readonly ok: true; readonly move: OperatorMove }
  | ReturnType<typeof refuse>;

const accept = (move: OperatorMove): OperatorVerdict => ({ ok: true, move });

const unchanged = (facts: OperatorFacts): OperatorMove => ({
  ...facts,
  error: 'keep',
  units: null,
  restartsSchedule: false,
  reorders: false,
  isEnding: false,
});

type ResolveAction = Extract<EntryAction, { action: 'resolve' }>;

/** The error of a line that an operator found to be the same purchase as another one. */
export const samePurchase = 'same_purchase';

/**
 * How an unknown outcome is settled now: by a lookup; if there are none, by sending the same
 * reference, before its expiry and its deadline. Says why neither can be done.
 */
function reconcile(
  facts: OperatorFacts,
  policy: OperatorPolicy,
): { step: 'send' | 'lookup' } | { why: string } {
  if (facts.canLookUp) return { step: 'lookup' };
  const verdict = judgeResend(
    { ...facts, askedAfterLoss: null, mayBeElsewhere: false, isEnding: false },
    policy,
    policy.nowMs,
  );
  return verdict.step === 'review' ? { why: verdict.reason } : verdict;
}

/**
 * Decides whether an operator may do this, and what it changes. Pure. An action never buys twice,
 * never hides a purchase, and never leads to a new reference while the outcome of the old one is
 * unknown.
 */
export function decideAction(
  facts: OperatorFacts,
  order: EntryAction,
  policy: OperatorPolicy,
): OperatorVerdict {
  const subject = { ...facts, mayBeBought: mayBeBought(facts) };
  const allowed = allowedActions(subject);
  const may =
    allowed.length === 0
      ? 'no action is possible for this entry'
      : `what can be done: ${allowed.join(', ')}`;
  if (facts.callOpen && facts.state !== 'sending') {
    return refuse(`a call for ${facts.reference} is in flight`, 'try again when the call is over');
  }
  if (!allowed.includes(order.action)) {
    const unknown = isMaybeBought(subject) ? ' and may have been bought' : '';
    const instead = facts.replaced ? ', and another reference replaced this one' : '';
    const why = `${facts.reference} is ${facts.state}${unknown}${instead}, so the entry cannot be changed by ${order.action}`;
    return refuse(
      why,
      facts.state === 'sending'
        ? 'a call for this entry is in flight: try again when the call is over'
        : may,
    );
  }
  const move = unchanged(facts);
  switch (order.action) {
    case 'hold':
      return accept({ ...move, state: 'held', heldFrom: facts.state });
    case 'release':
      return release(facts, policy);
    case 'cancel':
      return cancel(facts, policy);
    case 'retry':
      return retry(facts, policy);
    case 'resolve':
      return resolve(facts, order);
    case 'reorder':
      if (order.confirm !== facts.reference) {
        return refuse(
          'the reorder was not confirmed with the reference of the entry',
          `the line gets a new reference, which can buy the line a second time: to confirm, add --confirm ${facts.reference}`,
        );
      }
      return accept({ ...move, reorders: true });
  }
}

function cancel(facts: OperatorFacts, { nowMs }: OperatorPolicy): OperatorVerdict {
  const error = facts.hasOtherId
    ? {
        code: samePurchase,
        message:
          "the line is the same purchase as another line of the shop's order; nothing was charged for this line",
      }
    : {
        code: 'cancelled_by_person',
        message: 'cancelled by an operator before it was bought; nothing was charged',
      };
  const cancelled = { ...unchanged(facts), heldFrom: null, reviewReason: null, error };
  if (!facts.sentSinceLookup) return accept({ ...cancelled, state: 'cancelled' });
  const ending = { state: 'unknown', nextStep: 'send', dueAtMs: nowMs, isEnding: true } as const;
  return accept({ ...cancelled, ...ending });
}

function release(facts: OperatorFacts, policy: OperatorPolicy): OperatorVerdict {
  const { nowMs } = policy;
  const back = {
    ...unchanged(facts),
    state: facts.heldFrom ?? 'needs_review',
    heldFrom: null,
    reviewReason: null,
  };
  if (facts.heldFrom === 'placed') return accept({ ...back, nextStep: 'lookup', dueAtMs: nowMs });
  if (facts.heldFrom !== 'unknown') return accept(back);
  // Time has passed: the reference may have expired.
  const next = reconcile(facts, policy);
  if ('why' in next) return accept({ ...back, state: 'needs_review', reviewReason: next.why });
  return accept({ ...back, nextStep: next.step, dueAtMs: nowMs });
}

function retry(facts: OperatorFacts, policy: OperatorPolicy): OperatorVerdict {
  const now = { ...unchanged(facts), dueAtMs: policy.nowMs };
  if (facts.state === 'waiting' || facts.state === 'placed') return accept(now);
  const again = { ...now, reviewReason: null, restartsSchedule: facts.state === 'needs_review' };
  if (!mayBeBought(facts)) return accept({ ...again, state: 'waiting', nextStep: 'send' });
  const isAccepted =
    !facts.outcomeUnknown && facts.row === 'accepted' && facts.operation !== 'esim_cancel';
  if (isAccepted && facts.canLookUp)
    return accept({ ...again, state: 'placed', nextStep: 'lookup' });
  const next = reconcile(facts, policy);
  if ('why' in next) {
    return refuse(
      `${facts.reference}: ${next.why}`,
      'compare the entry with the list of the supplier, then resolve it',
    );
  }
  return accept({ ...again, state: 'unknown', nextStep: next.step, outcomeUnknown: true });
}

const ownNumber = ({ orderNumber, inQuestion }: OperatorFacts): string | null =>
  inQuestion ? null : orderNumber;

function resolve(facts: OperatorFacts, order: ResolveAction): OperatorVerdict {
  const known = ownNumber(facts);
  if (known !== null && order.orderNumber !== null && order.orderNumber !== known) {
    return refuse(
      `the supplier's order is ${known}, not ${order.orderNumber}`,
      'an order number that the API gave is never replaced',
    );
  }
  const iccids = order.iccids ?? [];
  if (iccids.length > 0 && (facts.operation !== 'esim_order' || order.as !== 'fulfilled')) {
    return refuse(
      `${facts.reference} brought no eSIMs as ${order.as}`,
      'only an eSIM order that was bought has eSIMs',
    );
  }
  const ordered = facts.quantity ?? 1;
  if (new Set(iccids).size > ordered) {
    return refuse(
      `${iccids.length} eSIMs are more than the ${ordered} that were ordered`,
      'name the eSIMs of this order only',
    );
  }
  if (
    facts.state === 'fulfilled' &&
    (order.as !== 'fulfilled' || (order.units ?? []).length === 0)
  ) {
    return refuse(
      `${facts.reference} is fulfilled: only its ${facts.unitsMissing} missing units can be entered`,
      'enter them with --as fulfilled --units FILE, or end its row in the attention list with `order-sync orders ack`',
    );
  }
  if (order.as === 'rejected') return resolveAsRejected(facts, order);
  const orderNumber = known ?? order.orderNumber;
  // A cancel and a top-up have no order of their own that an operator could name.
  const needsNumber = deliversUnits(facts.operation) && facts.state !== 'fulfilled';
  if (needsNumber && orderNumber === null && order.note === null) {
    return refuse(
      `an entry that is resolved as ${order.as} without an order number cannot be checked`,
      'give --order-number from the list of the supplier, or --note with what you know',
    );
  }
  // All that were ordered take the place of what answers showed: nothing of it was delivered yet. If
  // the operator knows none although all were shown, the order may have been in progress, or only a
  // field was not read: nothing is erased before they say that those are no units.
  const isWhole = order.units?.length === ordered;
  const areShown = deliversUnits(facts.operation) && missingUnits(facts, facts.units) === 0;
  const areNone = areShown && order.units?.length === 0;
  if (areNone && order.note === null) {
    return refuse(
      `the answers of the API showed all the units of ${facts.reference}`,
      'to deliver these units, leave out --no-units; to deliver other units, enter them with --units; if the supplier delivered nothing, add --note: this erases the units that the API showed',
    );
  }
  const isOther = facts.state === 'needs_review' && (isWhole || areNone);
  const before = isOther ? { ...facts, units: [] } : facts;
  const entered = unitsByOperator(before, order.as, order.units);
  if (!entered.ok) return entered;
  return accept({ ...resolved(facts, order), units: entered.units, error: null });
}

function resolved(facts: OperatorFacts, order: ResolveAction): OperatorMove {
  const orderNumber = ownNumber(facts) ?? order.orderNumber;
  return { ...unchanged(facts), ...outcomeKnown, state: order.as, reviewReason: null, orderNumber };
}

/** An operator found that nothing was bought: refused while there is evidence that something was. */
function resolveAsRejected(facts: OperatorFacts, order: ResolveAction): OperatorVerdict {
  const { reference, orderNumber, units } = facts;
  const entered = unitsByOperator(facts, order.as, order.units);
  if (!entered.ok) return entered;
  if (units.length > 0) {
    return refuse(
      `${units.length} units of ${reference} were delivered, so the order was bought`,
      'resolve the entry as fulfilled, or as refunded when the money is back',
    );
  }
  if (orderNumber !== null && order.orderNumber !== orderNumber) {
    return refuse(
      `the supplier has this entry as order ${orderNumber}`,
      `if nothing was charged for that order, repeat its number with --order-number ${orderNumber}`,
    );
  }
  if (facts.outcomeUnknown && facts.inFlightWindowLeftMs > 0) {
    const seconds = Math.ceil(facts.inFlightWindowLeftMs / 1000);
    return refuse(
      `the last call for ${reference} may still be processed by the API`,
      `an order that is not listed yet can still appear: look again in ${seconds} s`,
    );
  }
  const note = order.note === null ? '' : `: ${order.note}`;
  const error = {
    code: rejectedByOperator,
    message: `an operator found that the line was not bought${note}`,
  };
  return accept({ ...resolved(facts, order), units: entered.units, error });
}
