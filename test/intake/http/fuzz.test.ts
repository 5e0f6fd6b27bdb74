import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyOf } from '../../fuzz/strange-inputs.ts';
import {
  shopifyOrder,
  shopifySecret,
  startShops,
  wooOrder,
  wooSecret,
} from '../../storefronts/storefront-shops.ts';

const runs = Number(process.env['FUZZ_RUNS'] ?? 400);
const json = { 'content-type': 'application/json' };

// Of orders over HTTP: test/fuzz/http.test.ts.
describe('any request body', () => {
  it(`of a storefront is answered, and an unpaid order is never bought: ${runs} inputs`, async () => {
    const { call, bought } = await startShops();
    const shops = [
      {
        path: '/webhooks/woocommerce/main',
        header: 'x-wc-webhook-signature',
        secret: wooSecret,
        paid: wooOrder(),
      },
      {
        path: '/webhooks/shopify/main',
        header: 'x-shopify-hmac-sha256',
        secret: shopifySecret,
        paid: shopifyOrder(),
      },
    ] as const;
    const unpaid = [
      { ...shops[0], paid: wooOrder({ status: 'pending' }) },
      { ...shops[1], paid: shopifyOrder({ financial_status: 'pending' }) },
    ] as const;
    const input = (list: typeof shops | typeof unpaid) =>
      fc.constantFrom(...list).chain((shop) => fc.tuple(fc.constant(shop), bodyOf(shop.paid)));
    const deliver = async ({ path, header, secret }: (typeof shops)[number], body: Buffer) => {
      const sign = (key: string) => createHmac('sha256', key).update(body).digest('base64');
      const answer = await call('POST', path, { ...json, [header]: sign(secret) }, body);
      expect([200, 400]).toContain(answer.status);
      expect(
        (await call('POST', path, { ...json, [header]: sign(`${secret}x`) }, body)).status,
      ).toBe(401);
    };
    const paidWords = /processing|completed|paid/;
    await fc.assert(
      fc.asyncProperty(input(unpaid), async ([shop, body]) => {
        fc.pre(
          !paidWords.test(
            body.toString('latin1').replaceAll('date_paid', '').replaceAll('paid_statuses', ''),
          ),
        );
        await deliver(shop, body);
      }),
      { numRuns: Math.ceil(runs / 2) },
    );
    // What has a state that nobody knows is held for an operator, until another state closes the
    // order.
    expect(bought().filter((entry) => !/ (held|cancelled)$/.test(entry))).toEqual([]);
    await fc.assert(
      fc.asyncProperty(input(shops), ([shop, body]) => deliver(shop, body)),
      { numRuns: Math.ceil(runs / 2) },
    );
  });
});
