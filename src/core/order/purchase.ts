export const operations = ['gift_card_order', 'esim_order', 'esim_topup', 'esim_cancel'] as const;
export type Operation = (typeof operations)[number];

/** A top-up and a cancel change an eSIM that the customer has. */
export function deliversUnits(operation: Operation): boolean {
  return operation === 'gift_card_order' || operation === 'esim_order';
}

export type Family = 'gift_card' | 'esim';

/** The family whose lookup finds the order (Spec 4, lookup rule 1). */
export function familyOf(operation: Operation): Family {
  return operation === 'gift_card_order' ? 'gift_card' : 'esim';
}

/**
 * The kinds of orders that a lookup must be proven to find, one by one. A top-up is looked up like
 * an eSIM order, but the specification does not say whether that lookup finds top-ups.
 */
export const lookedUpKinds = ['gift_card', 'esim', 'esim_topup'] as const;
export type LookedUp = (typeof lookedUpKinds)[number];

export function lookedUpAs(operation: Operation): LookedUp {
  return operation === 'esim_topup' ? operation : familyOf(operation);
}

/**
 * The purchase of one order line or one entry of the outbox. A new field is added here, and to
 * `purchaseFields`; everything that carries a purchase has it then.
 */
export interface Purchase {
  readonly operation: Operation;
  /** The gift card or software product; null for every eSIM operation. */
  readonly variant: string | null;
  /** The eSIM plan; null for a gift card and for a cancel. */
  readonly plan: string | null;
  /** The eSIM that is topped up or cancelled, 18 to 22 digits; null for every other operation. */
  readonly iccid: string | null;
  /** Units to order, at least 1; null for a top-up and a cancel, which concern one eSIM. */
  readonly quantity: number | null;
  /** Days of a daily plan, at least 1; null where the order names none. */
  readonly days: number | null;
  /** The balance to charge, for example `USD`; null only for a cancel, which charges none. */
  readonly currency: string | null;
}

/** A purchase with the name under which the API sells it. */
export interface ReferencedPurchase extends Purchase {
  readonly reference: string;
}

/** The values that an answer must have where it repeats an order. */
export interface Expectation extends Pick<Purchase, 'variant' | 'plan' | 'iccid' | 'quantity'> {
  /** Null for a cancel, which carries none (Spec 7, retry rule 3). */
  readonly reference: string | null;
  /** Of the balance to charge. */
  readonly currency?: string | null;
}

/** The product of a purchase: a variant, a plan, or for a cancel the eSIM. */
export function productOf({
  variant,
  plan,
  iccid,
}: Pick<Purchase, 'variant' | 'plan' | 'iccid'>): string | null {
  return variant ?? plan ?? iccid;
}

/**
 * In the order in which fingerprints hash them: it must not change, or a repeated order looks like
 * another one.
 */
export const purchaseFields = [
  'operation',
  'variant',
  'plan',
  'iccid',
  'quantity',
  'days',
  'currency',
] as const satisfies readonly (keyof Purchase)[];

/** The purchase alone, of a value that has more fields. */
export function purchaseOf(value: Purchase): Purchase {
  const { operation, variant, plan, iccid, quantity, days, currency } = value;
  return { operation, variant, plan, iccid, quantity, days, currency };
}

/**
 * `2 x steam-usd-20 in USD`: a purchase for people, and the rules of how it is ordered, if there
 * are any.
 */
export function orderedText(
  { variant, plan, quantity, days, iccid, currency }: Purchase,
  rules: Readonly<Record<string, unknown>> = {},
): string {
  const named = Object.entries(rules).map(([name, value]) =>
    value === true ? name : `${name} ${String(value)}`,
  );
  const parts = [
    quantity === null ? null : `${quantity} x`,
    variant ?? plan,
    days === null ? null : `for ${days} days`,
    iccid === null ? null : `on ${iccid}`,
    currency === null ? null : `in ${currency}`,
    named.length === 0 ? null : `(${named.join(', ')})`,
  ];
  return parts.filter((part) => part !== null).join(' ');
}
