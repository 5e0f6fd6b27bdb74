import { productScope } from '../../core/order/scope.ts';
import type { Purchase } from '../../core/order/purchase.ts';

/**
 * The lane that an entry queues in: its shop, its balances and its product. So entries that wait
 * for a paused balance or product cost no search, and a backlog of one product delays no order of
 * another. Neither a source nor a currency can contain the separator. An entry that may be charged
 * to another balance waits only while both are paused, so it has a lane of its own.
 */
export function laneOf(
  source: string,
  purchase: Pick<Purchase, 'variant' | 'plan' | 'currency'>,
  fallback?: string,
): string {
  const { currency } = purchase;
  const balances =
    fallback === undefined || fallback === currency ? (currency ?? '-') : `${currency}/${fallback}`;
  // A cancel has no product: it concerns one eSIM.
  return `${source}|${balances}|${productScope(purchase) ?? 'plan:'}`;
}

export interface Lane {
  readonly source: string;
  /** The balance that is charged first; null for a cancel. */
  readonly balance: string | null;
  /** The balance that is charged where the first one refuses; null: there is none. */
  readonly otherBalance: string | null;
  /** Null for a cancel. */
  readonly product: string | null;
  readonly family: string;
}

export function readLane(lane: string): Lane {
  const first = lane.indexOf('|');
  const second = lane.indexOf('|', first + 1);
  const [balance = '-', other] = lane.slice(first + 1, second).split('/');
  const product = lane.slice(second + 1);
  return {
    source: lane.slice(0, first),
    balance: balance === '-' ? null : `balance:${balance}`,
    otherBalance: other === undefined ? null : `balance:${other}`,
    product: product === 'plan:' ? null : product,
    family: product.startsWith('variant:') ? 'family:gift_card' : 'family:esim',
  };
}

/** New entries and entries that are tried again queue apart, so that neither starves the other. */
export type QueueState = 'pending' | 'waiting';

/**
 * The lanes that have entries of a state, found by going from one to the next: the cost is their
 * number, not the backlog.
 */
export const lanesOf = (state: QueueState): string => `
  WITH RECURSIVE found (lane) AS (
    SELECT min(lane) FROM entries WHERE state = '${state}'
    UNION ALL
    SELECT (SELECT min(lane) FROM entries WHERE state = '${state}' AND lane > found.lane) FROM found WHERE found.lane IS NOT NULL)
  SELECT lane FROM found WHERE lane IS NOT NULL`;
