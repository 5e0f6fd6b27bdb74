import type { StorefrontOrder } from '../../store/storefronts/storefront-order.ts';
import type { FieldProblem } from './payload-values.ts';

/** Whether the state of an order lets it be bought. */
export type ShopOrderState = StorefrontOrder['state'];

/** The state of an order as a shop shows it, in one form for all platforms. */
export interface ShopOrder {
  /** The id that never changes, exact. */
  readonly orderId: string;
  /** Its number for people, for example `#1001`. */
  readonly number: string | null;
  readonly currency: string;
  /** By the shop's clock. */
  readonly modifiedMs: number;
  /** When it was paid, or placed where the platform has no time of payment; null: the order shows neither. */
  readonly paidMs: number | null;
  /** `test`: a test order, which is never bought. */
  readonly state: ShopOrderState | 'test';
  /** The shop's own word for the state. */
  readonly status: string;
  /** How many refunds it has: within one second of the shop's clock, the state with more of them is the newer one. */
  readonly refundCount: number;
  /** It has a refund, and nothing says which lines were refunded. */
  readonly refundUnclear: boolean;
  readonly lines: readonly ShopOrderLine[];
  /** Lines that cannot be read: nobody knows what is to be bought for them. */
  readonly unreadable: readonly UnreadableShopLine[];
}

export interface ShopOrderLine {
  readonly lineId: string;
  /** Empty: the line has none. */
  readonly sku: string;
  /** The quantity that the customer keeps: ordered, less refunded. */
  readonly remaining: number;
  /** The eSIM that a top-up is for, as the customer typed it: every different text of that field. */
  readonly iccids: readonly string[];
  /** The line of the bundle that this line is a part of. */
  readonly parentId: string | null;
  /** The shop delivers it by itself, for example a gift card for this very shop. */
  readonly isShopsOwn: boolean;
}

export interface UnreadableShopLine extends FieldProblem {
  /** Null: it cannot be read. */
  readonly lineId: string | null;
  /** Null: it cannot be read; empty: the line has none. */
  readonly sku: string | null;
}

/** `unreadable`: an order of which not even the state can be read. `other`: no order, for example a product. */
export type OrderReading =
  | { readonly kind: 'order'; readonly order: ShopOrder }
  | UnreadableOrder
  | { readonly kind: 'other' };

export interface UnreadableOrder extends FieldProblem {
  readonly kind: 'unreadable';
  /** Null: it cannot be read. */
  readonly orderId: string | null;
  /** By the shop's clock; null: it cannot be read. */
  readonly modifiedMs: number | null;
}

/** Where a document comes from, and what is known beside it. */
export interface ReadContext {
  /** A header says that it is a test order. */
  readonly isTest: boolean;
  /** The refunds of the order, as the platform's API shows them; null: they were not read. */
  readonly refunds: readonly unknown[] | null;
  /** The topic that the webhook names. It is not signed. Null: it says nothing. */
  readonly topic: string | null;
  /** It comes from the shop's list of orders. */
  readonly isListed: boolean;
}
