/** The operations of the API; `unknown` is a path that is no endpoint. */
export const operations = [
  'gift_card_order',
  'esim_order',
  'esim_topup',
  'esim_cancel',
  'gift_card_lookup',
  'esim_order_lookup',
  'products',
  'destinations',
  'plans',
  'topups',
  'esim',
  'balances',
  'unknown',
] as const;

export type Operation = (typeof operations)[number];
export type Family = 'gift_card' | 'esim';
export type PurchaseOperation = 'gift_card_order' | 'esim_order' | 'esim_topup';

/** Spec 8: the order limit counts every call that spends or refunds money. */
export function movesMoney(operation: Operation): boolean {
  return isPurchase(operation) || operation === 'esim_cancel';
}

/** Spec 7, retry rule 1: the calls that buy something, and therefore carry a reference. */
export function isPurchase(operation: Operation): operation is PurchaseOperation {
  return (
    operation === 'gift_card_order' || operation === 'esim_order' || operation === 'esim_topup'
  );
}

/** Spec 1: a top-up is bought on eSIM endpoints, so its reference lives in the eSIM family. */
export function familyOf(operation: PurchaseOperation): Family {
  return operation === 'gift_card_order' ? 'gift_card' : 'esim';
}
