import type { OutcomeRow } from '../answers/outcome.ts';
import type { OrderRules } from '../order/order-request.ts';
import type { Purchase } from '../order/purchase.ts';

/** The order that replaces a rejected entry, by a corrected SKU map. */
export interface NewRequest extends Purchase {
  readonly rules: OrderRules;
  /** Wall time in ms; null: it has no deadline. */
  readonly notAfterMs: number | null;
}

/**
 * An entry that takes the place of a rejected one. Its request differs, so it has a reference of
 * its own.
 */
export interface Replacement extends Pick<Purchase, 'quantity' | 'currency'> {
  readonly generation: number;
  readonly part: number;
  /** Absent: those of the rejected entry. */
  readonly rules?: OrderRules;
}

export interface RejectedEntry extends Replacement {
  readonly rules: OrderRules;
  /** The most units of this variant that one order may have, as far as a rejection has shown. */
  readonly knownLimit: number | null;
}

/** How often a line may be replaced; a quantity of 10,000 is split 14 times. */
const deepest = 20;

/**
 * The parts of an order above the per-order limit (Spec 7, `limit_exceeded`: "Split into several
 * orders, each with its own reference"). Each split makes two parts: the spec does not show the
 * limit, and a fixed rule gives the same parts the same references, whatever was learned since. A
 * known limit only saves the calls between.
 */
function partsOf(entry: RejectedEntry, quantity: number): readonly Replacement[] {
  if (quantity < 2 || entry.generation >= deepest) return [];
  const larger = Math.ceil(quantity / 2);
  const parts: Replacement[] = [larger, quantity - larger].map((size, index) => ({
    generation: entry.generation + 1,
    part: entry.part * 2 + index,
    quantity: size,
    currency: entry.currency,
  }));
  return parts.flatMap((part) => {
    const size = part.quantity ?? 1;
    const isTooLarge = entry.knownLimit !== null && size > entry.knownLimit && size > 1;
    return isTooLarge ? partsOf({ ...entry, ...part }, size) : [part];
  });
}

/**
 * The parts of an entry that was rejected above the per-order limit; none unless its order allows a
 * split.
 */
export function splitInto(entry: RejectedEntry): readonly Replacement[] {
  const { rules, quantity } = entry;
  return rules.split !== true || quantity === null ? [] : partsOf(entry, quantity);
}

/**
 * How often an order is split to find what is in stock: at most 15 calls, and as exact as an eighth
 * of it.
 */
const deepestForStock = 3;

/**
 * The parts of an entry of which fewer are in stock (Spec 7, `out_of_stock`: "Order fewer or try
 * later"). No answer shows how many there are, so it is split; missing units are reported as short.
 */
function fewerFor(entry: RejectedEntry): readonly Replacement[] {
  if (
    entry.rules.partial !== true ||
    entry.quantity === null ||
    entry.generation >= deepestForStock
  )
    return [];
  return partsOf({ ...entry, knownLimit: null }, entry.quantity);
}

/**
 * The same order charged to the other balance (Spec 7, `insufficient_balance` and
 * `currency_unavailable`: "charge the other balance"), if its order names one. A balance that is
 * empty has its turn again when the other one refuses the order, too; one without a price has not.
 */
function fallbackFor(row: OutcomeRow, entry: RejectedEntry): readonly Replacement[] {
  const { rules, currency, quantity } = entry;
  const other = rules.fallback_currency;
  if (other === undefined || other === currency || entry.generation >= deepest) return [];
  const back = row === 'insufficient_balance' && currency !== null ? currency : other;
  return [
    {
      generation: entry.generation + 1,
      part: entry.part * 2,
      quantity,
      currency: other,
      rules: { ...rules, fallback_currency: back },
    },
  ];
}

/** The replacements that the order allows instead of waiting after a rejection. */
export function replacementsFor(row: OutcomeRow, entry: RejectedEntry): readonly Replacement[] {
  if (row === 'insufficient_balance' || row === 'currency_unavailable')
    return fallbackFor(row, entry);
  return row === 'out_of_stock' ? fewerFor(entry) : [];
}
