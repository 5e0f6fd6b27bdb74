import type { OrderRules } from '../order/order-request.ts';
import type { Purchase } from '../order/purchase.ts';
import type { RecoveryStage } from './states.ts';

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

/** Only gift cards are ordered in parts: the rejections that lead to it are theirs (Spec 7). */
export const mayHaveParts = (order: Order, rule: 'split' | 'partial'): boolean =>
  order.operation === 'gift_card_order' && order.rules[rule] === true && (order.quantity ?? 1) > 1;

/**
 * Whether it may have been bought under other references than its own: from another balance, or in
 * parts.
 */
export function mayBeElsewhere(order: Order): boolean {
  // Rules are those of a whole order. A cancel has no parts and charges no balance.
  if (order.operation === 'esim_cancel') return false;
  const { fallback_currency: other } = order.rules;
  if (other !== undefined && other !== order.currency) return true;
  return mayHaveParts(order, 'split') || mayHaveParts(order, 'partial');
}

/**
 * Whether parts of an order may be bought although it was proven absent itself: the size of the
 * parts depends on the per-order limit at that time, so they are found only when the same limit
 * rejects the whole order again.
 */
export function mayHaveBoughtParts(
  order: Order & { readonly recoveryStage: RecoveryStage },
): boolean {
  return order.recoveryStage !== 'none' && mayHaveParts(order, 'split');
}
