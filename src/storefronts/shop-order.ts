/** The state of an order as a storefront delivered it, in one shape for all storefronts. */
export interface DeliveredOrder {
  /** The number that never changes, exact. */
  readonly orderId: string;
  /** What people call it, for example `#1001`. */
  readonly number: string | null;
  readonly currency: string;
  readonly modifiedMs: number;
  /** When it was paid, or at least placed; null: the storefront does not say. */
  readonly paidMs: number | null;
  /**
   * `paid`: bought. `unpaid`: not yet. `closed`: cancelled or refunded as a whole. `test`: a test order, never bought.
   */
  readonly state: 'paid' | 'unpaid' | 'closed' | 'test';
  /** Refunded in part, and the delivery does not say which line. */
  readonly refundUnclear: boolean;
  readonly lines: readonly DeliveredLine[];
}

export interface DeliveredLine {
  readonly lineId: string;
  readonly sku: string;
  /** How many the customer keeps: ordered, less refunded. */
  readonly remaining: number;
  /** The eSIM that a top-up is for, as the customer typed it. */
  readonly iccid: string | null;
}

/** `other`: signed by the shop, and not an order, for example a product. */
export type Delivery = { readonly kind: 'order'; readonly order: DeliveredOrder } | { readonly kind: 'other' };
