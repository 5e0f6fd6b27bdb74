import type { AcceptableLine } from '../../core/order/order-request.ts';
import type { SaleKey } from '../../core/order/sale-key.ts';
import type { Rejection } from '../intake/rejections.ts';
import type { Outbox } from '../sqlite/outbox.ts';

/** The state of one order of a storefront, mapped to what is to be bought for it. */
export interface StorefrontOrder {
  readonly source: string;
  readonly orderId: string;
  /** The order's number for people. The order is found by it, also when no line of it is bought. */
  readonly metadata?: AcceptableLine['metadata'];
  /** See the table `storefront_marks`. */
  readonly marks?: readonly (readonly [kind: string, value: string])[] | undefined;
  readonly saleKey?: SaleKey | undefined;
  /**
   * When the shop last changed it, by the shop's clock. An older state than the newest one seen
   * changes nothing.
   */
  readonly modifiedMs: number;
  /**
   * Only `paid` is bought. `unpaid`: not paid yet. `on_hold`: it was paid, and the shop has not
   * released it, or not any more. `unknown_status`: the same, with a status that nobody has
   * explained. `closed`: nothing of it is to be delivered any more, because it was cancelled,
   * refunded as a whole, or put in the trash. `deleted`: the shop has it no more.
   */
  readonly state: 'unpaid' | 'paid' | 'on_hold' | 'unknown_status' | 'closed' | 'deleted';
  /** The shop's own word for the state, for people. */
  readonly status: string;
  /**
   * When it was paid; null: the shop did not say it yet, so a paid order is held. Absent: it does
   * not matter.
   */
  readonly paidMs?: number | null;
  readonly refundCount: number;
  /** Refunded in part, and the delivery does not say which lines. */
  readonly refundUnclear: boolean;
  /**
   * The effect of a refund of a bought line. Unsent lines are cancelled, unless refunds are
   * ignored.
   */
  readonly onRefund: 'review' | 'cancel_esim' | 'ignore';
  readonly actor: string;
  readonly nowMs: number;
  /**
   * Read from the shop just now. A webhook only says what the state was when it changed. Absent: a
   * webhook.
   */
  readonly isReadNow?: boolean;
  /**
   * Why nothing is bought for this order and many others like it: that is flagged once, for the
   * shop. Absent or null: no such reason.
   */
  readonly ofMany?: Pick<Rejection, 'code' | 'rule'> | null;
  /** Null: the state is recorded, so that older states are ignored, and nothing else changes. */
  readonly lines: readonly StorefrontLine[] | null;
  readonly unreadable: readonly UnreadableLine[];
  /**
   * The field for results in the order, of whichever worker. Absent: the platform does not show it.
   */
  readonly result?: string | null;
  /**
   * The order as JSON, if the SKU map lacks the SKU of a line that is ours; null: it lacks none.
   */
  readonly keptOrder?: string | null;
}

/**
 * A line of an order that cannot be read: it is flagged, and everything else of the order is taken
 * in.
 */
export interface UnreadableLine {
  /** Null: it cannot be read, so the line may be any line. */
  readonly lineId: string | null;
  readonly sku: string | null;
  /** It is paid for, and perhaps ours: nothing is bought for it, so it is flagged. */
  readonly isDue: boolean;
  readonly field: string;
  readonly rule: string;
}

/** The `field` of an order that the shop fails to show. */
export const notShown = 'answer';

/** An order whose state cannot be read: its lines are neither bought nor cancelled. */
export interface UnreadableStorefrontOrder
  extends Pick<StorefrontOrder, 'source' | 'actor' | 'nowMs'> {
  /** Null: it cannot be read; `origin` tells such orders apart. */
  readonly orderId: string | null;
  /** Null: it cannot be read. If not, older states are ignored from now on. */
  readonly modifiedMs: number | null;
  readonly field: string;
  readonly rule: string;
  /**
   * Absent: `unreadable_order`, until a state can be read, and the advice to correct it in the
   * shop.
   */
  readonly code?: string;
  readonly advice?: string;
  /** By what a person finds it in the shop. */
  readonly origin: string;
}

export interface StorefrontLine {
  readonly lineId: string;
  readonly sku: string;
  /** The shop's ids of its product; null or absent: unknown. */
  readonly product?: string | null;
  readonly isMapped: boolean;
  /** How many the customer keeps: ordered, less refunded. */
  readonly remaining: number;
  /**
   * Bought if the line is not known yet, or held where the status is unknown; null: not paid, or
   * nothing of ours. Its `extra` has `sku`, `shop_quantity` and, where it is known, `shop_product`.
   */
  readonly buy: AcceptableLine | null;
  /** Flagged for review if the line is not known yet; null: nothing to flag. */
  readonly hold: Pick<Rejection, 'code' | 'field' | 'rule' | 'value'> | null;
}

/**
 * The outcome of a delivery. Lines are new, known, or taken back in whole or in part; flags include
 * holds.
 */
export interface StorefrontTaken {
  readonly accepted: number;
  readonly known: number;
  readonly takenBack: number;
  readonly flagged: number;
  /**
   * Entries that the shop's state held before, or that waited for the order to be read again, and
   * wait no more.
   */
  readonly released: number;
  /** A newer state was seen before: nothing was changed. */
  readonly stale: boolean;
}

/**
 * How the worker took a state of an order that a shop sent or showed. `other`: no order; `result`:
 * there should be one. `other_shop`: it names another shop, which is flagged. `unreadable`: it is flagged. `needs_refunds`: a partial refund names no
 * line, or a variation may have the SKU of its product, so the order is only recorded, and nothing
 * of it is bought or cancelled until it is read back.
 */
export type StorefrontAnswer =
  | { readonly kind: 'other' | 'other_shop'; readonly result?: string }
  | { readonly kind: 'unreadable'; readonly orderId: string | null; readonly flagged: number }
  | { readonly kind: 'test' | 'needs_refunds'; readonly order: AnsweredOrder }
  | { readonly kind: 'taken'; readonly order: AnsweredOrder; readonly taken: StorefrontTaken };

/** `state` is that of `StorefrontOrder`, or `test`. */
interface AnsweredOrder extends Pick<StorefrontOrder, 'orderId' | 'modifiedMs'> {
  readonly state: StorefrontOrder['state'] | 'test';
}

/** An order that is being taken in, and the outcome so far. */
export interface Taking {
  readonly outbox: Outbox;
  readonly database: Outbox['database'];
  readonly order: StorefrontOrder;
  readonly taken: { -readonly [Key in keyof StorefrontTaken]: StorefrontTaken[Key] };
}

export type OrderKey = Pick<StorefrontOrder, 'source' | 'orderId'>;
