import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, it, onTestFinished } from 'vitest';
import { Installation } from '../support/worker-process.ts';
import { skuMap } from '../storefronts/shop-settings.ts';
import { wooOrder } from '../storefronts/storefront-shops.ts';

const secret = 'the-secret-of-the-shop';
const whsec = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const order = JSON.stringify(wooOrder());
/** What the shop sends with each delivery, signed with a secret. */
const headersOf = (by: string, body = order) => ({
  'content-type': 'application/json',
  'x-wc-webhook-topic': 'order.updated',
  'x-wc-webhook-source': 'https://shop.example.com/',
  'x-wc-webhook-signature': createHmac('sha256', by).update(body).digest('base64'),
});

async function workerOfShop() {
  const installation = await Installation.open({ webhook: {} });
  onTestFinished(() => installation.close());
  const skus = join(installation.folder, 'skus.yaml');
  writeFileSync(skus, skuMap);
  installation.configure((config) => {
    config.intake.webhook.woocommerce = [
      { shop: 'main', secrets: [{ value: secret }], sku_map: skus },
    ];
    config.intake.webhook.standard_webhooks = [{ name: 'partner', secret: whsec }];
  });
  const worker = installation.start();
  const { webhook, admin } = await worker.started();
  const post = async (
    path: string,
    headers: Record<string, string>,
    body = order,
  ): Promise<number> => {
    const answer = await fetch(`http://${String(webhook)}${path}`, {
      method: 'POST',
      headers,
      body,
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const health = async (): Promise<string> => {
    const text = await (await fetch(`http://${String(admin)}/healthz`)).text();
    return String(/"webhook":"(\w+)"/.exec(text)?.[1]);
  };
  /** How many were refused for this reason. */
  const refused = async (reason: string): Promise<number> => {
    const text = await (await fetch(`http://${String(admin)}/metrics`)).text();
    const lines = text
      .split('\n')
      .filter((line) => line.includes('refused_callers_total') && line.includes(`"${reason}"`));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const warned = (word: string): number =>
    worker.log.filter((line) => line['level'] !== 'info' && JSON.stringify(line).includes(word))
      .length;
  return { installation, worker, post, health, refused, warned };
}

it('deliveries of the shop with a wrong secret or address are logged, counted, and a reason for health to warn', async () => {
  const { post, health, refused, warned } = await workerOfShop();
  for (const other of ['the-secret-of-before', 'a-secret-with-a-space ', 'another-shop-s-secret'])
    expect(await post('/webhooks/woocommerce/main', headersOf(other))).toBe(401);
  expect([await health(), await refused('unauthorized'), warned('woocommerce/main')]).toEqual([
    'warn',
    3,
    1,
  ]);
  for (const path of [
    '/webhooks/woocommerce/mian',
    '/webhook/woocommerce/main',
    '/',
    '/webhooks/main',
    '/wp-json',
  ])
    expect(await post(path, headersOf(secret))).toBe(404);
  // Metrics are calculated once in a while.
  await expect.poll(() => refused('not_found')).toBe(5);
  expect(warned('not_found')).toBeGreaterThan(0);
});

it('strangers are counted, and make health warn nowhere', async () => {
  const { post, health, refused, warned } = await workerOfShop();
  const json = { 'content-type': 'application/json' };
  for (const path of ['/webhooks/woocommerce/main', '/webhooks/woocommerce/main/'])
    expect(await post(path, json)).toBe(401);
  for (const path of ['/webhooks/woocommerce/admin', '/wp-login.php', '/.env'])
    expect(await post(path, json)).toBe(404);
  // Somebody who knows only one header of a shop, and somebody with a large body.
  const source = { ...json, 'x-wc-webhook-source': 'https://x.example' };
  expect(await post('/webhooks/woocommerce/main', source)).toBe(401);
  await post('/webhooks/woocommerce/main', json, 'x'.repeat(17 * 1_048_576)).catch(() => undefined);
  const counted = (await refused('unauthorized')) + (await refused('too_large'));
  expect([await health(), counted]).toEqual(['pass', 4]);
  expect(warned('refused')).toBeLessThanOrEqual(3);
});

it('a batch that Svix signs is taken as one of Standard Webhooks', async () => {
  const { post, installation } = await workerOfShop();
  const line = { line_id: '1', type: 'gift_card_order', variant: 'steam-usd-20', quantity: 1 };
  const body = JSON.stringify({ order_id: '1', currency: 'USD', lines: [line] });
  const at = new Date();
  const headers = {
    'content-type': 'application/json',
    'svix-id': 'msg_1',
    'svix-timestamp': String(Math.floor(at.getTime() / 1000)),
    'svix-signature': new Webhook(whsec).sign('msg_1', at, body),
  };
  expect(await post('/v1/orders', headers, body)).toBe(202);
  expect(await post('/v1/orders/', headers, body)).toBe(200);
  await expect.poll(() => installation.sandbox.ledger().orders.length).toBe(1);
});
