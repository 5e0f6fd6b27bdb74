import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Installation } from '../support/worker-process.ts';
import { shopifyOrder, startShops, wooOrder } from '../storefronts/storefront-shops.ts';
import { bad, check, cli, good, installationWith } from './skus-check.ts';

describe('order-sync skus check', () => {
  it('finds no problem with products that the supplier sells, and lists what it cannot know', async () => {
    const place = await installationWith(good);
    expect((await cli(place, 'init')).code).toBe(0);
    expect(await check(place)).toMatchObject({
      code: 0,
      problems: [],
      unknown: [{ sku: 'TOPUP', code: 'per_esim' }],
    });
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

  it('checks the map of orders over HTTP, too', async () => {
    const place = await installationWith(good);
    const map = join(place.folder, 'http.yaml');
    writeFileSync(map, `skus:${bad}`);
    place.configure((config) => void (config.intake.webhook.sku_map = map));
    const { stdout } = await cli(place, 'skus', 'check', '--offline');
    expect(stdout).toMatch(/^woocommerce main: 3 SKUs.*^http webhook: 8 SKUs/ms);
  });

  it('uses the budget of a key that was renamed since, also without a worker', async () => {
    const place = await installationWith(good, {
      limits: { window_ms: 600_000, requests: 100, orders: 20, transit_ms: 50 },
    });
    await cli(place, 'init');
    expect(await check(place)).toMatchObject({ code: 0 });
    place.configure((config) => void (config.wholesale.keys[0].name = 'renamed'));
    expect(await check(place)).toMatchObject({ code: 0 });
    const slots = place
      .query<{ key_name: string }>('SELECT key_name FROM budget_slots')
      .map((slot) => slot.key_name);
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
    expect(read.skuSightings('woo')).toMatchObject([
      { sku: 'SHIRT', unmappedOrders: 2, boughtLines: 0, lastOrderId: '2' },
      { sku: '', unmappedOrders: 1 },
      { sku: 'STEAM-20', unmappedOrders: 0, boughtLines: 1 },
    ]);
    expect(read.skuSightings('shopify').map(({ sku }) => sku)).toEqual(['FR-7D', 'STEAM-20']);
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
