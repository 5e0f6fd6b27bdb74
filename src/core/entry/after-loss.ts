import type { OrderRules } from '../order/order-request.ts';
import type { Purchase } from '../order/purchase.ts';
import type { EntryState } from './states.ts';

/** How long after a loss shops may send their orders again. */
export const afterLossMs = 7 * 86_400_000;

/**
 * The reason of the pause that lets the calls of the lost outbox come to their end. It needs no
 * probe: it is only a wait.
 */
export const olderCopyPause = 'older_copy';

interface Order extends Pick<Purchase, 'operation' | 'quantity' | 'currency'> {
  readonly rules: OrderRules;
}

/** Only gift cards are bought in parts: the rejections that lead to it are theirs (Spec 7). */
export const mayBeInParts = ({ operation, quantity, rules }: Order): boolean =>
  operation === 'gift_card_order' &&
  (rules.split === true || rules.partial === true) &&
  (quantity ?? 1) > 1;

/**
 * Whether rules may have bought it under other references than its own: from another balance, or in
 * parts.
 */
export function mayBeElsewhere(order: Order): boolean {
  // Rules are those of a whole order. A cancel has no parts and charges no balance.
  if (order.operation === 'esim_cancel') return false;
  const { fallback_currency: other } = order.rules;
  return (other !== undefined && other !== order.currency) || mayBeInParts(order);
}

/**
 * Of an entry that a lost outbox may have sent, first the entry itself is looked up, and then, since
 * it is absent, what took its place: from the other balance, or re-ordered by an operator. Where it
 * may be in parts that says nothing: the first one may be absent, and another one bought.
 */
export const isReplacementSought = (
  entry: Order & {
    /** 0: a lost outbox may have sent it; 1: lookups have told since; null: none may have. */
    readonly askedAfterLoss: 0 | 1 | null;
    readonly state: EntryState;
    readonly absences: number;
  },
): boolean =>
  entry.state === 'unknown' &&
  entry.askedAfterLoss === 0 &&
  entry.absences > 0 &&
  !mayBeInParts(entry);
