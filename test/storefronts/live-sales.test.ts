import { describe, expect, it } from 'vitest';
import { StubShopify, StubWooCommerce } from './read-back/stub-shop.ts';
import {
  minutesAgo,
  numbersAsText,
  readBackOf,
  shopifyBody,
  wooBody,
} from './read-back/running-read-back.ts';
import { hour } from './shop-settings.ts';
import { type Shops, shopifyOrder, startShops, wooOrder } from './storefront-shops.ts';

const day = 24 * hour;
const at = (ms: number): string => new Date(ms).toISOString().slice(0, 19);
const gmt = (agoMs: number): string => at(Date.now() - agoMs);

/** Both shops, connected so long ago, and nothing before that is bought. */
async function connected(
  agoMs: number,
  changes: Parameters<typeof startShops>[0] = {},
): Promise<Shops> {
  const none = { lookbackH: 0 };
  const shops = await startShops({
    woo: { ...none, ...changes.woo },
    shopify: { ...none, ...changes.shopify },
  });
  const names = ['woo', 'shopify'].map((source) => ({ title: source, source, fingerprints: [] }));
  await shops.outbox.store.storefronts.adoptShops({ shops: names, nowMs: Date.now() - agoMs });
  return shops;
}

const meta = (key: string, value: string) => ({ meta_data: [{ id: 1, key, value }] });

describe('a payment that was only tried', () => {
  it.each([
    ['WooPayments', '_wcpay_mode', 'test'],
    ['PayPal Payments', '_ppcp_paypal_payment_mode', 'sandbox'],
    ['Mollie', '_mollie_payment_mode', 'test'],
    ['Payment Plugins for Stripe', '_wc_stripe_mode', 'test'],
    ['Klarna', '_wc_klarna_environment', 'us-test'],
    ['Square', '_wc_square_credit_card_environment', 'sandbox'],
    ['Braintree', '_wc_braintree_paypal_environment', 'Sandbox'],
  ])('by %s buys nothing, and needs nobody', async (_, key, value) => {
    const { woo, bought, flagged } = await startShops();
    expect((await woo(wooOrder(meta(key, value)))).json.result).toBe('test_order');
    expect([bought(), flagged()]).toEqual([[], []]);
  });

  it.each([
    ['_wcpay_mode', 'prod'],
    ['_wcpay_mode', 'production'],
    ['_ppcp_paypal_payment_mode', 'live'],
    ['_wc_klarna_environment', 'eu-live'],
    ['_wc_square_credit_card_environment', 'production'],
    ['_wc_stripe_mode', 'latest'],
  ])('is not seen in %s: %s', async (key, value) => {
    const { woo, bought } = await startShops();
    await woo(wooOrder(meta(key, value)));
    expect(bought()).toHaveLength(1);
  });

  it.each([
    ['_any_payment_mode', 'sandbox'],
    ['_stripe_livemode', '0'],
    ['_paid_in_test_mode', 'yes'],
  ])('is perhaps one where %s is %s: it is held', async (key, value) => {
    const { woo, flagged, reasons } = await startShops();
    await woo(wooOrder(meta(key, value)));
    expect([flagged(), reasons()[0]]).toEqual([
      ['315 held'],
      expect.stringContaining(`${key}: ${value}`),
    ]);
  });

  it('by the bogus gateway of Shopify buys nothing', async () => {
    const { shopify, bought } = await startShops();
    await shopify(shopifyOrder({ payment_gateway_names: ['(for testing) Bogus Gateway'] }));
    expect(bought()).toEqual([]);
  });
});

const links = (url: string) => ({
  _links: { self: [{ href: `${url}/wp-json/wc/v3/orders/727` }] },
});

