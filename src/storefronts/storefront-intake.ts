import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { StorefrontTaken } from '../store/storefronts/storefronts.ts';
import type { Store } from '../store/store.ts';
import { planOrder } from './plan-order.ts';
import { readShopifyOrder } from './shopify/payload.ts';
import { SkuFile } from './sku-file.ts';
import type { StorefrontShop, StorefrontsConfig } from './settings.ts';
import type { DeliveredOrder, Delivery } from './shop-order.ts';
import { readWooOrder } from './woocommerce/payload.ts';

export type Platform = 'woocommerce' | 'shopify';

export interface StorefrontIntakeDeps {
  readonly config: StorefrontsConfig;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** New lines are in the outbox, or lines were taken back. */
  readonly onChanged: () => void;
}

/** A shop, and how its orders are read. */
export interface Counter {
  readonly platform: Platform;
  readonly shop: StorefrontShop;
  readonly skus: SkuFile;
  read(value: unknown, how: { readonly isTest: boolean; readonly refunds: readonly unknown[] | null }): Delivery;
}

/**
 * `needs_refunds`: nothing was bought or taken back yet, because the order was refunded in part and does not say which
 * line; that it was seen is on disk, so that no older state of it counts any more.
 */
export type StorefrontAnswer =
  | { readonly kind: 'other' }
  | { readonly kind: 'test' | 'needs_refunds'; readonly order: DeliveredOrder }
  | { readonly kind: 'taken'; readonly order: DeliveredOrder; readonly taken: StorefrontTaken };

export interface DeliveredBody {
  /** The JSON of an order, its numbers as text. */
  readonly value: unknown;
  /** Something outside the body says that it is a test. */
  readonly isTest: boolean;
  /** The order's refunds; `ask`: they can be asked for; `unknown`: they cannot. Only WooCommerce needs them. */
  readonly refunds: readonly unknown[] | 'ask' | 'unknown';
}

/**
 * Where the orders of all shops are taken in, whichever way they came: by a webhook, or read back from the shop. One
 * order in one state is the same thing on both ways. Throws CONFIG_INVALID when a SKU map cannot be used.
 */
export class StorefrontIntake {
  readonly #deps: StorefrontIntakeDeps;
  readonly #counters = new Map<string, Counter>();

  constructor(deps: StorefrontIntakeDeps) {
    this.#deps = deps;
    const { config, clock, logger } = deps;
    const skus = (shop: StorefrontShop): SkuFile => new SkuFile(shop.skuMap, clock, logger);
    for (const shop of config.woocommerce) {
      this.#counters.set(`woocommerce/${shop.shop}`, {
        platform: 'woocommerce',
        shop,
        skus: skus(shop),
        read: (value, { refunds }) => readWooOrder(value, shop.paidStatuses, shop.iccidField, refunds),
      });
    }
    for (const shop of config.shopify) {
      this.#counters.set(`shopify/${shop.shop}`, {
        platform: 'shopify',
        shop,
        skus: skus(shop),
        read: (value, { isTest }) => readShopifyOrder(value, isTest, shop.iccidField),
      });
    }
  }

  /** Null when there is no such shop. */
  counter(platform: string, shop: string): Counter | null {
    return this.#counters.get(`${platform}/${shop}`) ?? null;
  }

  /** `warn` while a changed SKU map cannot be used and the last good one stands in for it. */
  health(): 'pass' | 'warn' {
    return [...this.#counters.values()].some(({ skus }) => skus.problem !== null) ? 'warn' : 'pass';
  }

  /** Takes in the state of an order. What it says is on disk when this resolves. */
  async take(counter: Counter, body: DeliveredBody): Promise<StorefrontAnswer> {
    const { store, logger, onChanged } = this.#deps;
    const { platform, shop } = counter;
    const { isTest, refunds } = body;
    const delivery = counter.read(body.value, { isTest, refunds: typeof refunds === 'string' ? null : refunds });
    if (delivery.kind === 'other') return { kind: 'other' };
    const { order } = delivery;
    if (order.state === 'test') return { kind: 'test', order };
    if (order.refundUnclear && refunds === 'ask') {
      const { stale } = await store.storefronts.takeOrder({ ...this.#planned(counter, order), lines: null });
      return stale ? { kind: 'taken', order, taken: staleNews } : { kind: 'needs_refunds', order };
    }
    const taken = await store.storefronts.takeOrder(this.#planned(counter, order));
    if (taken.accepted + taken.takenBack + taken.told > 0) {
      logger.info({ platform, shop: shop.shop, order_id: order.orderId, ...taken }, 'storefront order taken in');
      onChanged();
    }
    return { kind: 'taken', order, taken };
  }

  #planned(counter: Counter, order: DeliveredOrder) {
    const { platform, shop, skus } = counter;
    const context = { actor: `${platform}:${shop.shop}`, nowMs: this.#deps.clock.wallMs() };
    return planOrder(order, shop, skus.current(), context);
  }
}

const staleNews: StorefrontTaken = { accepted: 0, known: 0, takenBack: 0, told: 0, stale: true };
