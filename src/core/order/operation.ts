/** The operations that an order line can ask for. */
export const operations = ['gift_card_order', 'esim_order', 'esim_topup', 'esim_cancel'] as const;
export type Operation = (typeof operations)[number];

export type Family = 'gift_card' | 'esim';

/** The family whose lookup finds the order (Spec 4, lookup rule 1). */
export function familyOf(operation: Operation): Family {
  return operation === 'gift_card_order' ? 'gift_card' : 'esim';
}

/**
 * The kinds of orders that a lookup must be proven to find, one by one. A top-up is looked up like an eSIM order, but
 * the specification does not say whether that lookup finds top-ups.
 */
export const lookedUpKinds = ['gift_card', 'esim', 'esim_topup'] as const;
export type LookedUp = (typeof lookedUpKinds)[number];

export function lookedUpAs(operation: Operation): LookedUp {
  return operation === 'esim_topup' ? operation : familyOf(operation);
}
