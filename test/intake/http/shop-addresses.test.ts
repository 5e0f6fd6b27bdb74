import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { wooOrder } from '../../storefronts/storefront-shops.ts';
import { boughtIn, wooCommerceShop, writeSkuMap } from '../../storefronts/shop-settings.ts';
import { order, startIntake } from './running-intake.ts';
import { token } from './running-intake-config.ts';

const secret = 'woo-secret-of-this-year';
const main = '/webhooks/woocommerce/main';
const json = { 'content-type': 'application/json' };
const signature = (text: string, by = secret) =>
  createHmac('sha256', by).update(text).digest('base64');
const signed = (text: string, by = secret) => ({
  ...json,
  'x-wc-webhook-signature': signature(text, by),
});
/** As a shop sends them. */
const ofShop = {
  'x-wc-webhook-topic': 'order.updated',
  'x-wc-webhook-source': 'https://shop.example.com/',
};
const text = JSON.stringify(wooOrder());

async function startWoo() {
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'info' },
    { write: (line: string) => void log.push(JSON.parse(line)) },
  );
  const shops = ['main', 'other'].map((shop) =>
    wooCommerceShop({ skuMap: writeSkuMap(), shop, source: shop, secrets: [secret] }),
  );
  const running = await startIntake({ shops, logger });
  const bought = () => boughtIn(running.outbox.store.read).length;
  /** Reason and path of each line of the log about a refused caller. */
  const refused = () =>
    log.filter(({ reason }) => reason !== undefined).map(({ reason, path }) => [reason, path]);
  return { ...running, bought, log, refused };
}

describe('the address of a shop', () => {
  it.each([
    '/webhooks/woocommerce/main/',
    '//webhooks//woocommerce/main',
    '/webhooks/woocommerce//main//',
    '/webhooks/WooCommerce/main',
    '/Webhooks/woocommerce/main',
    '/webhooks/woocommerce/main?utm=1',
  ])('answers at %s, too', async (path) => {
    const { call, bought } = await startWoo();
    expect((await call('POST', path, signed(text), text)).json).toMatchObject({ accepted: 1 });
    expect(bought()).toBe(1);
  });

  it('tells who opens it in a browser that it works', async () => {
    const { call, refused } = await startWoo();
    const opened = await call('GET', main);
    expect([opened.status, opened.json]).toEqual([
      200,
      'This address works: the shop posts its webhooks here.',
    ]);
    expect((await call('HEAD', main)).status).toBe(200);
    expect((await call('GET', '/webhooks/woocommerce/unknown')).status).toBe(404);
    expect((await call('PUT', main, json, '{}')).status).toBe(405);
    expect(refused()).toEqual([['not_found', '/webhooks/woocommerce/unknown']]);
  });

  it('takes a body of more than 1 MiB that is announced with `Expect: 100-continue`', async () => {
    const { url, bought } = await startWoo();
    const large = JSON.stringify(
      wooOrder({ meta_data: [{ key: 'log', value: 'x'.repeat(1_200_000) }] }),
    );
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    const head = `POST ${main} HTTP/1.1\r\nHost: x\r\nX-WC-Webhook-Signature: ${signature(large)}\r\n`;
    socket.write(
      `${head}Expect: 100-Continue\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(large)}\r\n\r\n`,
    );
    expect(String(await once(socket, 'data'))).toContain('100 Continue');
    socket.write(large);
    expect(String(await once(socket, 'data'))).toContain('200 OK');
    expect(bought()).toBe(1);
  });
});

describe('the address of orders', () => {
  it('answers with slashes too many, too', async () => {
    const { call } = await startIntake();
    const headers = { ...json, authorization: `Bearer ${token}` };
    expect((await call('POST', '//v1//orders/', headers, JSON.stringify(order()))).status).toBe(
      202,
    );
    expect((await call('GET', '/v1/orders/shop1/1001/', headers)).status).toBe(200);
    expect((await call('GET', '/', headers)).status).toBe(404);
  });
});

describe('a refused delivery', () => {
  it('makes health warn and is logged with its address when it has the headers of a shop', async () => {
    const { call, intake, refused } = await startWoo();
    const wrong = { ...signed(text, 'another secret altogether'), ...ofShop };
    expect(intake.health()).toBe('pass');
    for (let time = 0; time < 5; time += 1)
      expect((await call('POST', main, wrong, text)).status).toBe(401);
    expect(intake.health()).toBe('warn');
    for (const path of ['/webhooks/woocommerce/mian', '/webhook/woocommerce/main', '/'])
      expect((await call('POST', path, wrong, text)).status).toBe(404);
    expect(refused()).toEqual([
      ['unauthorized woocommerce/main with the headers of a shop', main],
      ['not_found with the headers of a shop', '/webhooks/woocommerce/mian'],
      ['not_found woocommerce/main with the headers of a shop', '/webhook/woocommerce/main'],
    ]);
    expect(intake.details()).toMatchObject({
      refused: { 'unauthorized woocommerce/main with the headers of a shop': 5 },
    });
    expect(intake.refusedCallers).toEqual(
      new Map([
        ['unauthorized', 5],
        ['not_found', 3],
      ]),
    );
  });

  it('makes health warn when it is larger than is read', async () => {
    const { call, intake, outbox } = await startWoo();
    const huge = 'x'.repeat(17_000_000);
    expect((await call('POST', main, { ...signed(huge), ...ofShop }, huge)).status).toBe(413);
    expect([intake.health(), intake.refusedCallers.get('too_large')]).toEqual(['warn', 1]);
    // Nobody knows whether it was signed.
    expect(outbox.store.read.attention(10)).toEqual([]);
  });

  it('of a stranger is counted and logged once, and changes nothing else, however many come', async () => {
    const { call, intake, log, outbox, url } = await startWoo();
    const kinds: [string, Record<string, string>, string][] = [
      [main, json, text],
      [main, { ...json, 'x-wc-webhook-signature': 'no signature', ...ofShop }, text],
      [main, signed('something else'), text],
      [main, { ...json, ...ofShop }, 'x'.repeat(100_000)],
      [`${main}/x`, json, text],
    ];
    for (let time = 0; time < 60; time += 1) {
      for (const [path, headers, body] of kinds) await call('POST', path, headers, body);
      await call('POST', `/webhooks/woocommerce/${'s'.repeat(500)}${time}`, json, '{}');
      await call('GET', `/${time}`);
    }
    expect([intake.health(), intake.details()]).toEqual(['pass', null]);
    expect(intake.refusedCallers).toEqual(
      new Map([
        ['unauthorized', 240],
        ['not_found', 120],
      ]),
    );
    expect(log.map(({ reason }) => reason)).toEqual([
      'unauthorized woocommerce/main',
      'not_found woocommerce/main',
      'not_found',
    ]);
    expect(JSON.stringify(log).length).toBeLessThan(2000);
    expect(outbox.store.read.attention(10)).toEqual([]);
    // What nobody signed is not even read.
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    socket.write(`POST ${main} HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n`);
    expect(String(await once(socket, 'data'))).toContain('401 Unauthorized');
    socket.destroy();
    expect((await call('POST', main, signed(text), text)).json).toMatchObject({ accepted: 1 });
  });
});
