import { stepsOf } from '../../support/steps.ts';
import { renameSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { answer as delivered, close, fulfilled } from '../../support/outbox.ts';
import { skuMap } from '../shop-settings.ts';
import { shopifyOrder, startShops, writeLongAgo } from '../storefront-shops.ts';

const refund = (item: number, quantity: number) => ({
  id: 1,
  refund_line_items: [{ line_item_id: item, quantity }],
});
const iccid = '8999901000000000013';

describe('a webhook of Shopify', () => {
  it('buys a paid order once, however often it arrives and under whatever topic and id', async () => {
    const { shopify, bought } = await startShops();
    const first = await shopify(shopifyOrder(), {
      'X-Shopify-Topic': 'orders/paid',
      'X-Shopify-Webhook-Id': 'a',
    });
    expect([first.status, first.json.accepted]).toEqual([200, 2]);
    const replayed = await shopify(shopifyOrder(), {
      'X-Shopify-Topic': 'orders/updated',
      'X-Shopify-Webhook-Id': 'b',
    });
    expect(replayed.json).toMatchObject({ accepted: 0, known: 2 });
    expect(bought()).toEqual([
      '11 3 x steam-usd-20 pending',
      '12 1 x fr-daily-1gb for 7 days pending',
    ]);
  });

  it.each([
    ['pending', { financial_status: 'pending' }],
    ['authorized', { financial_status: 'authorized' }],
    ['partially paid', { financial_status: 'partially_paid' }],
    ['refunded', { financial_status: 'refunded' }],
    ['voided', { financial_status: 'voided' }],
    ['cancelled', { cancelled_at: '2026-11-21T12:00:00Z' }],
    ['without a status', { financial_status: null }],
  ])('buys nothing when the order is %s', async (_, changes) => {
    const { shopify, bought, flagged } = await startShops();
    expect((await shopify(shopifyOrder(changes))).status).toBe(200);
    expect([bought(), flagged()]).toEqual([[], []]);
  });

  it('buys nothing for a test order, marked in its body or its header, and still needs a signature', async () => {
    const { shopify, call, bought } = await startShops();
    expect((await shopify(shopifyOrder({ test: true }))).json.result).toBe('test_order');
    expect((await shopify(shopifyOrder(), { 'X-Shopify-Test': 'true' })).json.result).toBe(
      'test_order',
    );
    const unsigned = { 'content-type': 'application/json', 'x-shopify-test': 'true' };
    expect(
      (await call('POST', '/webhooks/shopify/main', unsigned, JSON.stringify(shopifyOrder())))
        .status,
    ).toBe(401);
    expect(bought()).toEqual([]);
    // The header stored nothing, so the order itself is bought.
    expect((await shopify(shopifyOrder())).json.accepted).toBe(2);
  });

  it('keeps the id of the documented test order exact, which is larger than 2^53', async () => {
    const { shopify, outbox } = await startShops();
    const text = JSON.stringify(shopifyOrder()).replace(
      '"id":5678901234567',
      '"id":820982911946154508',
    );
    expect((await shopify(text)).json.order_id).toBe('820982911946154508');
    expect(outbox.store.read.findOrder('shopify', '820982911946154508')).not.toBeNull();
  });

  it('has no unsigned ping: a form without a signature is refused', async () => {
    const { call } = await startShops();
    expect((await call('POST', '/webhooks/shopify/main', {}, 'webhook_id=4')).status).toBe(401);
  });

  it('is answered 200 and does nothing when it is a refund or a product', async () => {
    const { shopify, bought } = await startShops();
    expect((await shopify({ id: 1, order_id: 2, refund_line_items: [] })).json.result).toBe(
      'not_an_order',
    );
    expect(bought()).toEqual([]);
  });
});

describe('a refund in Shopify', () => {
  it('before the purchase lowers the quantity that is bought', async () => {
    const { shopify, bought } = await startShops();
    const order = shopifyOrder({
      financial_status: 'partially_refunded',
      refunds: [refund(11, 1), refund(12, 1)],
    });
    await shopify(order);
    await shopify(order);
    expect(bought()).toEqual(['11 2 x steam-usd-20 pending']);
  });

  it('of a line that was not sent yet takes back that line only', async () => {
    const { shopify, bought, flagged } = await startShops();
    await shopify(shopifyOrder());
    await shopify(
      shopifyOrder({ financial_status: 'partially_refunded', refunds: [refund(12, 1)] }, 1),
    );
    expect(bought()).toEqual([
      '11 3 x steam-usd-20 pending',
      '12 1 x fr-daily-1gb for 7 days cancelled',
    ]);
    expect(flagged()).toEqual([]);
  });

  const parts = [
    [1, [refund(11, 1)]],
    [2, [refund(11, 1)]],
    [3, [refund(11, 1), refund(11, 1)]],
  ] as const;

  it('of a part of a line that was sent is flagged, once for each further part', async () => {
    const { shopify, bought, flagged, outbox } = await startShops();
    await shopify(shopifyOrder());
    await outbox.opened({ nowMs: Date.now() });
    for (const [minute, refunds] of parts) {
      await shopify(shopifyOrder({ financial_status: 'partially_refunded', refunds }, minute));
    }
    expect(bought()[0]).toBe('11 3 x steam-usd-20 sending');
    expect(flagged()).toEqual(['11 refunded_in_storefront', '11 refunded_in_storefront']);
  });

  it('of a part of a line that was not sent yet lowers its quantity, under the same reference', async () => {
    const { shopify, bought, flagged, outbox } = await startShops();
    await shopify(shopifyOrder());
    const referenceOf = () =>
      outbox.store.read.showOrder('shopify', '5678901234567')?.entries[0]?.reference;
    const before = referenceOf();
    const taken = [];
    for (const [minute, refunds] of parts) {
      const answer = await shopify(
        shopifyOrder({ financial_status: 'partially_refunded', refunds }, minute),
      );
      taken.push(answer.json.taken_back);
    }
    expect(taken).toEqual([1, 0, 1]);
    expect([bought()[0], flagged(), referenceOf()]).toEqual([
      '11 1 x steam-usd-20 pending',
      [],
      before,
    ]);
    expect(outbox.auditLog().map(({ action }) => action)).toEqual(['lower', 'lower']);
    const attempt = await outbox.opened({ nowMs: Date.now() });
    expect(attempt.entry).toMatchObject({ reference: before, quantity: 1 });
    const found = outbox.store.read.findOrder('shopify', '5678901234567');
    expect(outbox.store.read.resultDocument(found?.requestId ?? 0).document).toMatchObject({
      lines: [{ extra: { sku: 'STEAM-20', shop_quantity: '1' } }, {}],
    });
  });

  it('of a delivered eSIM orders its cancel once, when on_refund is cancel_esim', async () => {
    const { shopify, bought, flagged, outbox } = await startShops({
      shopify: { onRefund: 'cancel_esim' },
    });
    await shopify(shopifyOrder());
    // The gift card stays unsent; the eSIM is delivered.
    await outbox.opened({ nowMs: Date.now() });
    const esim = await outbox.opened({ nowMs: Date.now() });
    const answer = { ...delivered, units: [{ iccid }] };
    await stepsOf(outbox.store).closeAttempt(close(esim, { ...fulfilled, answer }));
    const closed = shopifyOrder(
      { cancelled_at: '2026-11-21T12:00:00Z', financial_status: 'refunded' },
      1,
    );
    expect((await shopify(closed)).json).toMatchObject({
      result: 'closed',
      accepted: 1,
      flagged: 1,
    });
    expect((await shopify({ ...closed, updated_at: new Date().toISOString() })).json).toMatchObject(
      {
        accepted: 0,
        flagged: 0,
      },
    );
    expect(bought()).toEqual([
      '11 3 x steam-usd-20 sending',
      '12 1 x fr-daily-1gb for 7 days fulfilled',
      expect.stringMatching(`^12:cancel:${iccid} .* pending$`),
    ]);
    // A gift card cannot be cancelled, so it is flagged.
    expect(flagged()).toEqual(['11 refunded_in_storefront']);
    expect(outbox.auditLog()).toMatchObject([{ actor: 'shopify:main', action: 'cancel_esim' }]);
  });
});

describe('the SKU map', () => {
  it('is read again when its file changes, and keeps its last good version while the file is broken', async () => {
    const { shopify, skuFile, intake, bought } = await startShops();
    const order = (id: number) =>
      shopifyOrder({ id, line_items: [{ id, sku: 'NEW', quantity: 1 }] });
    await shopify(order(1));
    await delay(1050);
    writeLongAgo(
      `${skuFile}.tmp`,
      `${skuMap}  NEW: { type: gift_card_order, variant: new-card }\n`,
    );
    renameSync(`${skuFile}.tmp`, skuFile);
    await shopify(order(2));
    await delay(1050);
    writeLongAgo(skuFile, `${skuMap}  NEW: { type: gift_card, variant: wrong }\n`);
    await shopify(order(3));
    expect(bought()).toEqual(['2 1 x new-card pending', '3 1 x new-card pending']);
    expect(intake.details()?.['reason']).toContain('SKU map');
  });

  it('changes nothing about earlier purchases when it changes', async () => {
    const { shopify, skuFile, flagged, bought } = await startShops();
    await shopify(shopifyOrder());
    await delay(1050);
    writeLongAgo(skuFile, skuMap.replaceAll('steam-usd-20', 'steam-usd-50'));
    expect((await shopify(shopifyOrder({}, 1))).json).toMatchObject({
      accepted: 0,
      known: 2,
      flagged: 0,
    });
    expect([bought()[0], flagged()]).toEqual(['11 3 x steam-usd-20 pending', []]);
  });
});
