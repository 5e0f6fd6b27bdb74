import type { SpendLimit } from './settings.ts';

/*
 * Whether an order may be bought within the limits on spending. Everything here is pure; amounts
 * are whole millionths of a currency.
 */

const windowsMs = { order: null, hour: 3_600_000, day: 86_400_000 } as const;

/** What an order counts as. */
export interface Spending {
  readonly source: string;
  /** Its variant or plan. */
  readonly product: string | null;
  readonly currency: string | null;
  /** What it will probably cost; null: nobody knows. */
  readonly expected: number | null;
}

/**
 * Why a product is paused whose unit cost has risen, in words for an operator; null: it has not, or by
 * no more than the limit.
 */
export function whyPriceRose(
  { before, now, currency }: { before: number | null; now: number; currency: string },
  maxRisePercent: number,
): string | null {
  if (before === null || !Number.isFinite(maxRisePercent)) return null;
  if (now <= Math.max(before, 0) * (1 + maxRisePercent / 100)) return null;
  const [was, is] = [before, now].map((cost) => `${cost.toFixed(2)} ${currency}`);
  return `a unit cost ${was} before, and costs ${is} now`;
}

/** What counts against a limit now. */
export interface Spent {
  readonly millionths: number;
  /** Open orders whose cost nobody knows. */
  readonly unpriced: number;
}

/** Since when what was spent counts, in steady ms; null: only the order itself does. */
export function countedSince({ per }: SpendLimit, steadyMs: number): number | null {
  const windowMs = windowsMs[per];
  return windowMs === null ? null : steadyMs - windowMs;
}

/** Without a known cost, so many orders may be open at once. */
const mostUnpriced = 2;

export const nameOf = ({ amount, per, source, product }: SpendLimit): string =>
  [
    `${amount.text} per ${per}`,
    source === null ? [] : `from ${source}`,
    product === null ? [] : `of ${product}`,
  ]
    .flat()
    .join(' ');

/** Adds up what counts against each limit, and says which one an order is over. */
export class Room {
  readonly #limits: readonly SpendLimit[];
  readonly #spent: (limit: SpendLimit) => Spent;
  readonly #known = new Map<SpendLimit, { millionths: number; unpriced: number }>();

  /** @param spent is asked once for each limit that matters */
  constructor(limits: readonly SpendLimit[], spent: (limit: SpendLimit) => Spent) {
    this.#limits = limits;
    this.#spent = spent;
  }

  /** The limit that this order would exceed, and why; null: there is room. */
  over(order: Spending): { readonly limit: string; readonly why: string } | null {
    for (const limit of this.#of(order)) {
      const { millionths, unpriced } = this.#sumOf(limit);
      const limitName = nameOf(limit);
      if (order.expected === null) {
        if (unpriced < mostUnpriced && millionths < limit.amount.millionths) continue;
        const why = `what it costs is not known, and ${unpriced} such orders are open`;
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
      const sum = this.#sumOf(limit);
      if (order.expected === null) sum.unpriced += 1;
      else sum.millionths += order.expected;
    }
  }

  #of({ source, product, currency }: Spending): readonly SpendLimit[] {
    return this.#limits.filter(
      (limit) =>
        limit.amount.currency === currency &&
        (limit.source === null || limit.source === source) &&
        (limit.product === null || limit.product === product),
    );
  }

  #sumOf(limit: SpendLimit): { millionths: number; unpriced: number } {
    // One order after the other: nothing adds up.
    if (limit.per === 'order') return { millionths: 0, unpriced: 0 };
    const known = this.#known.get(limit) ?? { ...this.#spent(limit) };
    this.#known.set(limit, known);
    return known;
  }
}
