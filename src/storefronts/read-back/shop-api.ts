/** One order of a list, as the shop's webhooks would deliver it. */
export interface ListedOrder {
  /** Null when it has none that can be read: it is told, and passed over. */
  readonly id: string | null;
  readonly modifiedMs: number | null;
  /** The order as the shop's API shows it, numbers as text. */
  readonly value: unknown;
}

export interface OrdersPage {
  readonly orders: readonly ListedOrder[];
  /** Nothing comes after it. */
  readonly isLast: boolean;
}

/** The orders that were changed since a time, page by page, the one that was changed longest ago first. */
export interface OrdersWalk {
  /** Reads the next page: one call, or some when the shop asks for patience. Throws ShopApiError. */
  read(signal: AbortSignal): Promise<OrdersPage>;
}

/** What a shop's API is asked for. */
export interface ShopApi {
  /** How far our clock is ahead of the shop's, in ms; null before it answered. */
  readonly aheadMs: number | null;
  changedSince(sinceMs: number): OrdersWalk;
  /** The refunds of an order, with their lines. Throws ShopApiError. */
  refundsOf(orderId: string, signal: AbortSignal): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

/** No zone of the world is further from another: an order that is older than that was not asked for. */
export const zonesMs = 26 * 3_600_000;
