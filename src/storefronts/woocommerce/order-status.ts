import type { ShopOrderState } from '../shop-order.ts';

/**
 * The statuses that WooCommerce itself has. `open`: the order may be paid now or later, and `paid_statuses` says which of
 * these mean that it is. `closed`: the customer is not delivered anything more. Plugins add others.
 */
export const wooCommerceStatuses: ReadonlyMap<string, 'open' | 'closed'> = new Map([
  ['pending', 'open'],
  ['processing', 'open'],
  ['on-hold', 'open'],
  ['completed', 'open'],
  ['draft', 'open'],
  ['auto-draft', 'open'],
  ['checkout-draft', 'open'],
  ['cancelled', 'closed'],
  ['refunded', 'closed'],
  ['failed', 'closed'],
  ['trash', 'closed'],
]);

/** The database of WordPress has the statuses with this prefix, the API without it. */
const withoutPrefix = (status: string): string => status.replace(/^wc-/, '');

/**
 * What the state of an order says about buying it. An order that is paid on delivery is `processing` without a date of
 * payment, so both a paid status and a date are needed. Without a date the order was never paid, whatever its status.
 */
export function wooCommerceState(
  status: string,
  { paidMs, paidStatuses }: { readonly paidMs: number | null; readonly paidStatuses: readonly string[] },
): ShopOrderState {
  const name = withoutPrefix(status);
  const known = wooCommerceStatuses.get(name);
  if (known === 'closed') return 'closed';
  if (paidMs === null) return 'unpaid';
  if (paidStatuses.some((paid) => withoutPrefix(paid) === name)) return 'paid';
  return known === undefined ? 'unknown_status' : 'on_hold';
}
