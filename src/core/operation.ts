/** What an order line can ask for. */
export const operations = ['gift_card_order', 'esim_order', 'esim_topup', 'esim_cancel'] as const;
export type Operation = (typeof operations)[number];

export type Family = 'gift_card' | 'esim';

/** Where the API would find the order (Spec 4, lookup rule 1). */
export function familyOf(operation: Operation): Family {
  return operation === 'gift_card_order' ? 'gift_card' : 'esim';
}

/** A cancel carries no reference (Spec 7, retry rule 3); every buying call does. */
export function carriesReference(operation: Operation): boolean {
  return operation !== 'esim_cancel';
}
