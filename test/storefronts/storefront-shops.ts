import { createHmac } from 'node:crypto';
import { utimesSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { EntryAction } from '../../src/core/operator/operator-decision.ts';
import { parseExactJson } from '../../src/core/exact-json.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { type ShopHandler, StorefrontIntake } from '../../src/storefronts/storefront-intake.ts';
import type { ShopifyShop } from '../../src/storefronts/shopify/settings.ts';
import type { WooCommerceShop } from '../../src/storefronts/woocommerce/settings.ts';
import { type Answer, type RunningIntake, startIntake } from '../intake/http/running-intake.ts';
import { Outbox } from '../support/outbox.ts';
import { boughtIn, flaggedIn, shopifyShop, wooCommerceShop, writeSkuMap } from './shop-settings.ts';

export const wooSecret = 'woo-secret-of-this-year';
export const wooOldSecret = 'woo-secret-of-last-year';
export const shopifySecret = 'shopify-client-secret-1';

/**
 * Writes a SKU map as if it were old: a new one is read two seconds later, because its writer may
 * not have finished.
 */
export function writeLongAgo(path: string, content: string): void {
  writeFileSync(path, content);
  utimesSync(path, Date.now() / 1000 - 60, Date.now() / 1000 - 60);
}

/** An outbox that takes in the orders of two shops. */
export interface ShopOutbox {
  readonly outbox: Outbox;
  readonly skuFile: string;
  /** `line quantity product state` of each entry in the outbox. */
  readonly bought: () => readonly string[];
  /** `line code` of everything that is flagged for review. */
  readonly flagged: () => readonly string[];
  /** `line message` of the same. */
  readonly reasons: () => readonly string[];
}

export interface Shops extends RunningIntake, ShopOutbox {
  /** Writes another SKU map, which is in use from now on. */
  readonly mapSkus: (skus: string) => void;
  /**
   * Delivers to the WooCommerce shop, signed as WooCommerce documents it: base64 of HMAC-SHA256 of
   * the raw body.
   */
  readonly woo: (
    body: unknown,
    headers?: Record<string, string>,
    secret?: string,
  ) => Promise<Answer>;
  readonly shopify: (
    body: unknown,
    headers?: Record<string, string>,
    secret?: string,
  ) => Promise<Answer>;
}

type Taken = Awaited<ReturnType<ShopHandler['take']>>;

/**
 * A clock of which the part that is never set can be moved on: a SKU map is looked at once a
 * second.
 */
export class MovableClock extends SystemClock {
  #aheadMs = 0;

  override steadyMs(): number {
    return super.steadyMs() + this.#aheadMs;
  }

  useSkus(skuFile: string, skus: string): void {
    writeLongAgo(skuFile, `skus: ${skus}`);
    this.#aheadMs += 2000;
  }
}

export interface OpenShops extends ShopOutbox {
  readonly intake: StorefrontIntake;
  /** Writes another SKU map, which is in use from now on. */
  readonly mapSkus: (skus: string) => void;
  /**
   * Takes in an order as the webhook of the WooCommerce shop does, once it has checked the
   * signature.
   */
  readonly woo: (body: unknown, topic?: string) => Promise<Taken>;
  readonly shopify: (body: unknown, topic?: string) => Promise<Taken>;
}

interface ShopChanges {
  readonly woo?: Partial<WooCommerceShop>;
  readonly shopify?: Partial<ShopifyShop>;
}

const bothShops = (skuFile: string, changes: ShopChanges) => [
  wooCommerceShop({
    skuMap: skuFile,
    source: 'woo',
    secrets: [wooOldSecret, wooSecret],
    ...changes.woo,
  }),
  shopifyShop({ skuMap: skuFile, source: 'shopify', secrets: [shopifySecret], ...changes.shopify }),
];

function shopOutbox(outbox: Outbox, skuFile: string): ShopOutbox {
  const { read } = outbox.store;
  return {
    outbox,
    skuFile,
    bought: () => boughtIn(read).map(({ lineId, text }) => `${lineId} ${text}`),
    flagged: () => flaggedIn(read, ({ lineId, code }) => `${lineId} ${code}`),
    reasons: () => flaggedIn(read, ({ lineId, message }) => `${lineId} ${message}`),
  };
}

/** Both shops, whose webhooks arrive on a real socket. */
export async function startShops(changes: ShopChanges = {}): Promise<Shops> {
  const skuFile = writeSkuMap();
  const clock = new MovableClock();
  const running = await startIntake({ shops: bothShops(skuFile, changes), clock });
  const deliver = async (
    path: string,
    header: string,
    secret: string,
    body: unknown,
    more: Record<string, string>,
  ) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const signature = createHmac('sha256', secret).update(Buffer.from(text)).digest('base64');
    return await running.call(
      'POST',
      path,
      { 'content-type': 'application/json', [header]: signature, ...more },
      text,
    );
  };
  return {
    ...running,
    ...shopOutbox(running.outbox, skuFile),
    mapSkus: (skus) => clock.useSkus(skuFile, skus),
    woo: (body, headers = {}, secret = wooSecret) =>
      deliver('/webhooks/woocommerce/main', 'X-WC-Webhook-Signature', secret, body, headers),
    shopify: (body, headers = {}, secret = shopifySecret) =>
      deliver('/webhooks/shopify/main', 'X-Shopify-Hmac-Sha256', secret, body, headers),
  };
}

