import { describe, expect, it } from 'vitest';
import { whatToDo } from '../../src/core/operator/attention.ts';
import {
  minutesAgo,
  numbersAsText,
  readBackOf,
  shopifyBody,
  wooBody,
} from './read-back/running-read-back.ts';
import { send, type StubShop, StubShopify, StubWooCommerce } from './read-back/stub-shop.ts';
import { shopifyOrder, startShops, wooOrder } from './storefront-shops.ts';

const ofWoo = (topic: string) => ({ 'X-WC-Webhook-Topic': topic });
const ofShopify = (topic: string) => ({ 'X-Shopify-Topic': topic });
const denied = {
  code: 'woocommerce_rest_cannot_view',
  message: 'Sorry, you cannot list resources.',
  data: { status: 401 },
};
const absent = {
  code: 'woocommerce_rest_shop_order_invalid_id',
  message: 'Invalid ID.',
  data: { status: 404 },
};
const { line_items: _lines, ...withoutLines } = wooOrder();
const { line_items: _items, ...shopifyWithoutLines } = shopifyOrder();
const product = { id: 9, name: 'Steam 20', sku: 'STEAM-20', status: 'publish', price: '20' };

/** Signed deliveries about orders that have none, by their headers: the flag of each. */
const unusable: readonly [string, unknown, Record<string, string>, string][] = [
  [
    'the error of a webhook whose user may not view orders',
    denied,
    ofWoo('order.updated'),
    'unusable_rest_error',
  ],
  ['the same without a topic', denied, {}, 'unusable_rest_error'],
  [
    'the error of an order that was deleted meanwhile',
    absent,
    ofWoo('order.created'),
    'unusable_rest_error',
  ],
  [
    'an action of a payment',
    { action: 'woocommerce_payment_complete', arg: 727 },
    ofWoo('action.woocommerce_payment_complete'),
    'unusable_action',
  ],
  [
    'an action with a product of the order',
    { action: 'woocommerce_order_item_product', arg: '727' },
    {},
    'unusable_action',
  ],
  [
    'an action that nobody knows',
    { action: 'my_plugin_sold', arg: null },
    ofWoo('action.my_plugin_sold'),
    'unusable_action',
  ],
  [
    'an action with an object',
    { action: 'woocommerce_thankyou', arg: { id: 727 } },
    {},
    'unusable_action',
  ],
  ['nothing', '', ofWoo('order.updated'), 'unusable_not_json'],
  ['a form', 'payload=%7B%22id%22%3A727%7D', ofWoo('order.updated'), 'unusable_not_json'],
  ['JSON that is cut off', '{"id":', {}, 'unusable_not_json'],
  [
    'a page',
    '<!doctype html><title>Fatal error</title>',
    ofWoo('order.created'),
    'unusable_not_json',
  ],
  ['an empty list', [], ofWoo('order.updated'), 'unusable_no_order'],
  ['an empty text', '""', ofWoo('order.updated'), 'unusable_no_order'],
  ['false', 'false', ofWoo('order.restored'), 'unusable_no_order'],
  ['an id alone', { id: 727 }, ofWoo('order.updated'), 'unusable_no_order'],
  ['an order without its lines', withoutLines, ofWoo('order.updated'), 'unusable_no_order'],
  ['the same without a topic', withoutLines, {}, 'unusable_no_order'],
  ['a list of orders', [wooOrder()], {}, 'unusable_no_order'],
  ['an order in an envelope', { data: { order: wooOrder() } }, {}, 'unusable_no_order'],
  [
    'orders in an envelope',
    { orders: [wooOrder()] },
    ofWoo('shop_order.paid'),
    'unusable_no_order',
  ],
];

/** The same for Shopify. */
const unusableShopify: typeof unusable = [
  [
    'an order without its lines',
    shopifyWithoutLines,
    ofShopify('orders/paid'),
    'unusable_no_order',
  ],
  [
    'some fields of an order',
    { id: 1, updated_at: '2026-11-21T12:00:00Z' },
    ofShopify('orders/updated'),
    'unusable_no_order',
  ],
  [
    'an edit',
    { order_edit: { id: 3, order_id: 1 } },
    ofShopify('orders/edited'),
    'unusable_no_order',
  ],
  ['an envelope', { order: shopifyOrder() }, {}, 'unusable_no_order'],
  ['nothing', '', ofShopify('orders/paid'), 'unusable_not_json'],
];

