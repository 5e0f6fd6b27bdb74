import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { RestSettings, ShopSettings } from '../../src/storefronts/shop/shop-settings.ts';
import type { ShopifyShop } from '../../src/storefronts/shopify/settings.ts';
import type { WooCommerceShop } from '../../src/storefronts/woocommerce/settings.ts';
import type { OutboxReader } from '../../src/store/read/outbox-reader.ts';

export const hour = 3_600_000;

export const skuMap = `skus:
  STEAM-20: { type: gift_card_order, variant: steam-usd-20 }
  STEAM-3PACK: { type: gift_card_order, variant: steam-usd-20, quantity: 3, currency: EUR }
  FR-7D: { type: esim_order, plan: fr-daily-1gb, days: 7 }
  TOPUP: { type: esim_topup, plan: fr-topup }
  STEAM-50: { type: gift_card_order, variant: steam-usd-50, split: false, partial: true, wait_h: 2 }
`;

/** Writes a SKU map into a folder of its own, for the time of the test. */
export function writeSkuMap(content = skuMap): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-skus-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'skus.yaml');
  writeFileSync(path, content);
  return path;
}

/** What a shop has by default, apart from its platform. */
const shop: Omit<ShopSettings, 'platform' | 'rest' | 'writeBack' | 'skuMap'> = {
  shop: 'main',
  source: 'main',
  secrets: ['a-secret-of-the-shop'],
  unmatched: 'ignore',
  onRefund: 'review',
  maxAgeH: 168,
  lookbackH: 24,
  sites: [],
  iccidField: 'iccid',
};

type Changes<Shop extends ShopSettings> = Partial<Shop> & { readonly skuMap: string };

export function wooCommerceShop(changes: Changes<WooCommerceShop>): WooCommerceShop {
  return {
    ...shop,
    platform: 'woocommerce',
    paidStatuses: ['processing', 'completed'],
    rest: null,
    writeBack: null,
    ...changes,
  };
}

export function shopifyShop(changes: Changes<ShopifyShop>): ShopifyShop {
  return { ...shop, platform: 'shopify', rest: null, writeBack: null, ...changes };
}

/** A shop that is read only when the test says so, in small pages. */
export function restSettings(url: string): RestSettings {
  return {
    url,
    schedule: '0 0 1 1 *',
    overlapS: 300,
    pageSize: 10,
    pagesPerRun: 50,
    bodyBytes: 1_048_576,
    timeouts: { connectMs: 60_000, totalMs: 60_000 },
  };
}

/** The entries of the outbox, the oldest order first. */
export function boughtIn(read: OutboxReader) {
  return read
    .listOrders({ limit: 1000 })
    .toReversed()
    .flatMap(({ source, orderId }) =>
      (read.showOrder(source, orderId)?.entries ?? []).map(({ lineId, asked, state }) => ({
        orderId,
        lineId,
        text: `${asked.replace(/ in [A-Z]{3}/, '')} ${state}`,
      })),
    );
}

/** What needs attention, in the order of the alphabet. */
export function flaggedIn(
  read: OutboxReader,
  textOf: (row: ReturnType<OutboxReader['attention']>[number]) => string,
) {
  return read
    .attention(1000)
    .map(textOf)
    .toSorted((a, b) => a.localeCompare(b));
}
