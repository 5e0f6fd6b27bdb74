import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCommandLine } from '../../src/cli/commands/program.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { OutboxReader } from '../../src/store/read/outbox-reader.ts';
import { Installation } from '../support/worker-process.ts';
import { shopifyOrder, startShops, wooOrder } from '../storefronts/storefront-shops.ts';

const good = `
  STEAM: { type: gift_card_order, variant: steam-usd-20 }
  DAILY: { type: esim_order, plan: es-daily-unlimited, days: 3 }
  TOPUP: { type: esim_topup, plan: es-1gb-7d }
`;
const bad = `
  TYPO: { type: gift_card_order, variant: steam-usd-21 }
  WEB: { type: gift_card_order, variant: test-website-only }
  EURO: { type: gift_card_order, variant: test-usd-only, currency: EUR }
  MANY: { type: gift_card_order, variant: steam-usd-100, quantity: 11 }
  NODAYS: { type: esim_order, plan: es-daily-1gb }
  LONG: { type: esim_order, plan: es-daily-unlimited, days: 16 }
  CROWD: { type: esim_order, plan: es-1gb-7d, quantity: 31 }
  GONE: { type: esim_order, plan: es-2gb-7d }
`;

interface Findings {
  problems: { sku: string; code: string }[];
  unknown: { sku: string; code: string }[];
  unmapped: { sku: string; orders: number }[];
}

async function installationWith(
  skus: string,
  options: Parameters<typeof Installation.open>[0] = {},
  more = {},
): Promise<Installation> {
  const shop = { shop: 'main', secrets: [{ value: 'a-secret-of-the-shop' }], sku_map: 'SKUS', ...more };
  const place = await Installation.open({ ...options, webhook: { woocommerce: [shop] } });
  onTestFinished(() => place.close());
  const file = join(place.folder, 'skus.yaml');
  writeFileSync(file, `skus:${skus}`);
  writeFileSync(place.configFile, readFileSync(place.configFile, 'utf8').replace('SKUS', file));
  return place;
}

async function cli(place: Installation, ...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  let stdout = '';
  let stderr = '';
  const code = await runCommandLine([...argv, '--config', place.configFile], {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    clock: new SystemClock(),
  });
  return { code, stdout, stderr };
}

async function check(place: Installation, ...argv: string[]): Promise<Findings & { code: number }> {
  const { code, stdout } = await cli(place, 'skus', 'check', '--json', ...argv);
  const [found]: Findings[] = JSON.parse(stdout).shops;
  if (found === undefined) throw new Error('there is one shop');
  return { ...found, code };
}