describe('a signed delivery about orders without one that can be used', () => {
  it.each(unusable)(
    'is answered 200 and flags its shop when it is %s',
    async (_, body, headers, code) => {
      const { woo, flagged, bought } = await startShops();
      const answer = await woo(body, headers);
      expect([answer.status, answer.json]).toEqual([200, { result: 'unusable' }]);
      expect([flagged(), bought()]).toEqual([[`null ${code}`], []]);
    },
  );

  it.each(unusableShopify)('flags a Shopify shop when it is %s', async (_, body, headers, code) => {
    const { shopify, flagged } = await startShops();
    expect((await shopify(body, headers)).json).toEqual({ result: 'unusable' });
    expect(flagged()).toEqual([`null ${code}`]);
  });

  it('makes one row a kind, with how often, the newest one, and what to do', async () => {
    const { woo, outbox, bought } = await startShops();
    for (const id of [1, 2, 3]) await woo({ id }, ofWoo('order.updated'));
    await woo(denied, ofWoo('order.updated'));
    const rows = outbox.store.read.attention(10).toSorted((a, b) => a.code.localeCompare(b.code));
    expect(rows.map((row) => [row.reason, row.code, row.message])).toEqual([
      [
        'delivery_unusable',
        'unusable_no_order',
        'set up the webhook to send all fields of an order: the delivery order.updated 3 has only the fields "id" (3 times)',
      ],
      [
        'delivery_unusable',
        'unusable_rest_error',
        'recreate the webhook as a user with permission to view orders: the delivery order.updated has the error "woocommerce_rest_cannot_view: Sorry, you cannot list resources."',
      ],
    ]);
    expect(whatToDo('delivery_unusable')).toContain('look in the shop for paid orders');
    // A healthy order beside it.
    expect((await woo(wooOrder())).json.accepted).toBe(1);
    expect(bought()).toEqual(['315 2 x steam-usd-20 pending']);
  });

  it('says what is wrong in one line, whatever the shop sends', async () => {
    const { woo, reasons } = await startShops();
    await woo({ code: 'x\u0000\n', message: 'm'.repeat(9000) }, ofWoo('order.updated'));
    expect(reasons()[0]).toMatch(/^null recreate the webhook .{100,480}…$/);
  });

  it('is answered 413 and flags its shop when it is too large, and only if it is signed', async () => {
    const { woo, flagged } = await startShops();
    const large = { ...wooOrder(), note: 'x'.repeat(8_500_000) };
    const answer = await woo(large, ofWoo('order.updated'), 'another secret altogether');
    expect([answer.status, flagged()]).toEqual([401, []]);
    const signed = await woo(large, ofWoo('order.updated'));
    expect([signed.status, signed.json.detail]).toEqual([
      413,
      'A body may have at most 8388608 bytes.',
    ]);
    expect(flagged()).toEqual(['null unusable_too_large']);
  });
});

/** What has nothing to do with an order that is to be bought. */
const other: readonly [string, unknown, Record<string, string>][] = [
  ['a product', product, ofWoo('product.updated')],
  ['a product without a topic', product, {}],
  ['a deleted product', { id: 727 }, ofWoo('product.deleted')],
  ['an id of something', { id: 727 }, {}],
  ['a customer', { id: 3, email: 'zoe@example.com', orders_count: 3 }, ofWoo('customer.created')],
  ['a coupon', { id: 4, code: 'TEN', amount: '10' }, ofWoo('coupon.updated')],
  ['the error of a webhook for products', denied, ofWoo('product.updated')],
  ['no JSON about a product', '<html>', ofWoo('product.created')],
  [
    'a subscription',
    { ...withoutLines, billing_period: 'month', billing_interval: '1' },
    ofWoo('subscription.updated'),
  ],
  [
    'a subscription without a topic',
    { ...wooOrder(), billing_period: 'month', billing_interval: '1' },
    {},
  ],
  [
    'an action of a cart',
    { action: 'woocommerce_add_to_cart', arg: 'c4ca4238' },
    ofWoo('action.woocommerce_add_to_cart'),
  ],
  ['an action of a user', { action: 'user_register', arg: 727 }, ofWoo('action.user_register')],
  ['an empty list without a topic', [], {}],
];
const otherShopify: typeof other = [
  ['a refund', { id: 1, order_id: 2, refund_line_items: [] }, ofShopify('refunds/create')],
  [
    'a draft',
    { id: 1, order_id: null, status: 'open', line_items: [], invoice_url: 'x' },
    ofShopify('draft_orders/create'),
  ],
  [
    'a checkout',
    { id: 1, token: 'x', line_items: [], total_price: '1' },
    ofShopify('checkouts/update'),
  ],
  ['a cart', { id: 'x', line_items: [] }, ofShopify('carts/update')],
  [
    'a fulfilment',
    { id: 1, order_id: 2, status: 'success', line_items: [] },
    ofShopify('fulfillments/create'),
  ],
  [
    'a part of a fulfilment',
    { fulfillment_order: { id: 1, status: 'open' } },
    ofShopify('fulfillment_orders/moved'),
  ],
  ['an app that was removed', { id: 1, name: 'shop', domain: 'x' }, ofShopify('app/uninstalled')],
  [
    'a request to forget a customer',
    { customer: { id: 1 }, orders_to_redact: [2] },
    ofShopify('customers/redact'),
  ],
];

describe('a signed delivery about something else', () => {
  it.each(other)('is answered 200 and does nothing when it is %s', async (_, body, headers) => {
    const { woo, flagged, bought } = await startShops();
    expect((await woo(body, headers)).json).toEqual({ result: 'not_an_order' });
    expect([flagged(), bought()]).toEqual([[], []]);
  });

  it.each(otherShopify)('of Shopify does nothing when it is %s', async (_, body, headers) => {
    const { shopify, flagged, bought } = await startShops();
    expect((await shopify(body, headers)).json).toEqual({ result: 'not_an_order' });
    expect([flagged(), bought()]).toEqual([[], []]);
  });
});

