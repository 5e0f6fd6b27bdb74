import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { OpenConnections } from '../ops/outgoing-http.ts';
import type { ShopApi } from './read-back/shop-api.ts';
import type { OrderReading, ReadContext } from './shop-order.ts';
import type { ShopSettings } from './shop-settings.ts';
import type { NoteTimes } from './write-back/note-times.ts';
import type { OrderStatement } from './write-back/order-statement.ts';

/** One kind of shop. All that the worker knows of it is in the folder of its name; `platforms.ts` lists them. */
export interface Platform<Shop extends ShopSettings, Api extends ShopApi = ShopApi> {
  readonly webhook: WebhookFormat;
  /** Reads an order as the platform's webhooks and its API show it, with every number as text. */
  readOrder(document: unknown, shop: Shop, context: ReadContext): OrderReading;
  /** The API of a shop; opens no connection yet. */
  connect(rest: NonNullable<Shop['rest']>, context: ApiContext): Api;
  /**
   * Brings an order of the shop to what its result says, by the writes that are missing. Returns what was written, without codes.
   * @param parts.api what `connect` returned
   * @throws WriteBackError, ShopApiError
   */
  writeBack(statement: OrderStatement, parts: WriteBackParts<Shop, Api>): Promise<readonly string[]>;
}

/** What write-back needs of one shop. */
export interface WriteBackParts<Shop extends ShopSettings, Api extends ShopApi> {
  readonly shop: Shop;
  readonly api: Api;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Needed where a second post of a note makes a second note. */
  readonly noteTimes: NoteTimes;
}

export interface ApiContext {
  readonly clock: Clock;
  /** The version of this program, for the user agent. */
  readonly version: string;
  /** Absent: real connections. */
  readonly connect?: OpenConnections;
}

/** How the webhooks of a platform are signed and marked. */
export interface WebhookFormat {
  /** Carries the base64 of HMAC-SHA256 over the raw body. In lower case. */
  readonly signatureHeader: string;
  /** Marks a test order with any value but `false`; null: the platform has no such header. */
  readonly testHeader: string | null;
  /** Says what a webhook is about. In lower case. */
  readonly topicHeader: string;
  /** The topic of a deleted order, whose body has only its id. */
  readonly deletedTopic: string;
  /** The body of the ping that it sends without a signature when a webhook is created; null: it sends none. */
  readonly unsignedPing: RegExp | null;
}
