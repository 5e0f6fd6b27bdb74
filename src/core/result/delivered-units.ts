import type { Unit } from '../decision/order-answer.ts';

/** The fields that identify a unit, the surest first. Several units may have the same `url`. */
const identifying = ['code', 'iccid', 'lpa', 'pin', 'serial', 'url'] as const;

function isSame(one: Unit, other: Unit): boolean {
  const field = identifying.find((name) => one[name] !== undefined && other[name] !== undefined);
  return field !== undefined && one[field] === other[field];
}

/**
 * The units of an order after another answer: those that it shows, and those that an earlier answer showed and this one
 * does not. The spec does not say that an answer repeats earlier units, and a lost code is lost money.
 */
export function withDelivered(shown: readonly Unit[], before: readonly Unit[]): readonly Unit[] {
  return [...shown, ...before.filter((unit) => !shown.some((other) => isSame(other, unit)))];
}