describe('an order in an unusual form', () => {
  it.each([
    ['a byte order mark', `\uFEFF${JSON.stringify(wooOrder())}`, {}],
    [
      'another content type',
      JSON.stringify(wooOrder()),
      { 'content-type': 'text/plain; charset=UTF-8' },
    ],
    ['white space around it', ` \n${JSON.stringify(wooOrder(), null, 2)}\n`, {}],
    ['a topic that lies', JSON.stringify(wooOrder()), ofWoo('product.updated')],
    [
      '1.2 MiB',
      JSON.stringify(wooOrder({ meta_data: [{ key: 'log', value: 'x'.repeat(1_200_000) }] })),
      {},
    ],
    [
      '8 MiB',
      JSON.stringify(wooOrder({ meta_data: [{ key: 'log', value: 'x'.repeat(8_387_000) }] })),
      {},
    ],
  ])('is bought with %s', async (_, body, headers) => {
    const { woo, flagged, bought } = await startShops();
    expect((await woo(body, headers)).json).toMatchObject({ accepted: 1 });
    expect([bought(), flagged()]).toEqual([['315 2 x steam-usd-20 pending'], []]);
  });
});

describe('a delivery that names an order and does not have it', () => {
  const take = (body: unknown, topic: string) =>
    ({
      document: numbersAsText(body),
      topic,
      isTest: false,
      isListed: false,
      refunds: 'not_read',
    }) as const;

  /** A shop of which the list was read to the present: it does not show older orders any more. */
  const readToPresent = async (platform: 'woocommerce' | 'shopify', stub: StubShop) => {
    const shop = await readBackOf(platform, stub);
    const body = platform === 'woocommerce' ? wooBody('1') : shopifyBody('1');
    stub.put({ id: '1', modifiedMs: minutesAgo(0), body: { ...body, line_items: [] } });
    await shop.run();
    return shop;
  };

  it.each([
    [
      'an action',
      { action: 'woocommerce_payment_complete', arg: 727 },
      'action.woocommerce_payment_complete',
    ],
    ['an order without its lines', { id: 727, status: 'processing' }, 'order.updated'],
    ['a list of orders', [{ id: 727 }], 'order.updated'],
    ['an envelope', { data: { order: { id: 727 } } }, ''],
  ])('has it read from the shop at once when it is %s', async (_, body, topic) => {
    const stub = await new StubWooCommerce().open();
    const { handler, run, bought, flagged } = await readToPresent('woocommerce', stub);
    stub.put({ id: '727', modifiedMs: minutesAgo(120), body: wooBody('315') });
    expect(await handler.take(take(body, topic))).toEqual({ kind: 'other', result: 'read_back' });
    expect(await run()).toMatchObject({ accepted: 1 });
    expect([bought(), flagged()]).toEqual([['727/315 2 x steam-usd-20 pending'], []]);
    const calls = stub.calls.length;
    await run();
    expect(stub.asked().slice(calls).join(' ')).not.toContain('/orders/727');
  });

  it('has it read from Shopify, too', async () => {
    const stub = await new StubShopify().open();
    const { handler, run, bought, flagged } = await readToPresent('shopify', stub);
    stub.put({ id: '727', modifiedMs: minutesAgo(120), body: shopifyBody('315') });
    await handler.take(take({ order_edit: { id: 3, order_id: 727 } }, 'orders/edited'));
    expect(await run()).toMatchObject({ accepted: 1 });
    expect([bought(), flagged()]).toEqual([['727/315 3 x steam-usd-20 pending'], []]);
  });

  it('leaves nothing behind when the shop has no such order', async () => {
    const stub = await new StubWooCommerce().open();
    const { handler, run, flagged, outbox } = await readBackOf('woocommerce', stub);
    for (const arg of [93, 94, 95])
      await handler.take(take({ action: 'my_plugin_sold', arg }, 'action.my_plugin_sold'));
    expect(await run()).toMatchObject({ error: null, flagged: 0 });
    expect(flagged()).toEqual([]);
    expect(outbox.store.read.listOrders({ limit: 10 })).toEqual([]);
    // It is an order later.
    stub.put({ id: '93', modifiedMs: minutesAgo(0), body: wooBody('315') });
    expect(await run()).toMatchObject({ accepted: 1, flagged: 0 });
  });

  it('is flagged when the order cannot be read, and others are read', async () => {
    const stub = await new StubWooCommerce().open();
    const { handler, run, bought, flagged } = await readToPresent('woocommerce', stub);
    stub.put({ id: '728', modifiedMs: minutesAgo(120), body: wooBody('316') });
    stub.misbehave = ({ url }, response) =>
      url.pathname.endsWith('/orders/727') && send(response, 500, 'no');
    await handler.take(take([{ id: 727 }, { id: 728 }], 'order.updated'));
    await run();
    expect(bought()).toEqual(['728/316 2 x steam-usd-20 pending']);
    expect(flagged()).toEqual(['null/null unusable_no_order']);
  });
});
