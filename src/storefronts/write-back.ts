import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { failureOf } from '../core/result/delivery-error.ts';
import type { ResultDocument } from '../core/result/result-document.ts';
import type { DueDelivery } from '../store/results/results.ts';
import type { Storefronts } from '../store/storefronts/storefronts.ts';
import { platformOf } from './platforms.ts';
import { type ReadOrder, ShopApiError } from './shop/shop-api.ts';
import { isConnected, type ShopConnections } from './shop-connections.ts';
import type { Shop } from './settings.ts';
import { nobodyMailed, WriteBackError } from './shop/platform.ts';
import { isMoving, type OrderStatement, statementOf } from './shop/order-statement.ts';
import type { ShopOrder } from './shop/shop-order.ts';

interface ShopWriteBackDeps {
  /**
   * The settings of the shop, read before each delivery: a reload can change them. Null: it was
   * removed.
   */
  readonly shop: () => Shop | null;
  readonly store: Pick<Storefronts, 'noteResult'>;
  readonly connections: ShopConnections;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Stretches every retry delay; 1 in production. */
  readonly retryTimeScale: number;
}

interface ShopDelivery
  extends Pick<
    DueDelivery,
    'ordered' | 'boughtInPlaceOf' | 'flags' | 'deliveredAtMs' | 'notePosts'
  > {
  readonly signal: AbortSignal;
  readonly keepNotePosts: (posts: string) => Promise<void>;
}

/** The delay after each failure, in seconds: after about three days the delivery is given up. */
const retryDelaysS = [
  10, 30, 60, 120, 300, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 86_400,
];
/** The shop refuses the call itself: the same call is not worth days of tries. */
const triesOfRefused = 5;

/**
 * Codes wait so long for the other lines of their order, after the last delivery: the customer gets
 * one mail.
 */
const mostOtherLinesMs = 600_000;

/** The name under which deliveries to a shop are recorded. */
export const writeBackName = ({ platform, shop }: Pick<Shop, 'platform' | 'shop'>): string =>
  `${platform}:${shop}`;

/**
 * Writes results into the orders of one shop, at least once each, as a `Sink` of the delivery loop.
 */
export class ShopWriteBack {
  readonly name: string;
  readonly stopGraceMs = 2000;
  readonly #deps: ShopWriteBackDeps;

  constructor(name: string, deps: ShopWriteBackDeps) {
    this.name = name;
    this.#deps = deps;
  }

  retryDelayMs(failures: number, error: unknown): number | null {
    const { reason, retryAfterMs } = failureOf(error);
    const askedMs = Math.ceil(retryAfterMs ?? 0);
    if (
      reason === 'gone_in_shop' ||
      reason === nobodyMailed ||
      (reason === 'refused' && failures >= triesOfRefused)
    )
      return null;
    // The shop answers: after hours without it, the schedule would wait for hours more.
    if (reason === 'settles') return askedMs;
    const delayS = retryDelaysS[failures - 1];
    return delayS === undefined
      ? null
      : Math.max(Math.round(delayS * 1000 * this.#deps.retryTimeScale), askedMs);
  }

  /** Resolves when the order of the shop says what the result says. */
  async deliver(
    document: ResultDocument,
    delivery: ShopDelivery,
  ): Promise<void | 'no_call' | { readonly waitMs: number; readonly why: string }> {
    const { flags, notePosts, keepNotePosts, signal } = delivery;
    const givenAgain = flags.find(({ code }) => code === 'id_given_again');
    if (givenAgain !== undefined) throw new WriteBackError('gone_in_shop', givenAgain.rule);
    const statement = statementOf(document, delivery.ordered, delivery.boughtInPlaceOf, flags);
    // Nothing to tell yet, so the shop is not asked.
    if (flags.length === 0 && statement.lines.every(({ stage }) => stage === 'open'))
      return 'no_call';
    const waitMs = this.#otherLinesMs(statement, delivery.deliveredAtMs);
    if (waitMs > 0)
      return { waitMs, why: 'the result waits up to ten minutes for the other lines of the order' };
    const { store, connections, clock } = this.#deps;
    const shop = this.#deps.shop();
    if (shop === null || shop.writeBack === null || !isConnected(shop)) {
      throw new OrderSyncError(
        'NOT_FOUND',
        `results are not written into the shop ${this.name} any more`,
      );
    }
    const connection = connections.connect(shop);
    const { source, orderId } = statement;
    const platform = platformOf(shop);
    const logger = this.#deps.logger.child({ shop: this.name, source, order_id: orderId });
    const { api } = connection;
    const options = shop.writeBack;
    const parts = { shop, options, api, clock, logger, notePosts, keepNotePosts };
    const read = async ({ value, refunds }: ReadOrder, shown?: string): Promise<ShopOrder> => {
      const nowMs = clock.wallMs();
      const context = { isTest: false, topic: null, isListed: true, refunds, nowMs };
      const reading = platform.readOrder(value, shop, context);
      if (reading.kind === 'order') {
        const { result = shown ?? null } = reading.order;
        if (!(await store.noteResult({ source, orderId, result, nowMs }))) return reading.order;
        const why =
          'the order has a result of another worker: see the row `other_worker` of the shop';
        throw new WriteBackError('waits', why);
      }
      const why = reading.kind === 'unreadable' ? `: its ${reading.field} ${reading.rule}` : '';
      throw new WriteBackError('waits', `the order cannot be read${why}`);
    };
    try {
      const written = await platform.writeBack(statement, { ...parts, read, signal });
      if (written.length > 0)
        logger.info({ written }, 'wrote the result into the order of the shop');
      return undefined;
    } catch (error) {
      if (!(error instanceof ShopApiError) || error.kind !== 'unauthorized') throw error;
      const advice =
        'the key of the shop must have the right to write orders, see docs/storefronts.md';
      const { kind, message, retryAfterMs } = error;
      throw new ShopApiError(kind, `${message}: ${advice}`, { retryAfterMs, cause: error });
    } finally {
      await connection.close();
    }
  }

  /** How long to wait for other lines, in ms; 0: there are none, or none is near. */
  #otherLinesMs(statement: OrderStatement, deliveredAtMs: number): number {
    if (!isMoving(statement) || statement.lines.every(({ stage }) => stage !== 'done')) return 0;
    const passedMs = this.#deps.clock.wallMs() - deliveredAtMs;
    // The clock may have been set back.
    return passedMs < 0 ? 0 : Math.ceil(mostOtherLinesMs * this.#deps.retryTimeScale - passedMs);
  }
}