describe('order-sync skus check', () => {
  it('finds no problem with products that the supplier sells, and lists what it cannot know', async () => {
    const place = await installationWith(good);
    expect((await cli(place, 'init')).code).toBe(0);
    expect(await check(place)).toMatchObject({ code: 0, problems: [], unknown: [{ sku: 'TOPUP', code: 'per_esim' }] });
    expect((await cli(place, 'skus', 'check')).stdout).toMatch(
      /^woocommerce main: 3 SKUs, 0 problems\n {2}unknown {2}TOPUP: /,
    );
  });

  it('names every SKU whose order would be rejected, by the code of the rejection, and ends with 8', async () => {
    const place = await installationWith(good + bad);
    await cli(place, 'init');
    const { code, problems } = await check(place);
    expect([code, problems.map(({ sku, code: why }) => `${sku} ${why}`)]).toEqual([
      8,
      [
        'TYPO invalid_variant',
        'WEB not_api_sellable',
        'EURO currency_unavailable',
        'MANY limit_exceeded',
        'NODAYS days_missing',
        'LONG days_out_of_range',
        'CROWD limit_exceeded',
        'GONE invalid_plan',
      ],
    ]);
    const calls = place.sandbox.ledger().calls.map(({ operation }) => operation);
    expect(calls.filter((operation) => /order|topup|cancel/.test(operation ?? ''))).toEqual([]);
  });

  it('asks the running worker for its budget: no call is rate-limited, and orders keep their slots', async () => {
    const limits = { window_ms: 1000, requests: 12, orders: 4, transit_ms: 50 };
    const place = await installationWith(good + bad, {
      limits,
      sandbox: { limits: { enabled: true, window_ms: 1000, requests: 12, orders: 4 } },
    });
    const worker = place.start();
    await worker.started();
    place.drop(
      'order.json',
      JSON.stringify({
        order_id: '1',
        currency: 'USD',
        lines: [{ line_id: '1', type: 'gift_card_order', variant: 'steam-usd-20', quantity: 1 }],
      }),
    );
    const { code, problems } = await check(place);
    expect([code, problems.length]).toEqual([8, 8]);
    const rateLimited = place.sandbox.ledger().calls.filter(({ status }) => status === 429);
    expect(rateLimited).toEqual([]);
    expect(place.query<{ n: number }>("SELECT count(*) AS n FROM entries WHERE state = 'fulfilled'")).toEqual([
      { n: 1 },
    ]);
    await worker.end('SIGTERM');
  });

  it('uses the budget of a key that was renamed since, also without a worker', async () => {
    const place = await installationWith(good, {
      limits: { window_ms: 600_000, requests: 100, orders: 20, transit_ms: 50 },
    });
    await cli(place, 'init');
    expect(await check(place)).toMatchObject({ code: 0 });
    place.configure((config) => void (config.wholesale.keys[0].name = 'renamed'));
    expect(await check(place)).toMatchObject({ code: 0 });
    const slots = place.query<{ key_name: string }>('SELECT key_name FROM budget_slots').map((slot) => slot.key_name);
    // Those of the first check, too: the server counts by the value of the key.
    expect(slots).toEqual(place.sandbox.ledger().calls.map(() => 'renamed'));
  });

  it('counts the SKUs of orders that are not in the map, each order once', async () => {
    const shops = await startShops();
    const shirt = (id: number, more: object[] = []) =>
      wooOrder({
        id,
        line_items: [
          { id: id * 10, sku: 'SHIRT', quantity: 2 },
          { id: id * 10 + 1, sku: 'SHIRT', quantity: 1 },
          ...more,
        ],
      });
    await shops.woo(shirt(1));
    await shops.woo(shirt(1));
    await shops.woo(
      shirt(2, [
        { id: 29, sku: 'STEAM-20', quantity: 1 },
        { id: 30, sku: '', quantity: 1 },
      ]),
    );
    await shops.shopify(shopifyOrder());
    const { read } = shops.outbox.store;
    expect(read).toBeInstanceOf(OutboxReader);
    expect(read.skuSightings('woo')).toMatchObject([
      { sku: 'SHIRT', unmappedOrders: 2, boughtLines: 0, lastOrderId: '2' },
      { sku: '', unmappedOrders: 1 },
      { sku: 'STEAM-20', unmappedOrders: 0, boughtLines: 1 },
    ]);
    expect(read.skuSightings('shopify').map(({ sku }) => sku)).toEqual(['FR-7D', 'STEAM-20']);
  });

  it('lists them without a call to the API, and reports them as a problem only where each is flagged for review', async () => {
    for (const [unmatched, problems] of [
      ['ignore', []],
      ['review', [{ sku: 'SHIRT', code: 'unknown_sku' }]],
    ] as const) {
      const place = await installationWith(good, {}, { unmatched });
      const worker = place.start();
      const { webhook } = await worker.started();
      const body = JSON.stringify(wooOrder({ line_items: [{ id: 1, sku: 'SHIRT', quantity: 1 }] }));
      const { createHmac } = await import('node:crypto');
      const signature = createHmac('sha256', 'a-secret-of-the-shop').update(body).digest('base64');
      const headers = { 'content-type': 'application/json', 'x-wc-webhook-signature': signature };
      await fetch(`http://${String(webhook)}/webhooks/woocommerce/main`, { method: 'POST', headers, body });
      const found = await check(place, '--offline');
      expect(found).toMatchObject({
        code: problems.length > 0 ? 8 : 0,
        problems,
        unmapped: [{ sku: 'SHIRT', orders: 1 }],
      });
      expect(found.unknown.map(({ code }) => code)).toEqual(['not_read', 'not_read', 'per_esim']);
      await worker.end('SIGTERM');
    }
  });

  it('ends with 6 when the supplier cannot be read, with 3 for a map with a mistake, with 4 without a shop', async () => {
    const place = await installationWith(good);
    await cli(place, 'init');
    await place.sandbox.close();
    const unread = await cli(place, 'skus', 'check');
    expect([unread.code, unread.stderr]).toEqual([6, expect.stringContaining('--offline')]);
    writeFileSync(join(place.folder, 'skus.yaml'), 'skus: { A: { type: gift_card } }');
    expect((await cli(place, 'skus', 'check')).code).toBe(3);
    const none = await Installation.open();
    onTestFinished(() => none.close());
    expect((await cli(none, 'skus', 'check')).code).toBe(4);
  });
});
