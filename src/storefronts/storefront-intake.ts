import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Storefronts, StorefrontTaken } from '../store/storefronts/storefronts.ts';
import { planOrder } from './plan-order.ts';
import type { WebhookFormat } from './platform.ts';
import { platformOf } from './platforms.ts';
import type { Shop } from './settings.ts';
import type { OrderReading, ShopOrder } from './shop-order.ts';
import { SkuFile } from './sku-file.ts';

interface StorefrontIntakeDeps {
  readonly shops: readonly Shop[];
  readonly store: Storefronts;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The outbox has new lines, or lines were taken back. */
  readonly onChanged: () => void;
}

/** One state of an order, as a webhook delivered it or as the shop's API shows it. */
interface OrderSnapshot {
  /** The JSON document, with every number as text. */
  readonly document: unknown;
  /** A header says that it is a test order. */
  readonly isTest: boolean;
  /** The refunds of the order; `not_read`: they can be read when they are needed; `unknown`: they cannot. */
  readonly refunds: readonly unknown[] | 'not_read' | 'unknown';
}

/**
 * What became of it. `other` and `unreadable`: see `OrderReading`; nothing is stored. `needs_refunds`: the order has a
 * partial refund that names no line. It is recorded, so older states are ignored, and nothing is bought or cancelled
 * until its refunds are read.
 */
type StorefrontAnswer =
  | Exclude<OrderReading, { readonly kind: 'order' }>
  | { readonly kind: 'test' | 'needs_refunds'; readonly order: ShopOrder }
  | { readonly kind: 'taken'; readonly order: ShopOrder; readonly taken: StorefrontTaken };

/**
 * Takes in the orders of all shops. An order in one state is the same thing whether a webhook delivered it or it was
 * read back.
 */
export class StorefrontIntake {
  readonly #handlers: ReadonlyMap<string, ShopHandler>;

  /** @throws OrderSyncError CONFIG_INVALID when a SKU map cannot be used */
  constructor(deps: StorefrontIntakeDeps) {
    this.#handlers = new Map(
      deps.shops.map((shop) => [`${shop.platform}/${shop.shop}`, new ShopHandler(shop, deps)] as const),
    );
  }

  /** Null when there is no such shop. */
  handlerFor(platform: string, shop: string): ShopHandler | null {
    return this.#handlers.get(`${platform}/${shop}`) ?? null;
  }

  /** `warn` while a changed SKU map cannot be used, and its last good version is used instead. */
  health(): 'pass' | 'warn' {
    return [...this.#handlers.values()].some((handler) => handler.hasSkuProblem) ? 'warn' : 'pass';
  }
}

/** Takes in the orders of one shop. */
export class ShopHandler {
  readonly shop: Shop;
  readonly webhook: WebhookFormat;
  readonly #skus: SkuFile;
  readonly #deps: StorefrontIntakeDeps;

  constructor(shop: Shop, deps: StorefrontIntakeDeps) {
    this.shop = shop;
    this.webhook = platformOf(shop).webhook;
    this.#skus = new SkuFile(shop.skuMap, deps.clock, deps.logger);
    this.#deps = deps;
  }

  get hasSkuProblem(): boolean {
    return this.#skus.problem !== null;
  }

  /** Takes in one state of an order. Its consequences are on disk when this resolves. */
  async take(snapshot: OrderSnapshot): Promise<StorefrontAnswer> {
    const { store, logger, onChanged } = this.#deps;
    const { document, isTest, refunds } = snapshot;
    const readRefunds = typeof refunds === 'string' ? null : refunds;
    const reading = platformOf(this.shop).readOrder(document, this.shop, { isTest, refunds: readRefunds });
    if (reading.kind !== 'order') return reading;
    const { order } = reading;
    if (order.state === 'test') return { kind: 'test', order };
    if (order.refundUnclear && refunds === 'not_read') {
      const { stale } = await store.takeOrder({ ...this.#plan(order), lines: null });
      return stale ? { kind: 'taken', order, taken: staleState } : { kind: 'needs_refunds', order };
    }
    const taken = await store.takeOrder(this.#plan(order));
    if (taken.accepted + taken.takenBack + taken.flagged > 0) {
      const { platform, shop } = this.shop;
      logger.info({ platform, shop, order_id: order.orderId, ...taken }, 'storefront order taken in');
      onChanged();
    }
    return { kind: 'taken', order, taken };
  }

  #plan(order: ShopOrder) {
    const { platform, shop } = this.shop;
    const context = { actor: `${platform}:${shop}`, nowMs: this.#deps.clock.wallMs() };
    return planOrder(order, this.shop, this.#skus.current(), context);
  }
}

const staleState: StorefrontTaken = { accepted: 0, known: 0, takenBack: 0, flagged: 0, stale: true };
