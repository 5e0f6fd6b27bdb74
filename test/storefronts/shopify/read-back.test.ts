import { describe, expect, it } from 'vitest';
import { minutesAgo, readBackOf, shopifyBody } from '../read-back/running-read-back.ts';
import { shopifyApp, StubShopify } from '../read-back/stub-shop.ts';

const open = () => new StubShopify().open();
const refund = (line: string, quantity: number) => ({
  id: '9',
  refund_line_items: [{ line_item_id: line, quantity }],
});

describe('read-back of a Shopify shop', () => {
  it('takes in paid orders whose webhook was lost, once, with archived ones', async () => {
    const stub = await open();
    stub.put({
      id: '1',
      modifiedMs: minutesAgo(60),
      body: shopifyBody('11', { closed_at: '2026-11-21T10:00:00Z' }),
    });
    stub.put({
      id: '2',
      modifiedMs: minutesAgo(30),
      body: shopifyBody('21', { financial_status: 'pending' }),
    });
    stub.put({ id: '3', modifiedMs: minutesAgo(20), body: shopifyBody('31', { test: true }) });
    const { run, bought, watermark } = await readBackOf('shopify', stub);
    expect(await run()).toMatchObject({ complete: true, orders: 3, accepted: 1, error: null });
    expect(await watermark()).toBe(stub.orders[2]?.modifiedMs);
    expect(await run()).toMatchObject({ complete: true, accepted: 0 });
    expect(bought()).toEqual(['1/11 3 x steam-usd-20 pending']);
  });

  it('follows the cursors of the shop, and keeps ids exact', async () => {
    const stub = await open();
    for (let at = 0; at < 35; at += 1) {
      const id = String(820982911946154500n + BigInt(at));
      stub.put({
        id,
        modifiedMs: minutesAgo(60) + Math.floor(at / 15) * 1000,
        body: shopifyBody(`9${id}`),
      });
    }
    const { run, bought } = await readBackOf('shopify', stub);
    expect(await run()).toMatchObject({ complete: true, pages: 4, accepted: 35, error: null });
    expect(new Set(bought().map((text) => text.split(' ')[0])).size).toBe(35);
    expect(bought()).toContain('820982911946154508/9820982911946154508 3 x steam-usd-20 pending');
    for (const call of stub.calls.slice(1)) {
      expect([...call.url.searchParams.keys()].toSorted()).toEqual(['limit', 'page_info']);
    }
  });

  it('misses no order when one changes between two pages', async () => {
    const stub = await open();
    for (let id = 1; id <= 30; id += 1) {
      stub.put({
        id: String(id),
        modifiedMs: minutesAgo(60) + id * 1000,
        body: shopifyBody(`${id}1`),
      });
    }
    stub.misbehave = ({ number }) => {
      if (number === 2) stub.put({ id: '1', modifiedMs: minutesAgo(1), body: shopifyBody('11') });
      return false;
    };
    const { run, bought } = await readBackOf('shopify', stub);
    expect(await run()).toMatchObject({ complete: true, orders: 31, accepted: 30 });
    expect(bought()).toHaveLength(30);
  });

  it('takes back a refunded line that was not sent, and flags a partly refunded one that was', async () => {
    const stub = await open();
    const items = [
      { id: '11', sku: 'STEAM-20', quantity: 3 },
      { id: '12', sku: 'FR-7D', quantity: 1 },
    ];
    const order = stub.put({
      id: '1',
      modifiedMs: minutesAgo(9),
      body: shopifyBody('11', { line_items: items }),
    });
    const { run, bought, flagged, outbox } = await readBackOf('shopify', stub);
    await run();
    await outbox.opened({ nowMs: Date.now() });
    order.modifiedMs = minutesAgo(1);
    order.body['financial_status'] = 'partially_refunded';
    order.refunds = [refund('12', 1), refund('11', 1)];
    expect(await run()).toMatchObject({ takenBack: 1, flagged: 1 });
    expect(bought()).toEqual([
      '1/11 3 x steam-usd-20 sending',
      '1/12 1 x fr-daily-1gb for 7 days cancelled',
    ]);
    expect(flagged()).toEqual(['1/11 refunded_in_storefront']);
  });

  it('requests a token with the credentials of an app, once, and again when the shop refuses it', async () => {
    const stub = await open();
    stub.put({ id: '1', modifiedMs: minutesAgo(9), body: shopifyBody('11') });
    const { clientId, clientSecret } = shopifyApp;
    const access = { kind: 'credentials', clientId, clientSecret } as const;
    const { run, bought, log } = await readBackOf('shopify', stub, { rest: { access } });
    expect(await run()).toMatchObject({ accepted: 1, error: null });
    expect(await run()).toMatchObject({ error: null });
    expect(stub.granted).toBe(1);
    stub.tokens.clear();
    expect((await run()).error).toMatchObject({ kind: 'unauthorized' });
    expect(await run()).toMatchObject({ error: null });
    expect([stub.granted, bought().length]).toEqual([2, 1]);
    expect(JSON.stringify(log())).not.toMatch(/shpat_|shpss_/);
  });

  it('slows down when the call limit of the shop is nearly reached', async () => {
    const stub = await open();
    for (let id = 1; id <= 11; id += 1)
      stub.put({ id: String(id), modifiedMs: minutesAgo(60) + id, body: shopifyBody(`${id}1`) });
    const { run } = await readBackOf('shopify', stub);
    stub.callLimit = '39/40';
    const startMs = performance.now();
    expect(await run()).toMatchObject({ complete: true, pages: 2 });
    expect(performance.now() - startMs).toBeGreaterThan(1900);
  });

  it('fails when the link to the next page leads elsewhere', async () => {
    const stub = await open();
    for (const link of [
      '<https://evil.example/other.json?page_info=x>; rel="next"',
      '<:>; rel="next"',
    ]) {
      stub.misbehave = (_, response) => {
        response.setHeader('link', link);
        return false;
      };
      const { run } = await readBackOf('shopify', stub);
      expect((await run()).error).toMatchObject({
        kind: 'unreadable',
        message: expect.stringContaining('leads elsewhere'),
      });
    }
  });
});
