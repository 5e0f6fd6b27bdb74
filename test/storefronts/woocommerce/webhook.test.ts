import { describe, expect, it } from 'vitest';
import { startShops, wooOldSecret, wooOrder, wooSecret } from '../storefront-shops.ts';

const line = (changes: Record<string, unknown> = {}) => ({
  id: 315,
  sku: 'STEAM-20',
  quantity: 2,
  meta_data: [],
  ...changes,
});

describe('a webhook of WooCommerce', () => {
  it('buys a paid order once, under the ids of the shop', async () => {
    const { woo, bought, outbox, notifications } = await startShops();
    const answer = await woo(wooOrder());
    expect([answer.status, answer.json]).toEqual([
      200,
      { result: 'paid', order_id: '727', accepted: 1, known: 0, taken_back: 0, flagged: 0 },
    ]);
    expect(bought()).toEqual(['315 2 x steam-usd-20 pending']);
    expect(notifications()).toBe(1);
    const found = outbox.store.read.findOrder('woo', '727');
    expect(outbox.store.read.resultDocument(found?.requestId ?? 0).document).toMatchObject({
      metadata: { storefront_order: '727' },
      lines: [{ extra: { sku: 'STEAM-20', shop_quantity: '2' } }],
    });
  });

  it('is answered 200 without a signature when it is the ping of a new webhook', async () => {
    const { call, bought } = await startShops();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const ping = await call('POST', '/webhooks/woocommerce/main', form, 'webhook_id=4');
    expect([ping.status, ping.json]).toEqual([200, { result: 'ping' }]);
    expect(
      (await call('POST', '/webhooks/woocommerce/main', form, 'webhook_id=4&status=processing'))
        .status,
    ).toBe(401);
    expect((await call('POST', '/webhooks/woocommerce/other', form, 'webhook_id=4')).status).toBe(
      404,
    );
    expect(bought()).toEqual([]);
  });

  it.each([
    ['no signature', ''],
    ['a signature in hexadecimal', 'a'.repeat(64)],
    ['another signature', `${'A'.repeat(43)}=`],
  ])('is refused with %s, even for a paid order', async (_, signature) => {
    const { woo, bought } = await startShops();
    expect((await woo(wooOrder(), { 'X-WC-Webhook-Signature': signature })).status).toBe(401);
    expect(bought()).toEqual([]);
  });

  it('is accepted with any configured secret, and with no other', async () => {
    const { woo } = await startShops();
    expect((await woo(wooOrder(), {}, wooOldSecret)).status).toBe(200);
    expect((await woo(wooOrder(), {}, wooSecret)).json.known).toBe(1);
    expect((await woo(wooOrder(), {}, 'shopify-client-secret-1')).status).toBe(401);
  });

  it('is verified over its raw bytes, with escaped slashes and non-ASCII letters', async () => {
    const { woo, bought } = await startShops();
    const text = JSON.stringify(wooOrder({ note: 'Grüße aus Zürich 注文' })).replaceAll('/', '\\/');
    expect((await woo(text)).status).toBe(200);
    expect((await woo(text.replace('Zoë', 'Zo\\u00eb'))).json.known).toBe(1);
    expect(bought()).toHaveLength(1);
  });

  it.each([
    ['pending', { status: 'pending', date_paid_gmt: null }],
    [
      'to be paid on delivery',
      { status: 'processing', payment_method: 'cod', date_paid_gmt: null },
    ],
    ['on hold', { status: 'on-hold' }],
    ['a draft', { status: 'checkout-draft', date_paid_gmt: null }],
    ['cancelled', { status: 'cancelled' }],
    ['refunded', { status: 'refunded' }],
    ['failed', { status: 'failed' }],
  ])('is answered 200 and buys nothing when the order is %s', async (_, changes) => {
    const { woo, bought, flagged } = await startShops();
    expect((await woo(wooOrder(changes))).status).toBe(200);
    expect([bought(), flagged()]).toEqual([[], []]);
  });

  it('buys an order when it becomes paid, whatever topic and delivery id the webhooks have', async () => {
    const { woo, bought } = await startShops();
    const id = { 'X-WC-Webhook-Delivery-ID': 'same', 'X-WC-Webhook-Topic': 'order.created' };
    await woo(wooOrder({ status: 'pending', date_paid_gmt: null }), id);
    const paid = wooOrder({}, 1);
    await woo(paid, id);
    await woo(paid, { ...id, 'X-WC-Webhook-Topic': 'order.updated' });
    await woo(paid, { 'X-WC-Webhook-Delivery-ID': 'new' });
    await woo(wooOrder({ id: 728, line_items: [line({ id: 316 })] }), id);
    expect(bought()).toEqual(['315 2 x steam-usd-20 pending', '316 2 x steam-usd-20 pending']);
  });

  it('changes nothing when it echoes our own write-back', async () => {
    const { woo, bought, flagged, notifications, outbox } = await startShops();
    await woo(wooOrder());
    const attempt = await outbox.opened({ nowMs: Date.now() });
    const echo = await woo(
      wooOrder({ status: 'completed', meta_data: [{ key: 'delivered', value: 'yes' }] }, 5),
    );
    expect(echo.json).toMatchObject({ result: 'paid', accepted: 0, known: 1, flagged: 0 });
    expect(bought()).toEqual(['315 2 x steam-usd-20 sending']);
    expect([attempt.attemptId, flagged(), notifications()]).toEqual([1, [], 1]);
  });

  it('is ignored when a newer state of the order arrived before', async () => {
    const { woo, bought, flagged } = await startShops();
    await woo(wooOrder({ status: 'refunded' }, 10));
    expect((await woo(wooOrder({}, 1))).json).toMatchObject({
      result: 'older_than_known',
      accepted: 0,
    });
    expect([bought(), flagged()]).toEqual([[], []]);
    // Within one second a closed order stays closed, because a missing purchase can be repaired. It
    // is flagged once.
    for (const expected of [1, 0]) {
      const answer = await woo(wooOrder({}, 10));
      expect(answer.json).toMatchObject({
        result: 'older_than_known',
        accepted: 0,
        flagged: expected,
      });
    }
    expect(
      (await woo(wooOrder({ status: 'pending', date_paid_gmt: null }, 10))).json,
    ).toMatchObject({ flagged: 0 });
    expect([bought(), flagged()]).toEqual([[], ['315 paid_and_closed']]);
    expect((await woo(wooOrder({}, 11))).json.accepted).toBe(1);
  });

  it('takes an order back and flags it when it was paid, closed and paid again within one second', async () => {
    const { woo, bought, flagged } = await startShops();
    await woo(wooOrder({}, 10));
    expect((await woo(wooOrder({ status: 'cancelled' }, 10))).json).toMatchObject({
      result: 'closed',
      taken_back: 1,
    });
    expect((await woo(wooOrder({}, 10))).json).toMatchObject({
      result: 'older_than_known',
      flagged: 1,
    });
    expect([bought(), flagged()]).toEqual([
      ['315 2 x steam-usd-20 cancelled'],
      ['315 paid_and_closed'],
    ]);
  });

  it('keeps two lines of one SKU apart, and multiplies by the quantity of the SKU map', async () => {
    const { woo, bought, outbox } = await startShops();
    await woo(
      wooOrder({
        line_items: [line(), line({ id: 316, quantity: 1 }), line({ id: 317, sku: 'STEAM-3PACK' })],
      }),
    );
    expect(bought()).toEqual([
      '315 2 x steam-usd-20 pending',
      '316 1 x steam-usd-20 pending',
      '317 6 x steam-usd-20 pending',
    ]);
    const currencies = outbox.store.read
      .showOrder('woo', '727')
      ?.entries.map((entry) => entry.currency);
    expect(currencies).toEqual(['USD', 'USD', 'EUR']);
  });

  it('keeps ids exact that are too large for a JavaScript number', async () => {
    const { woo, bought, outbox } = await startShops();
    const text = (id: string) =>
      JSON.stringify(wooOrder())
        .replace('"id":727', `"id":${id}`)
        .replace('"id":315', `"id":9${id}`);
    await woo(text('820982911946154508'));
    await woo(text('820982911946154509'));
    expect(bought()).toHaveLength(2);
    expect(outbox.store.read.findOrder('woo', '820982911946154508')).not.toBeNull();
    expect(outbox.store.read.showOrder('woo', '820982911946154509')?.entries[0]?.lineId).toBe(
      '9820982911946154509',
    );
  });

  it('buys a line that was added later, and a quantity that was raised before it was sent', async () => {
    const { woo, bought, flagged, outbox } = await startShops();
    await woo(wooOrder());
    const edited = wooOrder(
      { line_items: [line({ quantity: 3 }), line({ id: 316, sku: 'FR-7D', quantity: 1 })] },
      1,
    );
    expect((await woo(edited)).json).toMatchObject({ accepted: 1, known: 1, flagged: 0 });
    expect((await woo(edited)).json).toMatchObject({ accepted: 0, flagged: 0 });
    expect(bought()).toEqual([
      '315 3 x steam-usd-20 pending',
      '316 1 x fr-daily-1gb for 7 days pending',
    ]);
    expect([flagged(), outbox.auditLog().map(({ action }) => action)]).toEqual([[], ['raise']]);
  });

  it('flags an order that was paid long ago: shops also update old orders', async () => {
    const { woo, bought, flagged } = await startShops();
    await woo(wooOrder({ date_paid_gmt: '2020-01-01T00:00:00' }));
    expect([bought(), flagged()]).toEqual([[], ['315 too_old']]);
  });

  it('ignores lines with an unknown SKU, or flags them, as configured', async () => {
    const shirt = wooOrder({
      line_items: [line({ sku: 'T-SHIRT' }), line({ id: 316, sku: '' }), line({ id: 317 })],
    });
    const ignoring = await startShops();
    await ignoring.woo(shirt);
    expect([ignoring.bought(), ignoring.flagged()]).toEqual([['317 2 x steam-usd-20 pending'], []]);
    const holding = await startShops({ woo: { unmatched: 'review' } });
    await holding.woo(shirt);
    await holding.woo(shirt);
    expect(holding.flagged()).toEqual(['315 unknown_sku', '316 unknown_sku']);
    expect(holding.bought()).toEqual(['317 2 x steam-usd-20 pending']);
  });

  it('tops up the eSIM that the customer named, and flags a line with a missing or wrong ICCID', async () => {
    const { woo, bought, flagged } = await startShops();
    const topup = (id: number, iccid: unknown, quantity = 1) =>
      line({
        id,
        sku: 'TOPUP',
        quantity,
        meta_data: iccid === null ? [] : [{ key: 'ICCID', value: iccid }],
      });
    const good = ' 8999901000000000013 ';
    await woo(
      wooOrder({
        line_items: [topup(1, good), topup(2, null), topup(3, '89999'), topup(4, good, 2)],
      }),
    );
    expect(bought().map((text) => text.split(' ')[0])).toEqual(['1']);
    expect(flagged()).toEqual(['2 invalid_line', '3 invalid_line', '4 repeated_topup']);
  });

  it('is answered 200 and does nothing when it is not an order', async () => {
    const { woo, bought, flagged } = await startShops();
    for (const body of [{ id: 7, name: 'a product' }, [], 'null', '7']) {
      const answer = await woo(body);
      expect([answer.status, answer.json.result]).toEqual([200, 'not_an_order']);
    }
    expect([bought(), flagged()]).toEqual([[], []]);
  });

  it('leads to the same reference when the disk was lost and the shop delivers again', async () => {
    const references = [];
    for (const shops of [await startShops(), await startShops()]) {
      await shops.woo(wooOrder());
      references.push(shops.outbox.store.read.showOrder('woo', '727')?.entries[0]?.reference);
    }
    expect(references[0]).toBe(references[1]);
  });
});

