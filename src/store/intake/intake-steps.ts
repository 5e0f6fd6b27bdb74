import type { EntryState } from '../../core/entry/states.ts';
import type { AcceptableLine } from '../../core/order/order-request.ts';
import type { IntakeBatch, Rejection } from '../store.ts';

/** One request as it was sent: its orders stand or fall together. */
export interface WholeRequest {
  readonly nowMs: number;
  readonly lines: IntakeBatch['lines'];
}

/** `known` in an accepted request: everything of that order was accepted before, with the same content. */
export type RequestOutcome =
  | { readonly kind: 'accepted'; readonly orders: readonly AcceptedOrder[] }
  | { readonly kind: 'conflict'; readonly conflicts: readonly OrderConflict[] }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface AcceptedOrder {
  readonly status: 'accepted' | 'known';
  readonly requestId: number;
  readonly source: string;
  readonly orderId: string;
  readonly lines: readonly { readonly lineId: string; readonly reference: string }[];
}

/** What differs between an order that was accepted before and the one that was sent now. */
export interface OrderConflict {
  readonly source: string;
  readonly orderId: string;
  readonly lines: readonly {
    readonly lineId: string;
    /** The reference that the line was accepted under; null for a line that was not part of the order. */
    readonly reference: string | null;
    readonly differences: readonly { readonly field: string; readonly was: unknown; readonly is: unknown }[];
  }[];
}

/** The state of one order of a storefront, mapped to what is to be bought for it. */
export interface StorefrontOrder {
  readonly source: string;
  readonly orderId: string;
  /** When the shop last changed it, by the shop's clock. An older state than the newest one seen changes nothing. */
  readonly modifiedMs: number;
  /** Cancelled or refunded as a whole. */
  readonly closed: boolean;
  /** Refunded in part, and the delivery does not say what. */
  readonly refundUnclear: boolean;
  /** What a refund of something that was ordered leads to. Unsent lines are taken back, unless refunds are ignored. */
  readonly onRefund: 'hold' | 'cancel_esim' | 'ignore';
  readonly actor: string;
  readonly nowMs: number;
  /** Null: only that this state was seen is remembered, so that no older one counts any more. */
  readonly lines: readonly StorefrontLine[] | null;
}

export interface StorefrontLine {
  readonly lineId: string;
  readonly sku: string;
  /** Whether the SKU map knows it. */
  readonly isMapped: boolean;
  /** How many the customer keeps: ordered, less refunded. */
  readonly remaining: number;
  /** Bought if the line is not known yet; null: not paid, or nothing of ours. Its `extra` has `sku` and `shop_quantity`. */
  readonly buy: AcceptableLine | null;
  /** Told to a person if the line is not known yet; null: nothing to tell. */
  readonly hold: Pick<Rejection, 'code' | 'field' | 'rule' | 'value'> | null;
}

/** What became of it: lines that are new, known, taken back in whole or in part, and things a person was told. */
export interface StorefrontTaken {
  readonly accepted: number;
  readonly known: number;
  readonly takenBack: number;
  readonly told: number;
  /** A newer state was seen before: nothing was changed. */
  readonly stale: boolean;
}

/** `cancelled` counts what was taken back just now. */
export type CancelUnsentResult =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'cancelled'; readonly requestId: number; readonly cancelled: number }
  | {
      readonly kind: 'refused';
      readonly requestId: number;
      readonly lines: readonly { readonly lineId: string; readonly reference: string; readonly state: EntryState }[];
    };
