import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { wooOrder, writeLongAgo } from '../storefronts/storefront-shops.ts';
import { bad, check, good, installationWith } from './skus-check.ts';

describe('order-sync skus check beside a worker', () => {
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
    expect(
      place.query<{ n: number }>("SELECT count(*) AS n FROM entries WHERE state = 'fulfilled'"),
    ).toEqual([{ n: 1 }]);
    await worker.end('SIGTERM');
  });

  it('lists them without a call to the API, and reports them as a problem only where each is flagged', async () => {
    const near = {
      sku: 'STEAM-1',
      code: 'unknown_sku',
      message: expect.stringContaining('which has "STEAM"'),
    };
    const before = {
      sku: 'steam',
      code: 'unknown_sku',
      message: expect.stringContaining('the SKU map had before'),
    };
    for (const [unmatched, sku, skus, problems] of [
      ['ignore', 'SHIRT', good, []],
      ['review', 'SHIRT', good, [{ sku: 'SHIRT', code: 'unknown_sku' }]],
      ['ignore', 'STEAM-1', good, [near]],
      ['ignore', 'steam', good.replace(/STEAM: .*/, ''), [before]],
    ] as const) {
      const place = await installationWith(good, {}, { unmatched });
      const worker = place.start();
      const { webhook } = await worker.started();
      if (skus !== good) writeLongAgo(join(place.folder, 'skus.yaml'), `skus:${skus}`);
      if (skus !== good) await worker.line(({ msg }) => msg === 'the changed SKU map is in use');
      const body = JSON.stringify(wooOrder({ line_items: [{ id: 1, sku, quantity: 1 }] }));
      const signature = createHmac('sha256', 'a-secret-of-the-shop').update(body).digest('base64');
      const headers = { 'content-type': 'application/json', 'x-wc-webhook-signature': signature };
      await fetch(`http://${String(webhook)}/webhooks/woocommerce/main`, {
        method: 'POST',
        headers,
        body,
      });
      const found = await check(place, '--offline');
      expect(found).toMatchObject({
        code: problems.length > 0 ? 8 : 0,
        problems,
        unmapped: [{ sku, orders: 1 }],
      });
      expect(found.unknown.map(({ code }) => code)).toContain('not_read');
      await worker.end('SIGTERM');
    }
  });
});
