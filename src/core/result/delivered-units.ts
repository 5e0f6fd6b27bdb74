import type { Unit } from '../decision/order-answer.ts';

/** What tells one unit from another, the surest first: the address to redeem at may be the same for all of them. */
const marks = ['code', 'iccid', 'lpa', 'pin', 'serial', 'url'] as const;

function isSame(one: Unit, other: Unit): boolean {
  const mark = marks.find((name) => one[name] !== undefined && other[name] !== undefined);
  return mark !== undefined && one[mark] === other[mark];
}

/**
 * The units of an order after one more answer: as it shows them, and whatever was delivered before and is not among
 * them. Nothing says that an answer repeats what an earlier one delivered, and a code that is forgotten is money lost.
 */
export function withDelivered(shown: readonly Unit[], before: readonly Unit[]): readonly Unit[] {
  return [...shown, ...before.filter((unit) => !shown.some((other) => isSame(other, unit)))];
}
