import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { FileErrorPlan } from './sim-mount.ts';

/**
 * A line as a sender writes it, perhaps with a mistake because of which it must not be accepted.
 */
export interface SentLine {
  readonly line: AcceptableLine;
  readonly mistake: 'none' | 'quantity' | 'type';
}

export type FileFormat = 'csv' | 'ndjson' | 'json';

/** An order file that a shop puts into the inbox. */
export interface FilePlan {
  readonly name: string;
  readonly format: FileFormat;
  readonly lines: readonly SentLine[];
  readonly atMs: number;
  /**
   * `renamed`: written under a temporary name, then renamed. `in_place`: written in pieces under
   * its own name. `late`: as `in_place`, with pauses in which it seems to be complete.
   */
  readonly style: 'renamed' | 'in_place' | 'late';
  /** When the same file is uploaded again. */
  readonly againAtMs: readonly number[];
}

/** An order that a shop posts over HTTP. Its lines share deadline and rules. */
export interface RequestPlan {
  readonly lines: readonly SentLine[];
  readonly atMs: number;
  readonly againAtMs: readonly number[];
  /** How it shows who sends it; `forged` must be refused. */
  readonly proof: 'token' | 'signature' | 'forged';
  readonly inBatch: boolean;
  /** When the shop cancels the order; null: never. */
  readonly cancelAtMs: number | null;
}

/** A caller over HTTP cancels only eSIMs that its source bought here: those of a plan are older. */
export const cancelsForeign = ({ lines }: RequestPlan): boolean =>
  lines.some(({ line }) => line.operation === 'esim_cancel');

/**
 * What is odd about an order, or about how its shop shows it. `spelled`: its SKUs are written in
 * another way than in the map. `near`: the SKU of its first line is almost one of the map.
 * `sold_before`: it was paid before the shop was connected. `copy`: the shop shows the purchase of
 * another order once more. `given_again`: the shop gives its ids to another sale.
 */
export type ShopOddity =
  | { readonly kind: 'spelled' | 'near'; readonly way: number }
  | { readonly kind: 'sold_before'; readonly hours: number }
  | { readonly kind: 'copy'; readonly of: string; readonly by: 'part_of' | 'names' | 'payment' }
  | {
      readonly kind: 'given_again';
      readonly afterMs: number;
      readonly by: 'key' | 'time and customer';
    };

/** An order of a shop's own platform, whose states are delivered as webhooks. */
export interface ShopOrderPlan {
  readonly platform: 'woocommerce' | 'shopify';
  readonly lines: readonly AcceptableLine[];
  readonly atMs: number;
  /** How long after it was placed it is paid. */
  readonly paidAfterMs: number;
  /** What the shop changes after the payment; null: nothing. */
  readonly change: {
    readonly afterMs: number;
    readonly kind:
      | 'cancelled'
      | 'refunded'
      | 'one_refunded'
      | 'line_refunded'
      | 'address'
      /** One piece more or less of the first line; `put_back`: one more for a while. */
      | 'raised'
      | 'lowered'
      | 'put_back';
  } | null;
  /** How late the webhook of each state comes. */
  readonly delaysMs: readonly number[];
  /** How many times each webhook comes. */
  readonly copies: number;
  /** Absent: nothing. */
  readonly oddity?: ShopOddity;
  /**
   * How far the clock of its shop is ahead until the order is changed last, in seconds; absent: it is
   * right.
   */
  readonly aheadS?: number;
  /** The id of its payment; absent: the shop does not show it. */
  readonly payment?: string;
  /** Whether it has no line but these. */
  readonly isOursOnly?: boolean;
}

/** All that comes in through the real intake in one run. */
export interface IntakePlan {
  readonly ready: 'stable' | 'done_file';
  readonly files: readonly FilePlan[];
  readonly requests: readonly RequestPlan[];
  readonly shopOrders: readonly ShopOrderPlan[];
  /** When the SKU map of the shops lacks a row; null: never. */
  readonly lostSku: {
    readonly sku: string;
    readonly fromMs: number;
    readonly untilMs: number;
  } | null;
  /** How often a connection of a sender breaks. */
  readonly lossShare: number;
  /** How often a call to the file system takes some time. */
  readonly slowShare: number;
  readonly fileErrors: readonly FileErrorPlan[];
}

export const plainIntake: IntakePlan = {
  ready: 'stable',
  files: [],
  requests: [],
  shopOrders: [],
  lostSku: null,
  lossShare: 0,
  slowShare: 0,
  fileErrors: [],
};
