import type { ResultEventType } from '../../src/core/result/result-events.ts';
import type { ShopifyWriteBack } from '../../src/storefronts/shopify/settings.ts';
import type { WooCommerceWriteBack } from '../../src/storefronts/woocommerce/settings.ts';
import type { ShopOrderPlan } from './intake-plan.ts';
import type { Span } from './sim-account.ts';

/** Everything that a receiver of results answers for a while: nothing of it is processed. */
export interface ReceiverOutage extends Span {
  readonly kind:
    | 'refused'
    | 'silent'
    | 'server_error'
    | 'maintenance'
    | 'redirect'
    | 'rate_limited';
}

/** What goes wrong with the calls to one receiver. */
export interface ReceiverTroubles {
  /** How often a call has a fault of its own, until the faults end. */
  readonly faultShare: number;
  readonly outages: readonly ReceiverOutage[];
  /** The orders of which it refuses everything, for ever. */
  readonly refusedOrders: ReadonlySet<string>;
  /**
   * How often a call that posts a note is processed long after it was given up, until the faults
   * end.
   */
  readonly lateNoteShare: number;
  /** Shortens the delays between tries, so that a run sees the last one; 1: those of production. */
  readonly retryTimeScale: number;
}

/** What the people of a shop do to one of its orders. */
export interface ShopEdit {
  readonly atMs: number;
  readonly orderId: string;
  /** `put_back`: one piece more for a minute. */
  readonly kind:
    | 'cancelled'
    | 'done_by_hand'
    | 'raised'
    | 'lowered'
    | 'put_back'
    | 'added'
    | 'deleted';
}

interface ShopSink {
  readonly orders: readonly ShopOrderPlan[];
  readonly edits: readonly ShopEdit[];
  /**
   * Whether its orders come in through the intake, which also gets the webhooks about what was
   * written.
   */
  readonly comesByIntake?: boolean;
  readonly troubles: ReceiverTroubles;
}

/** A shop into whose orders results are written. */
export type ShopSinkPlan =
  | (ShopSink & { readonly platform: 'woocommerce'; readonly options: WooCommerceWriteBack })
  | (ShopSink & { readonly platform: 'shopify'; readonly options: ShopifyWriteBack });

/** An endpoint to which results are posted. */
export interface EndpointPlan {
  readonly name: string;
  /** Null: the result itself. */
  readonly events: readonly ResultEventType[] | null;
  readonly troubles: ReceiverTroubles;
}

/** The receivers of results in one run, besides the results folder. */
export interface SinksPlan {
  readonly shops: readonly ShopSinkPlan[];
  readonly endpoints: readonly EndpointPlan[];
}

export const noSinks: SinksPlan = { shops: [], endpoints: [] };

export const noReceiverTroubles: ReceiverTroubles = {
  faultShare: 0,
  outages: [],
  refusedOrders: new Set(),
  lateNoteShare: 0,
  retryTimeScale: 1,
};

/** The deadline of a call to a receiver, in ms. */
export const receiverDeadlineMs = 30_000;

/** When the last trouble of all receivers is over, in ms. */
export function troublesEndMs({ shops, endpoints }: SinksPlan): number {
  const spans = [...shops, ...endpoints].flatMap(({ troubles }) => troubles.outages);
  const edits = shops.flatMap((shop) => shop.edits);
  return Math.max(0, ...spans.map(({ untilMs }) => untilMs), ...edits.map(({ atMs }) => atMs));
}

/** How long a result may wait for its next try after many that failed, in ms. */
export function longestRetryMs({ shops, endpoints }: SinksPlan): number {
  const inTrouble = [...shops, ...endpoints].filter(
    ({ troubles }) => troubles.faultShare > 0 || troubles.outages.length > 0,
  );
  return Math.max(0, ...inTrouble.map(({ troubles }) => 25 * 3_600_000 * troubles.retryTimeScale));
}