describe('an order that names another shop', () => {
  const rest = (url: string) => ({
    woo: {
      rest: {
        url,
        schedule: '0 0 1 1 *',
        overlapS: 300,
        pageSize: 10,
        pagesPerRun: 1,
        bodyBytes: 1000,
        timeouts: { connectMs: 1000, totalMs: 1000 },
        ca: null,
        consumerKey: 'ck',
        consumerSecret: 'cs',
      },
    },
  });

  it.each([
    ['by its link', links('https://staging.example.com'), {}],
    ['by its link in a folder', links('https://shop.example.com/staging'), {}],
    [
      'by its link without permalinks',
      { _links: { self: [{ href: 'https://copy.local/index.php/wp-json/wc/v3/orders/727' }] } },
      {},
    ],
    ['by the header', {}, { 'X-WC-Webhook-Source': 'https://staging.example.com/' }],
    [
      'by both',
      links('https://127.0.0.1:8443'),
      { 'X-WC-Webhook-Source': 'https://127.0.0.1:8443/' },
    ],
  ])('%s is not taken in, and one row says so', async (_, body, headers) => {
    const shops = await startShops(rest('https://shop.example.com'));
    for (const id of [727, 728, 729]) await shops.woo(wooOrder({ id, ...body }), headers);
    expect([shops.bought(), shops.flagged()]).toEqual([[], ['null other_shop']]);
    expect(shops.reasons()[0]).toMatch(/another shop .* the last one was 729 \(3 times\)$/);
  });

  it.each([
    ['with www', links('https://www.shop.example.com')],
    ['over http', links('http://shop.example.com')],
    ['in capitals', links('https://SHOP.example.com/')],
    ['in the folder of a language', links('https://shop.example.com/de')],
    ['at a further address', links('https://shop.example.org')],
    ['without a link', {}],
  ])('is one of the shop %s', async (_, body) => {
    const { woo } = rest('https://shop.example.com');
    const shops = await startShops({ woo: { ...woo, sites: ['https://shop.example.org'] } });
    await shops.woo(wooOrder(body), { 'X-WC-Webhook-Source': 'https://shop.example.com/' });
    expect([shops.bought().length, shops.flagged()]).toEqual([1, []]);
  });

  it('is one that does not name the shop of the first order, where no address is configured', async () => {
    const shops = await startShops();
    await shops.woo(wooOrder(links('https://shop.example.com')));
    await shops.woo(wooOrder({ id: 728, ...links('https://staging.example.com') }));
    await shops.shopify(shopifyOrder(), { 'X-Shopify-Shop-Domain': 'one.myshopify.com' });
    await shops.shopify(shopifyOrder({ id: 8 }), { 'X-Shopify-Shop-Domain': 'two.myshopify.com' });
    await shops.shopify(
      shopifyOrder({ id: 9, order_status_url: 'https://one.example/690/orders/a/authenticate' }),
    );
    await shops.shopify(
      shopifyOrder({ id: 10, order_status_url: 'https://one.example/691/orders/b/authenticate' }),
    );
    expect(shops.flagged()).toEqual(['null other_shop', 'null other_shop']);
    expect(shops.outbox.store.read.listOrders({ limit: 9 }).map(({ orderId }) => orderId)).toEqual([
      '9',
      '5678901234567',
      '727',
    ]);
  });

  it('cannot cancel, delete or hold what the shop sold', async () => {
    const shops = await startShops(rest('https://shop.example.com'));
    await shops.woo(wooOrder(links('https://shop.example.com')));
    const copy = links('https://staging.example.com');
    await shops.woo(wooOrder({ status: 'cancelled', ...copy }, 5));
    const source = {
      'X-WC-Webhook-Source': 'https://staging.example.com',
      'X-WC-Webhook-Topic': 'order.deleted',
    };
    await shops.woo({ id: 727 }, source);
    expect(shops.bought()).toEqual([expect.stringMatching(/pending$/)]);
  });
});

