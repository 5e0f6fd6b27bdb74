import { join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorizationOf } from '../../src/storefronts/woocommerce/authorization.ts';
import { Installation, type WorkerProcess } from '../support/worker-process.ts';
import { commandLine } from './read-back/shop-worker.ts';
import { RealShop, type Shown } from './real-shop.ts';
import { restSettings } from './shop-settings.ts';

// Against a real shop, see `real-shop.ts`: WOO_TRIAL=<its folder> npx vitest run test/storefronts/real-shop.test.ts

const folder = process.env['WOO_TRIAL'];
const whySkipped = folder === undefined ? ' (skipped: WOO_TRIAL names no folder of one)' : '';
const within = { timeout: 45_000, interval: 250 };
const webhookPort = 22_811;
const skuMap = `skus:
  STEAM-20: { type: gift_card_order, variant: steam-usd-20 }
  STEAM-3PACK: { type: gift_card_order, variant: steam-usd-20, quantity: 3 }
  STEAM-V: { type: gift_card_order, variant: steam-usd-20 }
  STEAM-V-20: { type: gift_card_order, variant: steam-usd-20 }
  TRIAL-NEW: { type: gift_card_order, variant: steam-usd-20 }
`;

describe.skipIf(folder === undefined)(`a real WooCommerce${whySkipped}`, () => {
  let shop: RealShop;
  let place: Installation;
  let worker: WorkerProcess;
  let webhookId: unknown;

  beforeAll(async () => {
    shop = new RealShop(folder ?? '');
    for (const { id } of (await shop.call('GET', '/webhooks?per_page=100')).list)
      await shop.call('DELETE', `/webhooks/${String(id)}?force=true`);
    const secret = 'a-webhook-secret-of-the-shop';
    place = await Installation.open({ timeScale: 0.1, webhook: { listen: `127.0.0.1:${webhookPort}` } });
    const skus = join(place.folder, 'skus.yaml');
    writeFileSync(skus, skuMap);
    const [consumer_key, consumer_secret] = shop.keys.readWrite;
    place.configure((config) => {
      const rest = { url: shop.url, ca_file: shop.caFile, consumer_key, consumer_secret, schedule: '*/5 * * * * *' };
      const write_back = { deliver_codes: 'note' };
      config.intake.webhook.woocommerce = [
        { shop: 'main', secrets: [{ value: secret }], sku_map: skus, rest, write_back },
      ];
    });
    worker = place.start();
    await worker.started();
    const delivery_url = `http://127.0.0.1:${webhookPort}/webhooks/woocommerce/main`;
    const made = await shop.call('POST', '/webhooks', { name: 'worker', topic: 'order.updated', secret, delivery_url });
    webhookId = made.value['id'];
  });

  afterAll(async () => {
    await shop?.call('DELETE', `/webhooks/${String(webhookId)}?force=true`);
    await shop?.close();
    await place?.close();
  });

  const entriesOf = (orderId: string) =>
    place.query<{ line: string; state: string; quantity: number }>(
      `SELECT l.line_id AS line, e.state, e.quantity FROM entries e JOIN lines l ON l.id = e.line_id
       JOIN requests r ON r.id = l.request_id WHERE r.order_id = '${orderId}' ORDER BY e.id`,
    );
  const statesOf = (orderId: string): readonly string[] => entriesOf(orderId).map(({ state }) => state);
  const flagsOf = (orderId: string | null): readonly string[] =>
    place
      .query<{ code: string }>(
        `SELECT code FROM rejections WHERE order_id IS ${orderId === null ? 'NULL' : `'${orderId}'`} AND taken_back = 0`,
      )
      .map(({ code }) => code);
  const codesOf = (orderId: string): readonly string[] => {
    const result = readFileSync(join(place.folder, 'results/main', `${orderId}.json`), 'utf8');
    return [...result.matchAll(/"code": ?"([^"]+)"/g)].map(([, code = '']) => code);
  };
  const product = (sku: string): number => shop.products[sku] ?? 0;
  const line = (sku: string, quantity = 1): Shown => ({ product_id: product(sku), quantity });
  const webhookStatus = async () => (await shop.call('GET', `/webhooks/${String(webhookId)}`)).value['status'];
  const restart = async (): Promise<void> => {
    worker = place.start();
    await worker.started();
  };
  /** What is not there after a whole run of read-back does not come. */
  const afterReadBack = async (): Promise<void> => {
    const { code } = await commandLine(place, 'reconcile');
    expect(code).toBe(0);
  };

  it('buys a paid order once, mails its codes, completes it, and ignores its own writes', async () => {
    const id = await shop.order([line('STEAM-20', 2), line('STEAM-3PACK')]);
    await expect.poll(() => shop.statusOf(id), within).toBe('completed');
    expect(statesOf(id)).toEqual(['fulfilled', 'fulfilled']);
    await expect
      .poll(() => shop.mails(id).filter((body) => codesOf(id).every((code) => body.includes(code))), within)
      .toHaveLength(1);
    await afterReadBack();
    expect(entriesOf(id).map(({ quantity }) => quantity)).toEqual([2, 3]);
    expect(flagsOf(id)).toEqual([]);
    process.stdout.write(`${shop.versions}; mails for an order of two lines: ${shop.mails(id).length}\n`);
  });

  it('buys nothing that is unpaid, on hold or cancelled, and buys when it is paid', async () => {
    const ids: string[] = [];
    for (const status of ['pending', 'on-hold', 'cancelled', 'failed'])
      ids.push(await shop.order([line('STEAM-20')], { status, set_paid: false }));
    await afterReadBack();
    expect(ids.map(statesOf)).toEqual([[], [], [], []]);
    await shop.call('PUT', `/orders/${ids[0]}`, { status: 'processing', set_paid: true });
    await expect.poll(() => statesOf(ids[0] ?? ''), within).toEqual(['fulfilled']);
  });

  it('flags a refund after the purchase, and the trash, once', async () => {
    const id = await shop.order([line('STEAM-20', 2)]);
    await expect.poll(() => shop.statusOf(id), within).toBe('completed');
    const [item] = await shop.linesOf(id);
    const refund = {
      amount: '20',
      api_refund: false,
      line_items: [{ id: item?.['id'], quantity: 1, refund_total: 20 }],
    };
    const refunded = await shop.call('POST', `/orders/${id}/refunds`, refund);
    expect(refunded.status).toBe(201);
    await expect.poll(() => flagsOf(id), within).toEqual(['refunded_in_storefront']);
    const trashed = await shop.order([line('STEAM-20')]);
    await expect.poll(() => shop.statusOf(trashed), within).toBe('completed');
    await shop.call('DELETE', `/orders/${trashed}`);
    await shop.call('PUT', `/orders/${id}`, { customer_note: 'changed' });
    await afterReadBack();
    expect(flagsOf(id)).toEqual(['refunded_in_storefront']);
  });

  it('keeps a line whose product got another SKU or was deleted', async () => {
    const made = await shop.call('POST', '/products', {
      name: 'Renamed later',
      sku: 'TRIAL-NEW',
      regular_price: '20',
      virtual: true,
    });
    const id = await shop.order([{ product_id: made.value['id'], quantity: 1 }]);
    await expect.poll(() => shop.statusOf(id), within).toBe('completed');
    const shown = async () => (await shop.linesOf(id))[0]?.['sku'];
    await shop.call('PUT', `/products/${String(made.value['id'])}`, { sku: 'TRIAL-RENAMED' });
    await shop.call('PUT', `/orders/${id}`, { customer_note: 'renamed' });
    await afterReadBack();
    expect([await shown(), flagsOf(id), statesOf(id)]).toEqual(['TRIAL-RENAMED', [], ['fulfilled']]);
    await shop.call('DELETE', `/products/${String(made.value['id'])}?force=true`);
    await shop.call('PUT', `/orders/${id}`, { customer_note: 'deleted' });
    await afterReadBack();
    expect([await shown(), flagsOf(id), statesOf(id)]).toEqual([null, [], ['fulfilled']]);
  });

  it('keeps a line whose variation was deleted, which the shop then shows as its product', async () => {
    const parent = product('STEAM-V');
    const attributes = [{ name: 'Value', option: '20' }];
    const variation = { sku: 'TRIAL-NEW', regular_price: '20', virtual: true, attributes };
    const made = (await shop.call('POST', `/products/${parent}/variations`, variation)).value['id'];
    const id = await shop.order([{ product_id: parent, variation_id: made, quantity: 1 }]);
    await expect.poll(() => shop.statusOf(id), within).toBe('completed');
    await shop.call('DELETE', `/products/${parent}/variations/${String(made)}?force=true`);
    await shop.call('PUT', `/orders/${id}`, { customer_note: 'deleted' });
    await afterReadBack();
    const [shown] = await shop.linesOf(id);
    expect(shown).toMatchObject({ product_id: parent, variation_id: 0, sku: 'STEAM-V' });
    expect([flagsOf(id), statesOf(id)]).toEqual([[], ['fulfilled']]);
  });

  it('buys a variation by its own SKU, and flags one that shows the SKU of its product', async () => {
    const parent = product('STEAM-V');
    const own = { product_id: parent, variation_id: product('STEAM-V-20'), quantity: 1 };
    const inherited = { product_id: parent, variation_id: product('STEAM-V(inherits)'), quantity: 1 };
    const id = await shop.order([own, inherited]);
    await expect.poll(() => statesOf(id), within).toEqual(['fulfilled']);
    expect(flagsOf(id)).toEqual(['variation_without_sku']);
  });

  it('switches on what the shop switched off while the worker was down, and finds what was deleted', async () => {
    const deleted = await shop.order([line('STEAM-20')]);
    await expect.poll(() => shop.statusOf(deleted), within).toBe('completed');
    const noted = await shop.order([line('STEAM-20')], { status: 'pending', set_paid: false });
    await worker.end('SIGTERM');
    for (let failed = 0; failed < 7; failed += 1)
      await shop.call('PUT', `/orders/${noted}`, { customer_note: `failed ${failed}` });
    expect(await webhookStatus()).toBe('disabled');
    const { status } = await shop.call('DELETE', `/orders/${deleted}?force=true`);
    expect(status).toBe(200);
    const lost = await shop.order([line('STEAM-20')]);
    await restart();
    await expect.poll(webhookStatus, within).toBe('active');
    await expect.poll(() => statesOf(lost), within).toEqual(['fulfilled']);
    await expect.poll(() => flagsOf(deleted), within).toEqual(['refunded_in_storefront']);
    expect(flagsOf(null)).toEqual([]);
  });

  it('tells what a key that may only read cannot do, and writes at once after a better one', async () => {
    const keys = (pair: readonly [string, string]) =>
      place.configure((config) => {
        const { rest } = config.intake.webhook.woocommerce[0];
        [rest.consumer_key, rest.consumer_secret] = pair;
      });
    keys(shop.keys.read);
    await worker.reload();
    const id = await shop.order([line('STEAM-20')]);
    await expect.poll(() => statesOf(id), within).toEqual(['fulfilled']);
    await worker.line(({ msg, ...more }) => msg === 'a result could not be delivered' && more['order_id'] === id);
    const doctor = JSON.parse((await commandLine(place, 'doctor', '--json')).stdout);
    const ofShop = doctor.checks.find(({ check }: Shown) => check === 'shop:main');
    expect(ofShop).toMatchObject({ status: 'warn', message: expect.stringContaining('only read') });
    await shop.call('PUT', `/webhooks/${String(webhookId)}`, { status: 'disabled' });
    await worker.end('SIGTERM');
    await restart();
    await expect.poll(() => flagsOf(null), within).toEqual(['webhook_off']);
    keys(shop.keys.readWrite);
    await worker.reload();
    await expect.poll(() => shop.statusOf(id), within).toBe('completed');
    await expect.poll(webhookStatus, within).toBe('active');
    await expect.poll(() => flagsOf(null), within).toEqual([]);
  });

  it('names permalinks that are off', async () => {
    const set = async (structure: string) =>
      await shop.php(
        `update_option('permalink_structure','${structure}');global $wp_rewrite;$wp_rewrite->init();flush_rewrite_rules();`,
      );
    await set('');
    try {
      const doctor = JSON.parse((await commandLine(place, 'doctor', '--json')).stdout);
      const ofShop = doctor.checks.find(({ check }: Shown) => check === 'shop:main');
      expect(ofShop).toMatchObject({ status: 'fail', message: expect.stringContaining('permalinks') });
    } finally {
      await set('/%postname%/');
    }
  });

  it('accepts signed calls over plain http', async () => {
    const { hostname, port } = new URL(shop.url);
    const own = `http://${hostname}:${port}`;
    const [consumerKey, consumerSecret] = shop.keys.readWrite;
    const rest = { ...restSettings(own), ca: readFileSync(shop.caFile, 'utf8'), consumerKey, consumerSecret };
    const sign = authorizationOf(rest, { wallMs: () => Date.now() });
    const paths = ["/products?sku=A'B%20(1)%2C*&_fields=sku%2Ctype", '/orders?modified_after=2026-01-01T00%3A00%3A00'];
    for (const path of paths.map((tail) => `/wp-json/wc/v3${tail}`)) {
      // The address is the one in the shop's settings; its server listens for plain http one port above.
      const answer = await fetch(`http://127.0.0.1:${Number(port) + 1}${path}`, {
        headers: { authorization: sign('GET', path) },
      });
      expect([path, answer.status]).toEqual([path, 200]);
    }
  });
});
