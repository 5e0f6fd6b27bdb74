import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyOf } from '../../fuzz/strange-inputs.ts';
import { problemSchema } from '../../support/intake-openapi.ts';
import { boundToken, token } from './running-intake-config.ts';
import { order, startIntake } from './running-intake.ts';
import {
  shopifyOrder,
  shopifySecret,
  startShops,
  wooOrder,
  wooSecret,
} from '../../storefronts/storefront-shops.ts';

const runs = Number(process.env['FUZZ_RUNS'] ?? 400);
const json = { 'content-type': 'application/json' };

describe('any request body', () => {
  it(`is accepted and on disk, or refused with a problem and not on disk: ${runs} inputs`, async () => {
    const { call, outbox } = await startIntake();
    const header = fc.dictionary(
      fc.constantFrom(
        'authorization',
        'webhook-id',
        'webhook-signature',
        'webhook-timestamp',
        'content-type',
      ),
      fc.oneof(
        fc.string({ unit: fc.constantFrom(...Array.from('azAZ09 =+/.,;:v1"-')) }),
        fc.constantFrom(`Bearer ${token}`, `Bearer ${boundToken}`, 'application/json'),
      ),
      { maxKeys: 3 },
    );
    const input = fc.tuple(
      fc.oneof(fc.constant({}), header),
      bodyOf([order(), order({ order_id: 'b' })]),
    );
    let seen = 0;
    await fc.assert(
      fc.asyncProperty(input, async ([headers, body]) => {
        const answer = await call(
          'POST',
          '/v1/orders',
          { ...json, authorization: `Bearer ${token}`, ...headers },
          body,
        );
        expect(answer.status).toBeLessThan(500);
        // An answer without orders must be a problem; it throws when it is neither.
        const orders = answer.status < 300 ? (answer.json.orders ?? [answer.json]) : [];
        if (orders.length === 0) problemSchema.parse(answer.json);
        const stored = outbox.store.read.listOrders({ limit: 1000 });
        const missing = orders.filter(
          ({ source, order_id: id }: { source: string; order_id: string }) =>
            outbox.store.read.findOrder(source, id) === null,
        );
        expect([missing, orders.length > 0 || stored.length === seen]).toEqual([[], true]);
        seen = stored.length;
      }),
      { numRuns: runs },
    );
  });

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
    // What has a state that nobody knows is held for a person, until another state closes the
    // order.
    expect(bought().filter((entry) => !/ (held|cancelled)$/.test(entry))).toEqual([]);
    await fc.assert(
      fc.asyncProperty(input(shops), ([shop, body]) => deliver(shop, body)),
      { numRuns: Math.ceil(runs / 2) },
    );
  });
});