describe('an order that was paid before its shop was connected', () => {
  it('is not bought, whatever touches it, and all of them make one row', async () => {
    const shops = await connected(hour);
    for (const [index, agoMs] of [30 * day, 3 * day, 2 * hour, hour + 30_000].entries())
      for (const status of ['processing', 'completed'])
        await shops.woo(
          wooOrder({
            id: 800 + index * 2 + Number(status === 'completed'),
            status,
            date_paid_gmt: gmt(agoMs),
          }),
        );
    await shops.woo(wooOrder({ id: 800, date_paid_gmt: gmt(30 * day) }, 30));
    expect([shops.bought(), shops.flagged()]).toEqual([[], ['null old_sale']]);
    expect(shops.reasons()[0]).toContain('(8 times)');
  });

  it('needs nobody again once the row was acknowledged', async () => {
    const shops = await connected(hour);
    await shops.woo(wooOrder({ date_paid_gmt: gmt(2 * hour) }));
    const [{ id } = { id: '' }] = shops.outbox.store.read.attention(9);
    await shops.outbox.store.operator.acknowledge({
      which: { ids: [id] },
      actor: 'test',
      reason: 'seen',
      nowMs: Date.now(),
    });
    await shops.woo(wooOrder({ id: 728, date_paid_gmt: gmt(2 * hour) }));
    expect(shops.flagged()).toEqual([]);
  });

  it('is bought where lookback_h covers it, and a shirt needs nobody', async () => {
    const shops = await connected(hour, { woo: { lookbackH: 48 } });
    await shops.woo(wooOrder({ id: 801, date_paid_gmt: gmt(48 * hour) }));
    await shops.woo(wooOrder({ id: 802, date_paid_gmt: gmt(50 * hour) }));
    const shirt = [{ id: 1, sku: 'SHIRT', quantity: 1, meta_data: [] }];
    await shops.woo(wooOrder({ id: 803, date_paid_gmt: gmt(50 * hour), line_items: shirt }));
    expect([shops.bought().length, shops.flagged()]).toEqual([1, ['null old_sale']]);
    expect(shops.reasons()[0]).toMatch(/the last one was 802$/);
  });

  it('is bought when it was placed before and paid after', async () => {
    const shops = await connected(hour);
    await shops.woo(
      wooOrder({ date_created_gmt: gmt(9 * day), date_paid_gmt: gmt(60_000), status: 'completed' }),
    );
    expect([shops.bought().length, shops.flagged()]).toEqual([1, []]);
  });

  it('is not bought by read-back, and is with lookback_h', async () => {
    for (const lookbackH of [0, 24]) {
      const stub = await new StubWooCommerce().open();
      const paid = { date_paid_gmt: at(minutesAgo(1)), status: 'completed' };
      stub.put({ id: '1', modifiedMs: minutesAgo(1), body: wooBody('11', paid) });
      const { run, bought, flagged, outbox } = await readBackOf('woocommerce', stub, { lookbackH });
      const shop = { title: 'main', source: 'main', fingerprints: [] };
      await outbox.store.storefronts.adoptShops({ shops: [shop], nowMs: Date.now() });
      await run();
      const row = ['null/null old_sale'];
      expect([lookbackH, bought().length, flagged()]).toEqual([
        lookbackH,
        lookbackH === 0 ? 0 : 1,
        lookbackH === 0 ? row : [],
      ]);
    }
  });

  it('makes one row for those that were delivered long ago, and one each for those that were not', async () => {
    const shops = await connected(400 * day);
    for (const id of [801, 802, 803])
      await shops.woo(wooOrder({ id, status: 'completed', date_paid_gmt: gmt(30 * day) }));
    await shops.woo(wooOrder({ id: 804, date_paid_gmt: gmt(30 * day) }));
    expect([shops.bought(), shops.flagged()]).toEqual([[], ['315 too_old', 'null old_sale']]);
  });

  it('needs nobody when it was bought, and is touched long after', async () => {
    const shops = await connected(hour);
    await shops.woo(wooOrder({ date_paid_gmt: gmt(1000) }));
    await shops.woo(wooOrder({ status: 'on-hold', date_paid_gmt: gmt(1000) }, 1));
    await shops.woo(wooOrder({ status: 'completed', date_paid_gmt: gmt(30 * day) }, 2));
    expect([shops.bought().length, shops.flagged()]).toEqual([1, []]);
  });
});

describe('an order in a paid status without a date of payment', () => {
  const undated = { date_paid_gmt: null, date_paid: null };

  it.each(['bacs', 'cheque', '', 'invoice', 'other'])(
    'is held with the payment method "%s", and bought with the date',
    async (payment_method) => {
      const shops = await connected(hour);
      await shops.woo(wooOrder({ payment_method, ...undated }));
      expect([shops.bought(), shops.flagged()]).toEqual([
        [expect.stringMatching(/held$/)],
        ['315 held'],
      ]);
      expect(shops.reasons()[0]).toContain('without a date of payment');
      await shops.woo(wooOrder({ payment_method, date_paid_gmt: gmt(1000) }, 1));
      expect([shops.bought(), shops.flagged()]).toEqual([[expect.stringMatching(/pending$/)], []]);
    },
  );

  it.each(['cod', 'wc_cod_fees', 'cash_on_delivery', 'pay-on-pickup'])(
    'is not paid with "%s"',
    async (payment_method) => {
      const shops = await connected(hour);
      await shops.woo(wooOrder({ payment_method, ...undated }));
      expect([shops.bought(), shops.flagged()]).toEqual([[], []]);
    },
  );

  it('is an old sale where it was delivered and placed before the connection', async () => {
    const shops = await connected(hour);
    await shops.woo(wooOrder({ status: 'completed', date_created_gmt: gmt(3 * day), ...undated }));
    expect([shops.bought(), shops.flagged()]).toEqual([[], ['null old_sale']]);
  });
});

