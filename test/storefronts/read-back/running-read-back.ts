import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/core/clock.ts';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { ReadBack } from '../../../src/storefronts/read-back/read-back.ts';
import type { ReadBackReport } from '../../../src/storefronts/read-back/shop-reader.ts';
import { ShopConnections } from '../../../src/storefronts/shop-connections.ts';
import type { Shop } from '../../../src/storefronts/settings.ts';
import type { RestSettings } from '../../../src/storefronts/shop/shop-settings.ts';
import type { ShopifyRest } from '../../../src/storefronts/shopify/settings.ts';
import { type ShopHandler, StorefrontIntake } from '../../../src/storefronts/storefront-intake.ts';
import { Outbox } from '../../support/outbox.ts';
import {
  boughtIn,
  flaggedIn,
  restSettings,
  shopifyShop,
  wooCommerceShop,
  writeSkuMap,
} from '../shop-settings.ts';
import { shopifyApp, type StubShop, woo } from './stub-shop.ts';

export interface RunningReadBack {
  readonly outbox: Outbox;
  readonly readBack: ReadBack;
  readonly handler: ShopHandler;
  readonly shop: Shop;
  /** One run of the only shop. */
  readonly run: (sinceMs?: number) => Promise<ReadBackReport>;
  readonly watermark: () => Promise<number | null>;
  /** `order/line quantity product state` of each entry in the outbox. */
  readonly bought: () => readonly string[];
  /** `order/line code` of everything that is flagged for review. */
  readonly flagged: () => readonly string[];
  readonly log: () => readonly Record<string, unknown>[];
  /** Resolves when that many lines of the log have this text. */
  readonly logged: (text: string, times?: number) => Promise<void>;
}

/**
 * Reads one shop back over real sockets into a real outbox. Nothing runs until the test starts it.
 */
export async function readBackOf(
  platform: 'woocommerce' | 'shopify',
  stub: StubShop,
  changes: {
    rest?: Partial<RestSettings> & { access?: ShopifyRest['access'] };
    lookbackH?: number;
    clock?: Clock;
    outbox?: Outbox;
  } = {},
): Promise<RunningReadBack> {
  const outbox = changes.outbox ?? (await Outbox.open());
  const clock = changes.clock ?? new SystemClock();
  const lines: Record<string, unknown>[] = [];
  let onLine: () => void = () => undefined;
  const write = (line: string): void => {
    lines.push(JSON.parse(line));
    onLine();
  };
  const logger = pino({ level: 'info' }, { write });
  const skuMap = writeSkuMap();
  const { lookbackH = 24 } = changes;
  const rest = { ...restSettings(stub.url), ...changes.rest };
  const token = { kind: 'token', token: shopifyApp.token } as const;
  const shop: Shop =
    platform === 'woocommerce'
      ? wooCommerceShop({
          skuMap,
          lookbackH,
          rest: { ca: null, consumerKey: woo.key, consumerSecret: woo.secret, ...rest },
        })
      : shopifyShop({ skuMap, lookbackH, rest: { access: token, ...rest } });
  const store = outbox.store.storefronts;
  const storefronts = new StorefrontIntake({
    shops: [shop],
    store,
    clock,
    logger,
    onChanged: () => undefined,
  });
  const handler = storefronts.handlerFor(platform, 'main');
  if (handler === null) throw new Error('the shop is configured');
  const readBack = new ReadBack({
    shops: [shop],
    store,
    clock,
    logger,
    connections: new ShopConnections({ clock, version: '0.0.0' }),
    handlerOf: () => handler,
    onFound: () => undefined,
  });
  onTestFinished(async () => {
    await readBack.stop();
    if (changes.outbox === undefined) await outbox.close();
  });
  const { read } = outbox.store;
  return {
    outbox,
    readBack,
    handler,
    shop,
    run: async (sinceMs) => {
      const [report] = await readBack.run({ shop: null, sinceMs: sinceMs ?? null });
      if (report === undefined) throw new Error('there is one shop');
      return report;
    },
    watermark: () => store.watermark('main'),
    bought: () => boughtIn(read).map(({ orderId, lineId, text }) => `${orderId}/${lineId} ${text}`),
    flagged: () => flaggedIn(read, ({ orderId, lineId, code }) => `${orderId}/${lineId} ${code}`),
    log: () => lines,
    logged: async (text, times = 1) => {
      while (lines.filter(({ msg }) => msg === text).length < times) {
        const { promise, resolve } = Promise.withResolvers<void>();
        onLine = resolve;
        await promise;
      }
    },
  };
}

/** A document as the worker reads JSON: every number as its text. */
export function numbersAsText<T>(document: T): T {
  return JSON.parse(JSON.stringify(document), (_, part: unknown) =>
    typeof part === 'number' ? String(part) : part,
  );
}

/** A whole second in the past: shops tell times in seconds. */
export function minutesAgo(minutes: number): number {
  return Math.floor((Date.now() - minutes * 60_000) / 1000) * 1000;
}

const gmt = (ms: number): string => new Date(ms).toISOString().slice(0, 19);

/** A paid order of WooCommerce, without the fields that the stub adds. */
export function wooBody(
  lineId: string,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
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

/** The refunds of an order of which one piece of a line was refunded. */
export const oneRefunded = (lineId: string) => [
  {
    id: '9',
    line_items: [{ quantity: -1, meta_data: [{ key: '_refunded_item_id', value: lineId }] }],
  },
];

/** A paid order of WooCommerce with one card. */
export const oneCard = (lineId: string) =>
  wooBody(lineId, { line_items: [{ id: lineId, sku: 'STEAM-20', quantity: 1, meta_data: [] }] });

/** A paid order of Shopify, without the fields that the stub adds. */
export function shopifyBody(
  lineId: string,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
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
