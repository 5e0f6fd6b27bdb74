import { type DeliveryFailure, rateLimited } from '../../core/result/delivery-error.ts';
import { idOf, isObject, shopTime } from './payload-values.ts';
import type { ShopOrder } from './shop-order.ts';

/** The REST API of one shop, as far as reading it back needs it. Its calls throw ShopApiError. */
export interface ShopApi {
  /**
   * How far the clock of this machine is ahead of the shop's, in ms; null before the shop has told
   * its time.
   */
  readonly clockAheadMs: number | null;
  /** The orders that were changed since then, by the shop's clock. Makes no call yet. */
  changedSince(sinceMs: number): OrderList;
  /** The smallest question about orders. Throws when the shop is down. */
  answers(signal: AbortSignal): Promise<unknown>;
  /** One order as it is now, with its refunds; null: the shop surely has it no more. */
  order(
    orderId: string,
    signal: AbortSignal,
    turn?: { readonly isBehind: boolean },
  ): Promise<ReadOrder | null>;
  /** The results in the orders that were changed last. Absent: the platform does not show them. */
  newestResults?(
    count: number,
    signal: AbortSignal,
  ): Promise<readonly Pick<ShopOrder, 'orderId' | 'result'>[]>;
  /**
   * Which of these SKUs are a variation's own; absent: all are. Some platforms show that of the
   * product for one that has none.
   */
  ownSkus?(skus: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /**
   * When the payments of an order reached its total, in ms; null: they do not say. Absent: the
   * order itself says it.
   */
  paidMs?(order: unknown, signal: AbortSignal): Promise<number | null>;
  /** Absent: the platform repeats failed webhooks, and tells what is deleted. */
  readonly checks?: ShopChecks;
  close(): Promise<void>;
}

/** What is asked of a shop beside its orders. */
export interface ShopChecks {
  /**
   * The webhooks about orders whose address ends with this path. `needs`: what the shop needs
   * before it posts there; empty: nothing.
   */
  webhooksTo(
    path: string,
    signal: AbortSignal,
  ): Promise<readonly Record<'id' | 'status' | 'needs', string>[]>;
  /** Returns whether the webhook is active now; a key that may only read cannot switch it on. */
  switchOn(id: string, signal: AbortSignal): Promise<boolean>;
  /**
   * How many refunds each of these orders has, at most 100; without those that the shop does not
   * list.
   */
  refundCounts(
    orderIds: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>>;
  /** Whether the key may write. Changes nothing. */
  mayWrite(signal: AbortSignal): Promise<boolean>;
  /** Why no customer gets what this `write_back` gives, as far as the shop says so; null: they do. */
  withholds(
    writeBack: object,
    signal: AbortSignal,
  ): Promise<{ readonly message: string; readonly next: string } | null>;
}

export interface ReadOrder {
  /** In the form of a webhook, with every number as text. */
  readonly value: unknown;
  readonly refunds: readonly unknown[];
}

/** A list of orders, page by page; the order that was changed longest ago comes first. */
export interface OrderList {
  nextPage(signal: AbortSignal): Promise<OrderPage>;
}

export interface OrderPage {
  readonly orders: readonly ListedOrder[];
  readonly isLast: boolean;
}

export interface ListedOrder {
  /** Null when it has no readable id. */
  readonly id: string | null;
  readonly modifiedMs: number | null;
  /** As that of `ReadOrder`; an error: the shop fails to show it, also alone. */
  readonly value: unknown;
}

/**
 * `unauthorized`: the shop refuses the keys. `absent`: it has no such order. `refused`: any other
 * 4xx. `rate_limited`: 429. `unavailable`: 5xx. `unreachable`: no complete answer. `unreadable`: an
 * answer that is not the API's. `cached`: a cache's. `changed`: the list changed while it was read.
 * `clock`: this machine's clock is so wrong that nothing may be bought by it. `stopped`: the worker
 * stops.
 */
type ShopApiErrorKind =
  | ('unauthorized' | 'absent' | 'refused' | 'rate_limited' | 'unavailable')
  | ('unreachable' | 'unreadable' | 'cached' | 'changed' | 'clock' | 'stopped');

/** Names the call and the answer, never a key. */
export class ShopApiError extends Error implements DeliveryFailure {
  readonly kind: ShopApiErrorKind;
  readonly reason: string;
  /** The shop answers, and this order cannot be read or written. */
  readonly refusesResult: boolean;
  /** How long the shop asks the worker to wait, in ms; null when it does not say. */
  readonly retryAfterMs: number | null;

  constructor(
    kind: ShopApiErrorKind,
    message: string,
    options: { retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.name = 'ShopApiError';
    this.kind = kind;
    this.reason = kind === 'rate_limited' ? rateLimited : kind;
    this.refusesResult = kind === 'absent' || kind === 'refused' || kind === 'changed';
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/**
 * @param timeFields the fields that may have the time of the last change, the best one first
 * @param failure why the shop shows no more of it than `shown`; null: it is the whole order
 */
export function listedOrder(
  shown: unknown,
  timeFields: readonly string[],
  failure: ShopApiError | null = null,
): ListedOrder {
  const value = failure ?? shown;
  if (!isObject(shown)) return { id: null, modifiedMs: null, value };
  const times = timeFields.map((field) => shopTime(shown[field]));
  return { id: idOf(shown['id']), modifiedMs: times.find((ms) => ms !== null) ?? null, value };
}

/**
 * Throws `unreadable` when the shop answered with something else than the order that was asked for.
 */
export function checkOrderId(value: unknown, orderId: string, call: string): void {
  if (isObject(value) && idOf(value['id']) === orderId) return;
  throw new ShopApiError('unreadable', `${call}: 200, but the answer is not the order ${orderId}`);
}

/**
 * The largest difference between two time zones: an order that is older than this was surely not
 * asked for.
 */
const timeZonesMs = 26 * 3_600_000;

/**
 * Throws `unreadable` when the shop ignored the time that it was asked for, which would list
 * everything it ever sold.
 */
export function checkSince(orders: readonly ListedOrder[], sinceMs: number, hint = ''): void {
  if (!orders.some(({ modifiedMs }) => modifiedMs !== null && modifiedMs < sinceMs - timeZonesMs))
    return;
  throw new ShopApiError(
    'unreadable',
    `the shop lists orders that were changed long before the requested time${hint}`,
  );
}
