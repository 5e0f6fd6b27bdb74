import type { OutcomeRow } from '../decision/outcome.ts';
import type { OrderRules } from '../order/order-request.ts';
import type { Purchase } from '../order/purchase.ts';
import type { RecoveryStage } from './states.ts';

/** An entry that takes the place of a refused one, with a changed body and so with a reference of its own. */
export interface Replacement extends Pick<Purchase, 'quantity' | 'currency'> {
  readonly generation: number;
  readonly part: number;
}

export interface RejectedEntry extends Replacement {
  readonly rules: OrderRules;
  /** The most that this variant is known to be sold with one order, if a refusal has told. */
  readonly knownLimit: number | null;
  /** Not `none` where an outbox that was lost may have bought it. */
  readonly recoveryStage: RecoveryStage;
}

/** How often a body may change on the way; a quantity of 10,000 is halved 14 times. */
const deepest = 20;

/**
 * The parts of an order above the per-order limit (Spec 7, `limit_exceeded`: "Split into several orders, each with its
 * own reference"). Always halves: the limit's number is not shown in the spec, and a fixed way of parting gives the
 * same parts the same references, whatever has been learned meanwhile. A known limit only saves the calls between.
 */
function partsOf(entry: RejectedEntry, quantity: number): readonly Replacement[] {
  if (quantity < 2 || entry.generation >= deepest) return [];
  const larger = Math.ceil(quantity / 2);
  const halves: Replacement[] = [larger, quantity - larger].map((size, half) => ({
    generation: entry.generation + 1,
    part: entry.part * 2 + half,
    quantity: size,
    currency: entry.currency,
  }));
  return halves.flatMap((half) => {
    const size = half.quantity ?? 1;
    const isTooLarge = entry.knownLimit !== null && size > entry.knownLimit && size > 1;
    return isTooLarge ? partsOf({ ...entry, ...half }, size) : [half];
  });
}

/** What is ordered instead of an entry that was refused above the per-order limit; nothing unless its order allows it. */
export function splitInto(entry: RejectedEntry): readonly Replacement[] {
  const { rules, quantity, recoveryStage } = entry;
  if (rules.split !== true || quantity === null) return [];
  // The limit may have been higher before a loss: larger parts than today's may be bought, and are looked up one by one.
  const knownLimit = recoveryStage === 'none' ? entry.knownLimit : null;
  return partsOf({ ...entry, knownLimit }, quantity);
}

/** How often an order is halved to find what is in stock: at most 15 calls, and as exact as an eighth of it. */
const deepestForStock = 3;

/**
 * What is ordered instead of an entry of which fewer are in stock (Spec 7, `out_of_stock`: "Order fewer or try later").
 * No answer shows how many there are, so halves are ordered; what is still short is told as such.
 */
function fewerFor(entry: RejectedEntry): readonly Replacement[] {
  if (entry.rules.partial !== true || entry.quantity === null || entry.generation >= deepestForStock) return [];
  return partsOf({ ...entry, knownLimit: null }, entry.quantity);
}

/** The same order charged to the other balance (Spec 7, `insufficient_balance`), if its order names one. */
export function fallbackFor(entry: RejectedEntry): readonly Replacement[] {
  const other = entry.rules.fallback_currency;
  if (other === undefined || other === entry.currency || entry.generation >= deepest) return [];
  return [{ generation: entry.generation + 1, part: entry.part * 2, quantity: entry.quantity, currency: other }];
}

/** What the order allows in place of a refusal that time may change. */
export function replacementsFor(row: OutcomeRow, entry: RejectedEntry): readonly Replacement[] {
  if (row === 'insufficient_balance') return fallbackFor(entry);
  return row === 'out_of_stock' ? fewerFor(entry) : [];
}
