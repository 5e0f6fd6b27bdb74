import { judgeUnits, type OrderOfUnits } from '../decision/believable-units.ts';
import type { Unit } from '../decision/order-answer.ts';

/** How many of the ordered units are not among these. A top-up and a cancel deliver none. */
export function missingUnits(order: OrderOfUnits, units: readonly Unit[]): number {
  const delivers = order.operation === 'gift_card_order' || order.operation === 'esim_order';
  return delivers ? Math.max(0, (order.quantity ?? 1) - judgeUnits(units, order).different) : 0;
}
