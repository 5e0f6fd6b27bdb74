import { productScope } from '../../core/scopes/scope.ts';
import type { Purchase } from '../../core/order/purchase.ts';

/**
 * The lane that an entry queues in: its shop, its balances and its product. So entries that wait for a paused balance or
 * product cost no search, and a backlog of one product delays no order of another. Neither a source nor a currency can contain
 * the separator. An entry that may be charged to another balance does not wait for its first one, so it has a lane of its own.
 */
export function laneOf(
  source: string,
  purchase: Pick<Purchase, 'variant' | 'plan' | 'currency'>,
  fallback?: string,
): string {
  const { currency } = purchase;
  const balances = fallback === undefined || fallback === currency ? (currency ?? '-') : `${currency}/${fallback}`;
  // A cancel has no product: it concerns one eSIM.
  return `${source}|${balances}|${productScope(purchase) ?? 'plan:'}`;
}

/** A lane, read back. */
export interface Lane {
  readonly source: string;
  /** The balance that is charged first; null for a cancel. */
  readonly balance: string | null;
  readonly hasFallback: boolean;
  /** Null for a cancel. */
  readonly product: string | null;
  readonly family: string;
}

export function readLane(lane: string): Lane {
  const first = lane.indexOf('|');
  const second = lane.indexOf('|', first + 1);
  const balances = lane.slice(first + 1, second);
  const product = lane.slice(second + 1);
  return {
    source: lane.slice(0, first),
    balance: balances === '-' ? null : `balance:${balances.slice(0, 3)}`,
    hasFallback: balances.includes('/'),
    product: product === 'plan:' ? null : product,
    family: product.startsWith('variant:') ? 'family:gift_card' : 'family:esim',
  };
}

/** New entries and entries that are tried again queue apart, so that neither starves the other. */
export interface Queue {
  readonly state: 'pending' | 'waiting';
  readonly lane: string;
}

/** The lanes that have entries of a state, found by going from one to the next: the cost is their number, not the backlog. */
export const lanesOf = (state: Queue['state']): string => `
  WITH RECURSIVE found (lane) AS (
    SELECT min(lane) FROM entries WHERE state = '${state}'
    UNION ALL
    SELECT (SELECT min(lane) FROM entries WHERE state = '${state}' AND lane > found.lane) FROM found WHERE found.lane IS NOT NULL)
  SELECT lane FROM found WHERE lane IS NOT NULL`;

const nameOf = (queue: Queue): string => `${queue.state} ${queue.lane}`;

/** How many lanes are remembered. Beyond it the turns begin anew, which harms nobody. */
const mostRemembered = 100_000;

/**
 * Whose turn it is: the shops take turns, and within a shop its queues do. A backlog of thousands delays the single order
 * of another shop or product by one call. Kept in memory: the turns begin anew after a restart, which harms nobody.
 */
export class Turns {
  #count = 0;
  readonly #servedAt = new Map<string, number>();

  #last(name: string): number {
    return this.#servedAt.get(name) ?? 0;
  }

  /** The queues in the order in which they are tried. */
  order(queues: readonly Queue[]): readonly Queue[] {
    return queues
      .map((queue) => ({ queue, shop: this.#last(readLane(queue.lane).source), own: this.#last(nameOf(queue)) }))
      .toSorted((a, b) => a.shop - b.shop || a.own - b.own)
      .map(({ queue }) => queue);
  }

  served(queue: Queue): void {
    if (this.#servedAt.size >= mostRemembered) this.#servedAt.clear();
    this.#count += 1;
    this.#servedAt.set(readLane(queue.lane).source, this.#count);
    this.#servedAt.set(nameOf(queue), this.#count);
  }
}
