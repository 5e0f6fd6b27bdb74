import type { OrderAnswer } from './order-answer.ts';
import type { EntryFacts } from './settlement.ts';

/**
 * Whether everything that was ordered is there. Decided by the units, not by a status word: suppliers use many, and
 * the spec names only `refunded` (Spec 3).
 */
export function isComplete(facts: EntryFacts, answer: OrderAnswer): boolean {
  switch (facts.operation) {
    case 'gift_card_order':
    case 'esim_order':
      return answer.units.length >= (facts.quantity ?? 1);
    case 'esim_topup':
      // A top-up delivers nothing but its own acceptance.
      return answer.statusClass !== 'pending';
    case 'esim_cancel':
      return true;
  }
}

/**
 * Whether an order shows that one of its eSIMs was cancelled. The word of the eSIM itself counts; the word of the order
 * only where the order holds no other eSIM, whose cancel it might be telling of.
 */
export function showsCancelled(answer: OrderAnswer, iccid: string | null): boolean {
  const gone = /^(cancel|refund)/i;
  const word = answer.units.find((unit) => unit.iccid === iccid)?.status;
  if (word !== undefined) return gone.test(word);
  return answer.units.length <= 1 && (answer.statusClass === 'refunded' || gone.test(answer.status ?? ''));
}
