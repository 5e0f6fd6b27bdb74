/** What an order line can ask for. */
export const operations = ['gift_card_order', 'esim_order', 'esim_topup', 'esim_cancel'] as const;
export type Operation = (typeof operations)[number];

export type Family = 'gift_card' | 'esim';

/** Where the API would find the order (Spec 4, lookup rule 1). */
export function familyOf(operation: Operation): Family {
  return operation === 'gift_card_order' ? 'gift_card' : 'esim';
}

/**
 * What a lookup is known to show. A top-up is looked up where the orders of its family are, but whether they show it
 * there is a guess of its own.
 */
export const lookedUpKinds = ['gift_card', 'esim', 'esim_topup'] as const;
export type LookedUp = (typeof lookedUpKinds)[number];

export function lookedUpAs(operation: Operation): LookedUp {
  return operation === 'esim_topup' ? operation : familyOf(operation);
}

/** A cancel carries no reference (Spec 7, retry rule 3); every buying call does. */
export function carriesReference(operation: Operation): boolean {
  return operation !== 'esim_cancel';
}
