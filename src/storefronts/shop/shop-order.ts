import type { Customer } from '../../core/order/customer.ts';
import type {
  StorefrontOrder,
  UnreadableLine,
  UnreadableStorefrontOrder,
} from '../../store/storefronts/storefront-order.ts';

export type ShopOrderState = StorefrontOrder['state'];

/**
 * The state of an order as a shop shows it, in one form for all platforms. `StorefrontOrder`
 * describes the shared fields.
 */
export interface ShopOrder
  extends Pick<
    StorefrontOrder,
    | 'orderId'
    | 'modifiedMs'
    | 'status'
    | 'refundCount'
    | 'refundUnclear'
    | 'marks'
    | 'saleKey'
    | 'result'
  > {
  /** For people, for example `#1001`. */
  readonly number: string | null;
  readonly customer?: Customer;
  readonly currency: string;
  /** When it was paid; null: the order does not say. */
  readonly paidMs: number | null;
  /** When it was placed, which is never after its payment; null: the order does not say. */
  readonly placedMs: number | null;
  /** It has the status of a paid order and no time of payment: an operator releases it. */
  readonly lacksPaidMs?: boolean;
  readonly isDone: boolean;
  /**
   * The addresses and ids of the shop that the order names, each with its kind: `site
   * shop.example.com`.
   */
  readonly sites: readonly string[];
  /** `test`: a test order, which is never bought. */
  readonly state: ShopOrderState | 'test';
  readonly lines: readonly ShopOrderLine[];
  readonly unreadable: readonly UnreadableShopLine[];
}

export interface ShopOrderLine {
  readonly lineId: string;
  /** Empty: the line has none. */
  readonly sku: string;
  /**
   * What was sold, by the shop's ids of the product, and of its variation or 0, as `16/18`; null:
   * unknown. Of a product that was deleted: null; of a deleted variation: `16/0`.
   */
  readonly product: string | null;
  /** The quantity that the customer keeps: ordered, less refunded. */
  readonly remaining: number;
  /**
   * The eSIM that a top-up is for, as the customer typed it: every different text of that field.
   */
  readonly iccids: readonly string[];
  readonly parentId: string | null;
  /** The shop delivers it by itself, for example a gift card for this very shop. */
  readonly isShopsOwn: boolean;
}

export type UnreadableShopLine = Omit<UnreadableLine, 'isDue'>;

/**
 * `unreadable`: an order of which not even the state can be read. `other`: no order, for example a
 * product.
 */
export type OrderReading =
  | { readonly kind: 'order'; readonly order: ShopOrder }
  | UnreadableOrder
  | { readonly kind: 'other' };

export interface UnreadableOrder
  extends Pick<UnreadableStorefrontOrder, 'orderId' | 'modifiedMs' | 'field' | 'rule'> {
  readonly kind: 'unreadable';
}

export interface ReadContext {
  readonly isTest: boolean;
  /** The shop that a header names; absent: none does. */
  readonly site?: string | undefined;
  /** The refunds of the order, as the platform's API shows them; null: they were not read. */
  readonly refunds: readonly unknown[] | null;
  readonly nowMs: number;
  /** The topic that the webhook names. It is not signed. Null: it says nothing. */
  readonly topic: string | null;
  /** It comes from the shop's list of orders. */
  readonly isListed: boolean;
}
