import type { Customer } from '../../core/order/customer.ts';
import type { SpendLimit } from './settings.ts';

/*
 * Whether an order may be bought within the limits on spending. Everything here is pure; amounts
 * are whole millionths of a currency.
 */

const windowsMs = { order: null, hour: 3_600_000, day: 86_400_000 } as const;

/** What an order counts as. */
export interface Spending {
  readonly customer: Customer;
  readonly source: string;
  /** Its variant or plan. */
  readonly product: string | null;
  readonly currency: string | null;
  /** What it will probably cost; null: nobody knows. */
  readonly expected: number | null;
  /** The most that it may cost, by its `max_cost`; null: it has none. */
  readonly most: number | null;
}

/** What a unit costs, and the most that its order allows, in units of the currency. */
interface UnitPrice {
  readonly before: number | null;
  readonly now: number;
  readonly most: number | null;
  readonly currency: string;
}

/**
 * Why a product is paused whose unit cost has risen, in words for an operator; null: it has not, or by
 * no more than the limit.
 */
export function whyPriceRose(
  { before, now, most, currency }: UnitPrice,
  maxRisePercent: number,
): string | null {
  const text = (cost: number): string => `${cost.toFixed(2)} ${currency}`;
  // It is told once: an operator may buy more of it at that price.
  if (most !== null && now > most && (before === null || before <= most))
    return `a unit costs ${text(now)}, but the order allows ${text(most)}`;
  if (before === null || !Number.isFinite(maxRisePercent)) return null;
  if (now <= Math.max(before, 0) * (1 + maxRisePercent / 100)) return null;
  return `a unit cost ${text(before)} before, and costs ${text(now)} now`;
}

/** What counts against a limit now. */
export interface Spent {
  readonly millionths: number;
  /** Open orders whose cost nobody knows. */
  readonly unpriced: number;
}

/** Since when what was spent counts, in steady ms; null: only the order itself does. */
export function countedSince({ per }: Pick<SpendLimit, 'per'>, steadyMs: number): number | null {
  const windowMs = windowsMs[per];
  return windowMs === null ? null : steadyMs - windowMs;
}

/** Without a known cost, so many orders may be open at once. */
const mostUnpriced = 2;

export const nameOf = ({ amount, per, source, customer, product }: SpendLimit): string =>
  [
    `${amount.text} per ${per}`,
    source === null ? [] : `from ${source}`,
    customer === null ? [] : `for each customer by ${customer}`,
    product === null ? [] : `of ${product}`,
  ]
    .flat()
    .join(' ');

/** Adds up what counts against each limit, and says which one an order is over. */
export class Room {
  readonly #limits: readonly SpendLimit[];
  readonly #spent: (limit: SpendLimit, customer: string | null) => Spent;
  readonly #known = new Map<string, { millionths: number; unpriced: number }>();

  /** @param spent is asked once for each limit that matters, and each customer where it is for one */
  constructor(
    limits: readonly SpendLimit[],
    spent: (limit: SpendLimit, customer: string | null) => Spent,
  ) {
    this.#limits = limits;
    this.#spent = spent;
  }

  /** The limit that this order would exceed, and why; null: there is room. */
  over(order: Spending): { readonly limit: string; readonly why: string } | null {
    const { most, expected, product } = order;
    if (most !== null && expected !== null && expected > most) {
      const [allowed, costs] = [most, expected].map((sum) => (sum / 1e6).toFixed(2));
      const why = `over max_cost: the order may cost ${allowed}, and costs about ${costs}`;
      return { limit: `max_cost of ${product}`, why };
    }
    for (const limit of this.#of(order)) {
      const { millionths, unpriced } = this.#sumOf(limit, order.customer);
      const limitName = nameOf(limit);
      if (order.expected === null) {
        if (unpriced < mostUnpriced && millionths < limit.amount.millionths) continue;
        const why = `the cost of the line is not known, and ${unpriced} orders of unknown cost are open`;
        return { limit: limitName, why: `over the limit ${limitName}: ${why}` };
      }
      if (millionths + order.expected <= limit.amount.millionths) continue;
      const [spent, costs] = [millionths, order.expected].map((sum) => (sum / 1e6).toFixed(2));
      const why = `${spent} of it are spent or reserved, and this order costs about ${costs}`;
      return { limit: limitName, why: `over the limit ${limitName}: ${why}` };
    }
    return null;
  }

  /** Counts an order that is released, before it is claimed. */
  add(order: Spending): void {
    for (const limit of this.#of(order)) {
      const sum = this.#sumOf(limit, order.customer);
      if (order.expected === null) sum.unpriced += 1;
      else sum.millionths += order.expected;
    }
  }

  /** 0: one order after the other, nothing adds up. */
  usedPercent(limit: SpendLimit): number {
    return (100 * this.#sumOf(limit, null).millionths) / limit.amount.millionths;
  }

  #of({ source, customer, product, currency }: Spending): readonly SpendLimit[] {
    return this.#limits.filter(
      (limit) =>
        limit.amount.currency === currency &&
        (limit.source === null || limit.source === source) &&
        (limit.customer === null || customer[limit.customer] !== null) &&
        (limit.product === null || limit.product === product),
    );
  }

  #sumOf(limit: SpendLimit, customer: Customer | null): { millionths: number; unpriced: number } {
    if (limit.per === 'order') return { millionths: 0, unpriced: 0 };
    const mark = limit.customer === null ? null : (customer?.[limit.customer] ?? null);
    const key = `${this.#limits.indexOf(limit)} ${mark}`;
    const known = this.#known.get(key) ?? { ...this.#spent(limit, mark) };
    this.#known.set(key, known);
    return known;
  }
}
