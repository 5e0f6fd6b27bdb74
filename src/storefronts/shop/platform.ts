import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { WebhookFormat } from '../../core/shop-webhook.ts';
import type { OpenConnections } from '../../ops/outgoing-http.ts';
import type { ReadOrder, ShopApi } from './shop-api.ts';
import type { OrderReading, ReadContext, ShopOrder } from './shop-order.ts';
import type { ShopSettings } from './shop-settings.ts';
import type { OrderStatement } from './order-statement.ts';
import type { DeliveryFailure } from '../../core/result/delivery-error.ts';

/** One kind of shop: `platforms.ts` lists them. */
export interface Platform<Shop extends ShopSettings, Api extends ShopApi = ShopApi> {
  readonly webhook: WebhookFormat;
  /** The shop of an address, as `ShopOrder.sites` names it; null: the address does not tell. */
  readonly siteOf: (address: string) => string | null;
  readonly showsPayment: boolean;
  /** Reads an order as the platform's webhooks and its API show it, with every number as text. */
  readOrder(document: unknown, shop: Shop, context: ReadContext): OrderReading;
  connect(rest: NonNullable<Shop['rest']>, context: ApiContext): Api;
  /**
   * Brings an order of the shop to what its result says, by the writes that are missing. Returns
   * what was written, without codes.
   * @throws WriteBackError, ShopApiError
   */
  writeBack(
    statement: OrderStatement,
    parts: WriteBackParts<Shop, Api>,
  ): Promise<readonly string[]>;
}

export interface WriteBackParts<Shop extends ShopSettings, Api extends ShopApi> {
  readonly shop: Shop;
  readonly options: NonNullable<Shop['writeBack']>;
  readonly api: Api;
  /**
   * @throws WriteBackError when the order cannot be read, or while nobody has decided about another
   * worker's result in it
   */
  readonly read: (found: ReadOrder, result?: string) => Promise<ShopOrder>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /**
   * What the outbox knows of posted notes, and how it is told more: where a second post of a note
   * makes a second note.
   */
  readonly notePosts: string | null;
  readonly keepNotePosts: (posts: string) => Promise<void>;
}

export interface ApiContext {
  readonly clock: Clock;
  /** Of this program, for the user agent. */
  readonly version: string;
  /** For simulations. */
  readonly connect?: OpenConnections;
}

export const nobodyMailed = 'nobody_mailed';

/**
 * Why an order of a shop does not show its result. `waits`: the shop's state does not allow it now.
 * `settles`: an earlier call may still be processed, until a time that is known. Trying again
 * changes nothing where the order is `gone_in_shop`, or `nobody_mailed` because it has no address
 * of its customer.
 */
export class WriteBackError extends Error implements DeliveryFailure {
  /** The order decides, not the shop. */
  readonly refusesResult = true;
  override readonly name = 'WriteBackError';
  readonly reason: 'waits' | 'settles' | 'gone_in_shop' | typeof nobodyMailed;
  /** Not tried again before that, in ms. */
  readonly retryAfterMs: number;
  readonly countsTry: boolean;

  constructor(reason: WriteBackError['reason'], message: string, retryAfterMs = 0) {
    super(message);
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.countsTry = reason !== 'settles';
  }
}

/** What is missing in an order of a shop. */
export interface WritePlan<Write> {
  /**
   * In the order in which they are made: the codes stand in the order before its customer is told
   * that it is done.
   */
  readonly writes: readonly Write[];
  /**
   * Why the customer does not get something although it was delivered. Null: nothing is missing.
   */
  readonly withheld: WriteBackError | null;
}

/** Staff may have put a paid order on hold: the customer gets nothing until it is released. */
export const withheldUntilPaid = (status: string): WriteBackError => {
  const why = `the shop's order ${status}, so the delivered codes are withheld`;
  return new WriteBackError('waits', `${why}: the shop gets them when the order is paid again`);
};

/** The order as the shop shows it now. */
export async function readOrder(
  orderId: string,
  { api, signal, read }: Pick<WriteBackParts<ShopSettings, ShopApi>, 'api' | 'signal' | 'read'>,
): Promise<ReadOrder & { readonly order: ShopOrder }> {
  const found = await api.order(orderId, signal, { isBehind: true });
  if (found !== null) return { ...found, order: await read(found) };
  const problem = `the shop no longer has the order ${orderId}, and something of it was delivered or needs review`;
  throw new WriteBackError('gone_in_shop', `${problem}: see \`orders show\``);
}
