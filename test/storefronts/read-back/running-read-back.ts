import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/core/clock.ts';
import { StorefrontIntake } from '../../../src/storefronts/storefront-intake.ts';
import type { WooCommerceShop } from '../../../src/storefronts/settings.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { Reconcile } from '../../../src/storefronts/read-back/read-back.ts';
import type { ReconciledShop, ShopRest } from '../../../src/storefronts/read-back/settings.ts';
import type { ReconcileReport } from '../../../src/storefronts/read-back/shop-reader.ts';
import { Outbox } from '../../support/outbox.ts';
import { skuMap } from '../storefront-shops.ts';
import { shopifyApp, type StubShop, woo } from './stub-shop.ts';

export const hour = 3_600_000;

export interface RunningReconcile {
  readonly outbox: Outbox;
  readonly reconcile: Reconcile;
  readonly desk: StorefrontIntake;
  readonly shop: ReconciledShop;
  /** One run of the only shop. */
  readonly run: (sinceMs?: number) => Promise<ReconcileReport>;
  readonly watermark: () => Promise<number | null>;
  readonly bought: () => readonly string[];
  readonly told: () => readonly string[];
  readonly log: () => readonly Record<string, unknown>[];
}

/** A reconcile of one shop over real sockets, before a real outbox; nothing runs by itself until it is started. */
export async function reconcileOf(
  platform: 'woocommerce' | 'shopify',
  stub: StubShop,
  changes: {
    rest?: Partial<ShopRest> & Record<string, unknown>;
    shop?: Partial<WooCommerceShop>;
    clock?: Clock;
    outbox?: Outbox;
  } = {},
): Promise<RunningReconcile> {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-reconcile-'));
  const skuFile = join(folder, 'skus.yaml');
  writeFileSync(skuFile, skuMap);
  const outbox = changes.outbox ?? (await Outbox.open());
  const clock = changes.clock ?? new SystemClock();
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const shop = {
    shop: 'main',
    source: 'main',
    secrets: ['a-secret-of-the-shop'],
    skuMap: skuFile,
    currency: null,
    unmatched: 'ignore',
    onRefund: 'hold',
    maxAgeMs: 168 * hour,
    iccidField: 'iccid',
    paidStatuses: ['processing', 'completed'],
    ...changes.shop,
  } as const;
  const desk = new StorefrontIntake({
    config: { woocommerce: platform === 'woocommerce' ? [shop] : [], shopify: platform === 'shopify' ? [shop] : [] },
    store: outbox.store,
    clock,
    logger,
    onChanged: () => undefined,
  });
  const rest = {
    url: stub.url,
    schedule: '0 0 1 1 *',
    lookbackMs: 24 * hour,
    overlapMs: 300_000,
    pageSize: 10,
    pagesPerRun: 50,
    intervalMs: 0,
    bodyBytes: 1_048_576,
    connectMs: 2000,
    totalMs: 5000,
    ...changes.rest,
  };
  const reconciled: ReconciledShop =
    platform === 'woocommerce'
      ? { platform, shop: 'main', source: 'main', rest: { consumerKey: woo.key, consumerSecret: woo.secret, ...rest } }
      : {
          platform,
          shop: 'main',
          source: 'main',
          rest: { apiVersion: '2026-10', access: { kind: 'token', token: shopifyApp.token }, ...rest },
        };
  const reconcile = new Reconcile({
    shops: [reconciled],
    store: outbox.store,
    clock,
    logger,
    version: '0.0.0',
    take: async (door, value, refunds) => {
      const counter = desk.counter(door.platform, door.shop);
      if (counter === null) throw new Error('the shop is configured');
      return await desk.take(counter, { value, isTest: false, refunds });
    },
  });
  onTestFinished(async () => {
    await reconcile.stop();
    if (changes.outbox === undefined) await outbox.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { read } = outbox.store;
  return {
    outbox,
    reconcile,
    desk,
    shop: reconciled,
    run: async (sinceMs) => {
      const [report] = await reconcile.run({ shop: null, sinceMs: sinceMs ?? null });
      if (report === undefined) throw new Error('there is one shop');
      return report;
    },
    watermark: () => outbox.store.storefronts.watermark('main'),
    bought: () =>
      read
        .listOrders({ limit: 1000 })
        .toReversed()
        .flatMap(({ source, orderId }) =>
          (read.showOrder(source, orderId)?.entries ?? []).map(
            (entry) => `${orderId}/${entry.lineId} ${entry.asked.replace(/ in [A-Z]{3}/, '')} ${entry.state}`,
          ),
        ),
    told: () =>
      read
        .attention(1000)
        .map((it) => `${it.orderId}/${it.lineId} ${it.reason}`)
        .toSorted((a, b) => a.localeCompare(b)),
    log: () => lines,
  };
}

/** A whole second in the past: shops tell no smaller times. */
export function minutesAgo(minutes: number): number {
  return Math.floor((Date.now() - minutes * 60_000) / 1000) * 1000;
}

const gmt = (ms: number): string => new Date(ms).toISOString().slice(0, 19);

/** A paid order of WooCommerce, without what the stub adds. */
export function wooBody(lineId: string, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    number: lineId,
    status: 'processing',
    currency: 'USD',
    date_created_gmt: gmt(minutesAgo(90)),
    date_paid_gmt: gmt(minutesAgo(80)),
    meta_data: [],
    line_items: [{ id: lineId, sku: 'STEAM-20', quantity: 2, meta_data: [] }],
    ...changes,
  };
}

/** A paid order of Shopify, without what the stub adds. */
export function shopifyBody(lineId: string, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: '#1',
    currency: 'USD',
    financial_status: 'paid',
    cancelled_at: null,
    closed_at: null,
    test: false,
    created_at: new Date(minutesAgo(90)).toISOString(),
    processed_at: new Date(minutesAgo(80)).toISOString(),
    line_items: [{ id: lineId, sku: 'STEAM-20', quantity: 3, properties: [] }],
    ...changes,
  };
}
