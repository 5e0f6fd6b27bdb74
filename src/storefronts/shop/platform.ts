import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { OpenConnections } from '../../ops/outgoing-http.ts';
import type { ShopApi } from './shop-api.ts';
import type { OrderReading, ReadContext } from './shop-order.ts';
import type { ShopSettings } from './shop-settings.ts';
import type { OrderStatement } from './order-statement.ts';
import type { DeliveryFailure } from '../../core/result/delivery-error.ts';

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

/** The parts of one shop's write-back. */
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

/**
 * Why an order of a shop does not show its result. `waits`: the shop's state does not allow it now. `settles`: an
 * earlier call may still be processed, until a time that is known. `final`: trying again changes nothing, and a person has to look. The message says what to do.
 */
export class WriteBackError extends Error implements DeliveryFailure {
  /** The order decides, not the shop. */
  readonly refusesResult = true;
  readonly reason: string;
  readonly kind: 'waits' | 'settles' | 'final';
  /** Not tried again before that, in ms. */
  readonly retryAfterMs: number;
  readonly countsTry: boolean;

  constructor(kind: WriteBackError['kind'], message: string, retryAfterMs = 0) {
    super(message);
    this.name = 'WriteBackError';
    this.kind = kind;
    this.reason = kind;
    this.retryAfterMs = retryAfterMs;
    this.countsTry = kind !== 'settles';
  }
}

/** If one was forgotten, its wait begins again. */
const mostNotes = 10_000;

/**
 * For how long this process knows of a note that may have been posted, and that its order does not show. By the clock of the
 * process: the time of an announcement, which an earlier process wrote, would be wrong after the clock of the machine was set.
 */
export class NoteTimes {
  readonly #clock: Clock;
  readonly #sinceMono = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Its post begins now. */
  posted(orderId: string, marker: string): void {
    const key = `${orderId} ${marker}`;
    this.#sinceMono.delete(key);
    this.#remember(key);
  }

  /** In ms; 0 when nothing was known of it until now. */
  knownForMs(orderId: string, marker: string): number {
    const key = `${orderId} ${marker}`;
    const sinceMono = this.#sinceMono.get(key);
    if (sinceMono !== undefined) return this.#clock.monoMs() - sinceMono;
    this.#remember(key);
    return 0;
  }

  #remember(key: string): void {
    const [oldest] = this.#sinceMono.keys();
    if (this.#sinceMono.size >= mostNotes && oldest !== undefined) this.#sinceMono.delete(oldest);
    this.#sinceMono.set(key, this.#clock.monoMs());
  }
}