describe('the time of payment of a Shopify order', () => {
  const placed = (agoMs: number) => ({
    created_at: `${gmt(agoMs)}Z`,
    processed_at: `${gmt(agoMs)}Z`,
  });
  const paid = { 'X-Shopify-Topic': 'orders/paid' };
  const updated = { 'X-Shopify-Topic': 'orders/updated' };

  it('is now where the topic says so, however long ago it was placed', async () => {
    const shops = await connected(hour);
    await shops.shopify(shopifyOrder(placed(9 * day)), paid);
    expect([shops.bought().length, shops.flagged()]).toEqual([2, []]);
  });

  it('is now where it was seen unpaid before', async () => {
    const shops = await connected(hour);
    await shops.shopify(shopifyOrder({ financial_status: 'pending', ...placed(9 * day) }), updated);
    await shops.shopify(shopifyOrder(placed(9 * day), 1), updated);
    await shops.shopify(shopifyOrder(placed(9 * day), 2), updated);
    expect([shops.bought().length, shops.flagged()]).toEqual([2, []]);
  });

  it('is unknown where it was placed before the connection: it is held, until orders/paid comes', async () => {
    const shops = await connected(hour);
    await shops.shopify(shopifyOrder(placed(2 * day)), updated);
    expect(shops.flagged()).toEqual(['11 held', '12 held']);
    await shops.shopify(shopifyOrder(placed(2 * day), 1), updated);
    expect(shops.flagged()).toEqual(['11 held', '12 held']);
    await shops.shopify(shopifyOrder(placed(2 * day), 2), paid);
    expect(shops.flagged()).toEqual([]);
  });

  it('is that of an imported order, which was made long before the shop got it', async () => {
    const shops = await connected(hour);
    await shops.shopify(
      shopifyOrder({ created_at: `${gmt(1000)}Z`, processed_at: `${gmt(90 * day)}Z` }),
      updated,
    );
    expect(shops.flagged()).toEqual(['11 held', '12 held']);
  });

  it('is that of a sale at the counter, which is delivered at once', async () => {
    const shops = await connected(hour);
    await shops.shopify(
      shopifyOrder({ fulfillment_status: 'fulfilled', source_name: 'pos', ...placed(1000) }),
      updated,
    );
    expect([shops.bought().length, shops.flagged()]).toEqual([2, []]);
  });

  it.each([
    [
      'are now',
      [{ kind: 'sale', status: 'success', amount: '10.00', processed_at: gmt(1000) }],
      1,
      [],
    ],
    [
      'were before the connection',
      [{ kind: 'sale', status: 'success', amount: '10.00', processed_at: gmt(2 * day) }],
      0,
      ['null/null old_sale'],
    ],
    [
      'were before it, but for what was added',
      [
        { kind: 'sale', status: 'success', amount: '10.00', processed_at: gmt(2 * day) },
        { kind: 'sale', status: 'success', amount: '5.00', processed_at: gmt(1000) },
      ],
      0,
      ['null/null old_sale'],
    ],
    [
      'reached the total now',
      [
        { kind: 'authorization', status: 'success', amount: '10.00', processed_at: gmt(9 * day) },
        { kind: 'capture', status: 'success', amount: '4.00', processed_at: gmt(2 * day) },
        { kind: 'capture', status: 'failure', amount: '6.00', processed_at: gmt(2 * day) },
        { kind: 'capture', status: 'success', amount: '6.00', processed_at: gmt(1000) },
      ],
      1,
      [],
    ],
    ['are unknown', [], 1, ['1/11 held']],
  ] as const)(
    'is read from its payments, where those %s',
    async (_, transactions, orders, rows) => {
      const stub = await new StubShopify().open();
      stub.misbehave = ({ url }, response) => {
        if (!url.pathname.endsWith('/orders/1/transactions.json')) return false;
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ transactions }));
        return true;
      };
      const body = shopifyBody('11', { total_price: '10.00', ...placed(9 * day) });
      const modifiedMs = minutesAgo(1);
      stub.put({ id: '1', modifiedMs, body });
      const { run, bought, flagged, outbox, handler } = await readBackOf('shopify', stub, {
        lookbackH: 0,
      });
      const shop = { title: 'main', source: 'main', fingerprints: [] };
      await outbox.store.storefronts.adoptShops({ shops: [shop], nowMs: Date.now() - hour });
      const document = numbersAsText({ id: '1', ...body, updated_at: `${at(modifiedMs)}Z` });
      const webhook = {
        isTest: false,
        topic: 'orders/updated',
        isListed: false,
        refunds: 'not_read',
      } as const;
      expect(await handler.take({ document, ...webhook })).toMatchObject({ kind: 'needs_refunds' });
      expect(await run()).toMatchObject({ error: null });
      expect([bought().length, flagged()]).toEqual([orders, rows]);
    },
  );
});