/**
 * Both shops without a server, for the many cases in which the way of an order to the intake does
 * not matter.
 */
export async function openShops(changes: ShopChanges = {}): Promise<OpenShops> {
  const skuFile = writeSkuMap();
  const outbox = await Outbox.open();
  onTestFinished(() => outbox.close());
  const clock = new MovableClock();
  const intake = new StorefrontIntake({
    shops: bothShops(skuFile, changes),
    store: outbox.store.storefronts,
    clock,
    logger: pino({ level: 'silent' }),
    onChanged: () => undefined,
  });
  const deliver = async (platform: string, body: unknown, topic: string): Promise<Taken> => {
    const handler = intake.handlerFor(platform, 'main');
    if (handler === null) throw new Error(`there is a shop of ${platform}`);
    const document = parseExactJson(JSON.stringify(body));
    return await handler.take({
      document,
      isTest: false,
      topic,
      isListed: false,
      refunds: 'unknown',
    });
  };
  return {
    ...shopOutbox(outbox, skuFile),
    intake,
    mapSkus: (skus) => clock.useSkus(skuFile, skus),
    woo: (body, topic = 'order.updated') => deliver('woocommerce', body, topic),
    shopify: (body, topic = 'orders/updated') => deliver('shopify', body, topic),
  };
}

/** An operator acts on the entry of a line of WooCommerce order 727. */
export async function actOn(
  { outbox }: ShopOutbox,
  lineId: string,
  order: EntryAction,
): Promise<void> {
  const entries = outbox.store.read.showOrder('woo', '727')?.entries ?? [];
  await outbox.store.operator.actOnEntry({
    reference: entries.find((entry) => entry.lineId === lineId)?.reference ?? '',
    order,
    actor: 'test',
    reason: 'for the test',
    nowMs: Date.now(),
    steadyMs: 1000,
    referenceExpiryMs: 86_400_000,
    lookupFamilies: ['gift_card', 'esim'],
  });
}

/**
 * The same for the whole run, because shops tell times in seconds and some tests need "the same
 * second".
 */
const runMs = Date.now();
const minutesAgo = (minutes: number): string =>
  new Date(runMs - minutes * 60_000).toISOString().slice(0, 19);

/**
 * A paid order as WooCommerce 9 sends it, with the fields that matter. It changed `minute` minutes
 * after it was paid.
 */
export function wooOrder(
  changes: Record<string, unknown> = {},
  minute = 0,
): Record<string, unknown> {
  return {
    id: 727,
    parent_id: 0,
    number: '727',
    status: 'processing',
    currency: 'USD',
    date_created_gmt: minutesAgo(61),
    date_modified_gmt: minutesAgo(60 - minute),
    date_paid_gmt: minutesAgo(60),
    total: '40.00',
    billing: { first_name: 'Zoë', email: 'zoe@example.com' },
    meta_data: [],
    line_items: [
      {
        id: 315,
        name: 'Steam 20',
        product_id: 93,
        variation_id: 0,
        quantity: 2,
        sku: 'STEAM-20',
        meta_data: [],
        price: 20,
      },
    ],
    refunds: [],
    ...changes,
  };
}

/** A paid order as Shopify sends it to orders/paid and orders/updated. */
export function shopifyOrder(
  changes: Record<string, unknown> = {},
  minute = 0,
): Record<string, unknown> {
  return {
    id: 5_678_901_234_567,
    admin_graphql_api_id: 'gid://shopify/Order/5678901234567',
    name: '#1001',
    currency: 'USD',
    presentment_currency: 'EUR',
    financial_status: 'paid',
    cancelled_at: null,
    test: false,
    created_at: `${minutesAgo(61)}+00:00`,
    processed_at: `${minutesAgo(60)}+00:00`,
    updated_at: `${minutesAgo(60 - minute)}+00:00`,
    line_items: [
      {
        id: 11,
        sku: 'STEAM-20',
        quantity: 3,
        current_quantity: 3,
        gift_card: false,
        properties: [],
      },
      { id: 12, sku: 'FR-7D', quantity: 1, current_quantity: 1, gift_card: false, properties: [] },
    ],
    refunds: [],
    ...changes,
  };
}
