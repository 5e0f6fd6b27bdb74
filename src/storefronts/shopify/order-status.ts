import type { ShopOrderState } from '../shop-order.ts';

/** What each `financial_status` of Shopify says about buying an order that is not cancelled. */
export const shopifyStatuses: ReadonlyMap<string, ShopOrderState> = new Map([
  ['pending', 'unpaid'],
  ['authorized', 'unpaid'],
  ['expired', 'unpaid'],
  ['paid', 'paid'],
  // Of a partially refunded order, the rest is paid.
  ['partially_refunded', 'paid'],
  // Something was added to a paid order, and that is not paid yet.
  ['partially_paid', 'on_hold'],
  ['refunded', 'closed'],
  ['voided', 'closed'],
]);

/** An order is archived (`closed_at`) when everything is done, by a person or by itself: that says nothing about its payment. */
export function shopifyState(status: string | null, isCancelled: boolean): ShopOrderState {
  if (isCancelled) return 'closed';
  // An order of which no payment was ever asked for.
  if (status === null) return 'unpaid';
  return shopifyStatuses.get(status) ?? 'unknown_status';
}
