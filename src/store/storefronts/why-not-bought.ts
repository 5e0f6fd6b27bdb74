import type { StorefrontLine, StorefrontOrder } from './storefront-order.ts';

// The reasons for which a shop's order, or a line of it, is held or flagged, in the words that
// people read. Pure.

export type Flag = NonNullable<StorefrontLine['hold']>;

export function flagOf(code: string, rule: string): Flag {
  return { code, field: null, rule, value: null };
}

export const correctIt = 'correct the line in the shop, and the worker takes it in';

export const flags = {
  unclearRefund: flagOf(
    'refunded_in_storefront',
    'the order was refunded in part, and the storefront does not say which line: find that out',
  ),
  paidAndClosed: flagOf(
    'paid_and_closed',
    'the order was paid and closed within the same second by the clock of the storefront, so nothing was bought: check the order there. It is bought when the storefront shows it as paid again',
  ),
  closedBefore: flagOf(
    'closed_before',
    'the storefront sent a state in which the order is cancelled or refunded, but the time of this state is older than that of the newest state: check the order in the storefront and save it there again',
  ),
  paidAndDeleted: flagOf(
    'paid_and_deleted',
    'the storefront deleted the order, and a state that may be older shows it as paid: nothing was bought. Check the order there',
  ),
  paidAndNot: flagOf(
    'two_states_in_one_second',
    'the storefront showed the order as paid and as not paid, or with other lines, within the same second, so nothing more was bought: check the order there. It is bought when a later state shows it as paid',
  ),
  lessInOneState: flagOf(
    'two_states_in_one_second',
    'the storefront showed the order in two states within the same second, and in one of them less of this line was left: nothing more was bought. Save the order in the storefront again',
  ),
} as const;

const untilCorrected = 'the line is bought when the storefront shows the order corrected';
const whyUnreadLine = `the line cannot be read in the newest state of the storefront's order, so nobody knows what changed: ${untilCorrected}`;
export const whyUnreadOrder = `the newest state of the storefront's order cannot be read: ${untilCorrected}`;

const whyPaidUnknown =
  'the storefront shows the order as paid but does not say since when, and the order was placed before this shop was connected, or too long ago: check the payment in the shop, then release the line to buy it, or cancel it';

/** Like an order that cannot be read, it changes nothing of the known one. */
export const givenAgain = {
  modifiedMs: null,
  code: 'id_given_again',
  field: 'order_key',
  rule: 'the shop gave the id of this order to another sale, which can happen after a deletion or a restored backup',
  advice:
    'the other sale was not bought. To buy it, send it under another order id as a file or by HTTP',
  origin: '',
} as const;

export function whyFlagged(code: string): string {
  return `the line was flagged before as ${code}, and nothing was bought: perhaps somebody delivered it since. Release the line to buy it, or cancel it`;
}

/**
 * Why a known line may not be bought in the newest state of its order; null: it may. `unread`: the
 * order may still have it.
 */
export function whyNotBought(
  order: StorefrontOrder,
  line: StorefrontLine | 'unread' | undefined,
  was: { sku: string; quantity: number },
): string | null {
  const ofOrder = whyOrderIsNotBought(order);
  if (ofOrder !== null) return ofOrder;
  if (line === 'unread') return whyUnreadLine;
  if (line !== undefined && line.sku !== was.sku) {
    return `the line was ordered as "${was.sku}", and the storefront's order now has "${line.sku}" there`;
  }
  if (order.onRefund === 'ignore') return null;
  const left = line?.remaining ?? 0;
  if (left < was.quantity) {
    return `${was.quantity - left} of ${was.quantity} pieces were refunded or removed in the storefront after the line was ordered`;
  }
  return order.refundUnclear ? flags.unclearRefund.rule : null;
}

function whyOrderIsNotBought({
  state,
  status,
  onRefund,
  lines,
  paidMs,
}: StorefrontOrder): string | null {
  const until = 'the line is bought when the storefront shows the order as paid again';
  switch (state) {
    case 'paid':
      if (paidMs === null) return whyPaidUnknown;
      if (lines !== null || onRefund === 'ignore') return null;
      return 'the line waits until the worker has asked the storefront which lines were refunded, or which product a variation belongs to';
    case 'unknown_status':
      return `the storefront's order has the status "${status}", which is not configured as paid: ${until}`;
    case 'unpaid':
    case 'on_hold':
      return `the storefront's order is "${status}", not paid: ${until}`;
    case 'closed':
    case 'deleted':
      return onRefund === 'ignore'
        ? null
        : `the storefront's order is "${status}": nothing more of the order is bought`;
  }
}