describe('a refund in WooCommerce', () => {
  it('of the whole order takes back what was not sent yet', async () => {
    const { woo, bought, flagged, outbox } = await startShops();
    await woo(wooOrder());
    expect((await woo(wooOrder({ status: 'refunded' }, 1))).json).toMatchObject({
      result: 'closed',
      taken_back: 1,
    });
    expect((await woo(wooOrder({ status: 'refunded' }, 2))).json).toMatchObject({
      taken_back: 0,
      flagged: 0,
    });
    expect([bought(), flagged()]).toEqual([['315 2 x steam-usd-20 cancelled'], []]);
    expect(outbox.auditLog()).toMatchObject([
      { actor: 'woocommerce:main', action: 'cancel', subject: 'woo/727' },
    ]);
  });

  it('is flagged once when the line was sent already', async () => {
    const { woo, bought, flagged, outbox } = await startShops();
    await woo(wooOrder());
    await outbox.opened({ nowMs: Date.now() });
    await woo(wooOrder({ status: 'refunded' }, 1));
    await woo(wooOrder({ status: 'refunded' }, 2));
    expect([bought(), flagged()]).toEqual([
      ['315 2 x steam-usd-20 sending'],
      ['315 refunded_in_storefront'],
    ]);
  });

  it('that names no line buys nothing more, and is flagged', async () => {
    const { woo, bought, flagged } = await startShops();
    await woo(wooOrder({ refunds: [{ id: 9, total: '-20.00' }] }));
    expect([bought(), flagged()]).toEqual([[], ['315 partially_refunded']]);
    const later = await startShops();
    await later.woo(wooOrder());
    await later.woo(wooOrder({ refunds: [{ id: 9, total: '-20.00' }] }, 1));
    expect([later.bought(), later.flagged()]).toEqual([
      ['315 2 x steam-usd-20 held'],
      ['315 held'],
    ]);
  });

  it('changes nothing when on_refund is ignore', async () => {
    const { woo, bought, flagged } = await startShops({ woo: { onRefund: 'ignore' } });
    await woo(wooOrder());
    await woo(wooOrder({ status: 'refunded' }, 1));
    expect([bought(), flagged()]).toEqual([['315 2 x steam-usd-20 pending'], []]);
  });
});
