import { messageText } from '../core/message-text.ts';

/** The state of an order as a shop shows it, in one form for all platforms. */
export interface ShopOrder {
  /** The id that never changes, exact. */
  readonly orderId: string;
  /** What people call it, for example `#1001`. */
  readonly number: string | null;
  readonly currency: string;
  /** By the shop's clock. */
  readonly modifiedMs: number;
  /** When it was paid, or placed where the platform has no time of payment; null: the order shows neither. */
  readonly paidMs: number | null;
  /** `closed`: cancelled, or refunded as a whole. `test`: a test order, which is never bought. */
  readonly state: 'paid' | 'unpaid' | 'closed' | 'test';
  /** It has a refund, and nothing says which lines were refunded. */
  readonly refundUnclear: boolean;
  readonly lines: readonly ShopOrderLine[];
}

export interface ShopOrderLine {
  readonly lineId: string;
  readonly sku: string;
  /** The quantity that the customer keeps: ordered, less refunded. */
  readonly remaining: number;
  /** The eSIM that a top-up is for, as the customer typed it. */
  readonly iccid: string | null;
}

/** `unreadable`: an order in an unknown form. `other`: no order, for example a product. */
export type OrderReading =
  | { readonly kind: 'order'; readonly order: ShopOrder }
  | { readonly kind: 'unreadable'; readonly orderId: string }
  | { readonly kind: 'other' };

/**
 * What a document is that does not have the form of an order.
 * @param paymentFields the fields that tell an order from everything else that has lines: drafts and checkouts
 */
export function notAnOrder(document: unknown, paymentFields: readonly string[]): OrderReading {
  if (typeof document !== 'object' || document === null) return { kind: 'other' };
  const looksLikeOrder = 'id' in document && 'line_items' in document && paymentFields.some((it) => it in document);
  return looksLikeOrder ? { kind: 'unreadable', orderId: messageText(String(document.id), 20) } : { kind: 'other' };
}
