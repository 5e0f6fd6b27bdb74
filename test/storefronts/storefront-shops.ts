import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { StorefrontShop, WooCommerceShop } from '../../src/storefronts/settings.ts';
import { type Answer, type RunningIntake, startIntake } from '../intake/http/running-intake.ts';

export const wooSecret = 'woo-secret-of-this-year';
export const wooOldSecret = 'woo-secret-of-last-year';
export const shopifySecret = 'shopify-client-secret-1';

export const skuMap = `skus:
  STEAM-20: { type: gift_card_order, variant: steam-usd-20 }
  STEAM-3PACK: { type: gift_card_order, variant: steam-usd-20, quantity: 3, currency: EUR }
  FR-7D: { type: esim_order, plan: fr-daily-1gb, days: 7 }
  TOPUP: { type: esim_topup, plan: fr-topup }
`;

/** A file that was just written is left alone for two seconds: its writer may not be done. */
export function writeLongAgo(path: string, content: string): void {
  writeFileSync(path, content);
  utimesSync(path, Date.now() / 1000 - 60, Date.now() / 1000 - 60);
}

export interface Shops extends RunningIntake {
  readonly skuFile: string;
  /** Delivers to the WooCommerce shop, signed as WooCommerce documents it: base64 of HMAC-SHA256 of the raw body. */
  readonly woo: (body: unknown, headers?: Record<string, string>, secret?: string) => Promise<Answer>;
  readonly shopify: (body: unknown, headers?: Record<string, string>, secret?: string) => Promise<Answer>;
  /** What is in the outbox: `line quantity product state` of each entry. */
  readonly bought: () => readonly string[];
  /** What a person was told: `line code`. */
  readonly told: () => readonly string[];
}

export async function startShops(
  changes: { woo?: Partial<WooCommerceShop>; shopify?: Partial<StorefrontShop> } = {},
): Promise<Shops> {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-skus-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const skuFile = join(folder, 'skus.yaml');
  writeFileSync(skuFile, skuMap);
  const shop = {
    skuMap: skuFile,
    currency: null,
    unmatched: 'ignore',
    onRefund: 'hold',
    maxAgeMs: 168 * 3_600_000,
    iccidField: 'iccid',
  } as const;
  const running = await startIntake({
    config: {
      woocommerce: [
        {
          ...shop,
          shop: 'main',
          source: 'woo',
          secrets: [wooOldSecret, wooSecret],
          paidStatuses: ['processing', 'completed'],
          ...changes.woo,
        },
      ],
      shopify: [{ ...shop, shop: 'main', source: 'shopify', secrets: [shopifySecret], ...changes.shopify }],
    },
  });
  const deliver = async (path: string, header: string, secret: string, body: unknown, more: Record<string, string>) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const signature = createHmac('sha256', secret).update(Buffer.from(text)).digest('base64');
    return await running.call('POST', path, { 'content-type': 'application/json', [header]: signature, ...more }, text);
  };
  const { read } = running.outbox.store;
  return {
    ...running,
    skuFile,
    woo: (body, headers = {}, secret = wooSecret) =>
      deliver('/webhooks/woocommerce/main', 'X-WC-Webhook-Signature', secret, body, headers),
    shopify: (body, headers = {}, secret = shopifySecret) =>
      deliver('/webhooks/shopify/main', 'X-Shopify-Hmac-Sha256', secret, body, headers),
    bought: () =>
      read
        .listOrders({ limit: 100 })
        .toReversed()
        .flatMap((summary) => read.showOrder(summary.source, summary.orderId)?.entries ?? [])
        .map((entry) => `${entry.lineId} ${entry.asked.replace(/ in [A-Z]{3}/, '')} ${entry.state}`),
    told: () =>
      read
        .attention(100)
        .map((it) => `${it.lineId} ${it.reason}`)
        .toSorted((a, b) => a.localeCompare(b)),
  };
}

/** One moment for the whole run: shops tell times in seconds, and tests speak of "the same second". */
const runMs = Date.now();
const minutesAgo = (minutes: number): string => new Date(runMs - minutes * 60_000).toISOString().slice(0, 19);

/** A paid order as WooCommerce 9 sends it, without what nobody reads. Changed `minute` minutes after it was paid. */
export function wooOrder(changes: Record<string, unknown> = {}, minute = 0): Record<string, unknown> {
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
export function shopifyOrder(changes: Record<string, unknown> = {}, minute = 0): Record<string, unknown> {
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
      { id: 11, sku: 'STEAM-20', quantity: 3, fulfillable_quantity: 3, gift_card: false, properties: [] },
      { id: 12, sku: 'FR-7D', quantity: 1, fulfillable_quantity: 1, gift_card: false, properties: [] },
    ],
    refunds: [],
    ...changes,
  };
}
