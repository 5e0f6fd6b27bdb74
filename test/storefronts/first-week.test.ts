import { describe, expect, it } from 'vitest';
import { boughtIn, hour } from './shop-settings.ts';
import { shopifyOrder as paidAtShopify, startShops, wooOrder } from './storefront-shops.ts';

// What real shops send in their first week: forms that other tests of this folder do not have.

type Changes = Readonly<Record<string, unknown>>;
interface Delivery {
  readonly at: 'woo' | 'shopify';
  readonly body: unknown;
  readonly headers: Record<string, string>;
}

interface Outcome {
  /** `<order id>/<line id>` of what is to be bought. Default: line 315 of order 727. */
  readonly bought?: readonly string[];
  /** `<order id, or "shop"> <code>` of what needs attention. Default: nothing. */
  readonly told?: readonly string[];
  /** How many hours ago the shop was connected. Default: 30 days. */
  readonly hours?: number;
  readonly lookbackH?: number;
  readonly maxAgeH?: number;
}
/** The plugin or the documentation that has the form; the deliveries; what must become of them. */
type Row = readonly [name: string, deliveries: readonly Delivery[], outcome?: Outcome];

const ago = (hours: number): string =>
  new Date(Date.now() - hours * hour).toISOString().slice(0, 19);
const zoned = (hours: number): string => `${ago(hours + 4)}-04:00`;
const meta = (key: string, value: unknown) => ({ id: 9001, key, value });
const fields = (key: string, value: unknown) => ({ meta_data: [meta(key, value)] });
const later = { date_modified_gmt: ago(0.5) };

const card = (changes: Changes = {}) => ({
  id: 315,
  sku: 'STEAM-20',
  quantity: 1,
  product_id: 93,
  price: 20,
  subtotal: '20.00',
  total: '20.00',
  meta_data: [],
  properties: [],
  ...changes,
});
/** An order of WooCommerce that was paid by card an hour ago. */
const woo = (changes: Changes = {}, headers: Record<string, string> = {}): Delivery => {
  const id = Number(changes['id'] ?? 727);
  const own = { number: String(id), order_key: `wc_order_Zk3y${id}Qx8`, customer_id: id + 9000 };
  const paid = { payment_method: 'stripe', transaction_id: `ch_3P${id}LkdIwHu7ix` };
  const cart = { created_via: 'checkout', cart_hash: `b3f9${id}d1c2a7` };
  const body = wooOrder({ id, ...own, ...paid, ...cart, line_items: [card()], ...changes });
  return { at: 'woo', body, headers: { 'X-WC-Webhook-Topic': 'order.updated', ...headers } };
};
const topic = (name: string) => ({ 'X-WC-Webhook-Topic': name });
const raw = (body: unknown, name = 'order.updated'): Delivery => ({
  at: 'woo',
  body,
  headers: topic(name),
});
/** The same of Shopify. */
const shopify = (changes: Changes = {}, name = 'orders/paid', more: Changes = {}): Delivery => {
  const id = Number(changes['id'] ?? 727);
  const checkout = { checkout_id: 37_000_000_000 + id, checkout_token: `e41b${id}c8d9e0` };
  const times = { created_at: zoned(1), processed_at: zoned(1), updated_at: zoned(1) };
  const own = { id, name: `#${id}`, ...checkout, cart_token: `hWN2${id}`, ...times };
  const body = paidAtShopify({ ...own, line_items: [card()], ...changes });
  return { at: 'shopify', body, headers: { 'X-Shopify-Topic': name, ...more } };
};
const rawShopify = (body: unknown, name: string): Delivery => ({
  at: 'shopify',
  body,
  headers: { 'X-Shopify-Topic': name },
});
const restError = (code: string): Delivery => raw({ code, message: 'no', data: { status: 403 } });

async function becomeOf([, deliveries, outcome = {}]: Row) {
  const { hours = 30 * 24, lookbackH = 0, maxAgeH = 168 } = outcome;
  const own = { lookbackH, maxAgeH };
  const shops = await startShops({ woo: own, shopify: own });
  const { storefronts, read } = shops.outbox.store;
  const named = ['woo', 'shopify'].map((source) => ({ title: source, source, fingerprints: [] }));
  await storefronts.adoptShops({ shops: named, nowMs: Date.now() - hours * hour });
  for (const { at, body, headers } of deliveries) await shops[at](body, headers);
  const pending = boughtIn(read).filter(({ text }) => text.endsWith('pending'));
  return {
    bought: pending.map(({ orderId, lineId }) => `${orderId}/${lineId}`).toSorted(),
    told: read.attention(100).map(({ orderId, code }) => `${orderId ?? 'shop'} ${code}`),
  };
}

/** All rows of one kind are one test: only those that differ are shown. */
function rows(name: string, all: readonly Row[]): void {
  it.each([name])('%s', async () => {
    const wrong: unknown[] = [];
    for (const row of all) {
      const [what, , { bought = ['727/315'], told = [] } = {}] = row;
      const found = await becomeOf(row);
      const wanted = { bought: bought.toSorted(), told: told.toSorted() };
      found.told = [...new Set(found.told)].toSorted();
      if (JSON.stringify(found) !== JSON.stringify(wanted)) wrong.push({ what, found, wanted });
    }
    expect(wrong).toEqual([]);
  });
}

const ignored = { bought: [] };
const telling = (code: string, more: Outcome = {}) => ({ bought: [], told: [code], ...more });

describe('a delivery', () => {
  const error = telling('shop unusable_rest_error');
  rows('that cannot be used leaves a trace', [
    ['an owner who may not see orders any more', [restError('rest_forbidden')], error],
    ['an owner whom Wordfence logged out', [restError('rest_not_logged_in')], error],
    ['the plugin disable-json-api', [restError('rest_cannot_access')], error],
    ['an error, then a right order', [restError('rest_forbidden'), woo()], { told: error.told }],
    [
      'WP_DEBUG_DISPLAY: a notice before the JSON',
      [raw(`<br />\n<b>Warning</b>: x\n${JSON.stringify(woo().body)}`)],
      telling('shop unusable_not_json'),
    ],
  ]);
  const manyLines = Array.from({ length: 498 }, (_, index) =>
    card({ id: 400 + index, sku: `MUG-${index + 100}`, properties: [{ value: 'x'.repeat(2200) }] }),
  );
  rows('that is large, or about something else, leaves none', [
    ['Shopify: an order with 499 lines', [shopify({ line_items: [card(), ...manyLines] })]],
    ['a coupon that was deleted', [raw({ id: 6 }, 'coupon.deleted')], ignored],
    ['an order that was deleted and never known', [raw({ id: 727 }, 'order.deleted')], ignored],
    [
      'Shopify: a product, and a draft order',
      [
        rawShopify(
          { id: 1, title: 'Steam', variants: [{ id: 2, sku: 'STEAM-20' }] },
          'products/update',
        ),
        rawShopify(
          { id: 9, name: '#D1', status: 'open', line_items: [card()] },
          'draft_orders/create',
        ),
        rawShopify({ id: 9, order_id: 727, kind: 'sale' }, 'order_transactions/create'),
      ],
      ignored,
    ],
  ]);
});

const sub = (changes: Changes = {}) =>
  woo({ id: 728, line_items: [card({ id: 320 })], ...changes });
const subMeta = (key: string, value: unknown, changes: Changes = {}) =>
  sub({ ...fields(key, value), ...changes });
const subAtShopify = (changes: Changes) =>
  shopify({ id: 728, line_items: [card({ id: 320 })], ...changes });
/** As `wc_create_order` of a plugin leaves it: a payment of its own is not in it. */
const copied = { transaction_id: '', cart_hash: '', created_via: '' };
/** An order of Shopify that an app has made: it has no checkout. */
const byApp = { source_name: '5550001', checkout_id: null, checkout_token: null, cart_token: null };
const held = { told: ['728 held'] };
const both = { bought: ['727/315', '728/320'] };
const bacs = { transaction_id: '', payment_method: 'bacs' };

describe('one purchase with two ids', () => {
  rows('is bought once, whichever plugin made the second', [
    [
      'MultiVendorX',
      [woo(fields('has_wcmp_sub_order', '1')), sub({ parent_id: 727, created_via: 'mvx' })],
      held,
    ],
    ['YITH Multi Vendor', [woo(fields('has_sub_order', '1')), sub({ parent_id: 727 })], held],
    ['Split Orders', [woo(), subMeta('_vibe_split_orders_split_from', '727', copied)], held],
    ['Woo Order Splitter', [woo(), subMeta('splitted_from', 727, copied)], held],
    ['a clone of Woo Order Splitter', [woo(), subMeta('cloned_from', '727', copied)], held],
    ['a retry of an integration', [woo(), subMeta('_original_order_id', '727', copied)], held],
    [
      'YITH Deposits',
      [woo(), sub({ parent_id: 727, created_via: 'yith_wcdp_balance_order' })],
      held,
    ],
    [
      'WooCommerce Deposits: its line names the first order',
      [
        woo(),
        sub({ ...copied, line_items: [card({ id: 320, ...fields('_original_order_id', '727') })] }),
      ],
      held,
    ],
    ['a copy with the payment', [woo(), sub({ transaction_id: 'ch_3P727LkdIwHu7ix' })], held],
    [
      'a copy with the payment in a field of Stripe',
      [
        woo({ transaction_id: '', ...fields('_stripe_intent_id', 'pi_3P5LkdIwHu7ix0a1') }),
        subMeta('_stripe_intent_id', 'pi_3P5LkdIwHu7ix0a1', copied),
      ],
      held,
    ],
    ['Duplicate Page', [woo(bacs), sub({ ...bacs, order_key: 'wc_order_Zk3y727Qx8' })], held],
    [
      'an original that names its part',
      [woo(fields('_split_into_orders', '728')), sub(copied)],
      held,
    ],
    [
      'Shopify: OrderSplit Pro, a part',
      [
        shopify(),
        subAtShopify({ name: '#727-Preorder', ...byApp, payment_gateway_names: ['manual'] }),
      ],
      held,
    ],
    [
      'Shopify: OrderSplit Pro, Cancel and Recreate',
      [shopify(), subAtShopify({ name: '#727-Original', ...byApp, tags: 'Original order' })],
      held,
    ],
    [
      'Shopify: an attribute of a merge app',
      [
        shopify(),
        subAtShopify({ ...byApp, note_attributes: [{ name: 'Original order', value: '#727' }] }),
      ],
      held,
    ],
  ]);

  rows('is told from two purchases', [
    ['an offer of CartFlows', [woo(), subMeta('_cartflows_offer_parent_id', '727')], both],
    ['the same customer again', [woo(), sub({ customer_id: 9727 })], both],
    [
      'a renewal that names its subscription',
      [woo(), subMeta('_subscription_renewal', '726', { created_via: 'subscription' })],
      both,
    ],
    ['points', [woo(), subMeta('_wc_points_earned', '727')], both],
    ['a user with that id', [woo(), sub({ customer_id: 727 })], both],
    [
      'a product with that id',
      [woo(), sub({ line_items: [card({ id: 320, product_id: 727 })] })],
      both,
    ],
    ['a field of a feed', [woo(), subMeta('_meta_purchase_tracked', '1')], both],
    [
      'one payment for different goods',
      [
        woo({ transaction_id: 'ch_one' }),
        sub({ transaction_id: 'ch_one', line_items: [card({ id: 320, sku: 'STEAM-50' })] }),
      ],
      both,
    ],
    [
      'an original that was never paid',
      [woo({ status: 'failed', date_paid_gmt: null }), subMeta('_original_order_id', '727')],
      { bought: ['728/320'] },
    ],
    ['Sequential Order Numbers', [woo(), subMeta('_order_number', '727', { number: '727' })], both],
    ['a note of the customer', [woo(), sub({ customer_note: 'As in my order 727, please' })], both],
    [
      'Shopify: attributes of apps',
      [shopify(), subAtShopify({ note_attributes: [{ name: 'points', value: '727' }] })],
      both,
    ],
  ]);
});

describe('a payment', () => {
  const tested = (key: string, value: string): Row => [
    `${key} ${value}`,
    [woo(fields(key, value))],
    ignored,
  ];
  rows('in the test mode of a gateway buys nothing', [
    tested('_ppcp_environment', 'sandbox'),
    tested('_enviorment', 'sandbox'),
    tested('_wc_authorize_net_cim_credit_card_environment', 'test'),
    tested('_wc_klarna_environment', 'test'),
    tested('is_production_mode', 'no'),
    ['Shopify: a test order', [shopify({ test: true })], ignored],
    ['Shopify: its header', [shopify({}, 'orders/paid', { 'X-Shopify-Test': 'true' })], ignored],
    ['Shopify: the bogus gateway', [shopify({ payment_gateway_names: ['bogus'] })], ignored],
    [
      'Shopify: the bogus gateway beside a gift card',
      [shopify({ payment_gateway_names: ['gift_card', 'bogus'] })],
      ignored,
    ],
    [
      'Mollie, without a date of payment',
      [woo({ date_paid_gmt: null, ...fields('_mollie_payment_mode', 'test') })],
      ignored,
    ],
  ]);

  rows('that has the same words is real', [
    ['Mollie, live', [woo(fields('_mollie_payment_mode', 'live'))]],
    ['Klarna in the USA', [woo(fields('_wc_klarna_environment', 'us-live'))]],
    ['a gateway that was switched off', [woo(fields('_mollie_payment_mode', ''))]],
    ['a campaign', [woo(fields('_wc_order_attribution_utm_campaign', 'test'))]],
    ['Nelio A/B Testing', [woo(fields('_ab_test_variant', 'test'))]],
    [
      'a customer called Test, with the coupon TEST',
      [woo({ billing: { last_name: 'Test' }, coupon_lines: [{ id: 9, code: 'test' }] })],
    ],
    ['Shopify: a tag', [shopify({ tags: 'test, vip', note: 'sandbox' })]],
    ['Shopify: paid by hand', [shopify({ payment_gateway_names: ['manual'] })]],
  ]);
});

const site = (url: string, changes: Changes = {}, source = `${url}/`) => {
  const self = [{ href: `${url}/wp-json/wc/v3/orders/${Number(changes['id'] ?? 727)}` }];
  return woo({ _links: { self }, ...changes }, { 'X-WC-Webhook-Source': source });
};
const shop = 'https://shop.example.com';
const staging = 'https://staging.example.com';
/** The shop was seen before. */
const first = site(shop, { id: 700, line_items: [] });

describe('a copy of a shop', () => {
  const copy = telling('shop other_shop');
  rows('is never bought for, and changes nothing of the shop', [
    [
      'WP Staging: it cancels an order',
      [first, site(shop), site(staging, { ...later, status: 'refunded' })],
      { told: copy.told },
    ],
    ['Kinsta', [first, site('https://stg-shop.kinsta.cloud')], copy],
    ['Local', [first, site('http://localhost:10005')], copy],
    ['a folder', [first, site(`${shop}/staging`)], copy],
    [
      'its header alone',
      [first, woo({}, { 'X-WC-Webhook-Source': 'https://dev.example.com/' })],
      copy,
    ],
  ]);
  rows('is told from another name of the shop', [
    ['http', [first, site('http://shop.example.com')]],
    ['www', [first, site('https://www.shop.example.com')]],
    [
      'capitals, no slash',
      [first, site('https://Shop.Example.com', {}, 'https://SHOP.example.com')],
    ],
    ['WPML', [first, site(shop, {}, `${shop}/de/`)]],
    ['no name at all', [first, woo()]],
  ]);
});

describe('a sale', () => {
  const before = telling('shop old_sale', { hours: 24 });
  const old = { date_created_gmt: ago(50), date_paid_gmt: ago(49) };
  const oldAtShopify = { created_at: zoned(50), processed_at: zoned(49) };
  const heldOne = telling('727 held', { hours: 24 });
  const imported = { created_at: zoned(0.1), processed_at: zoned(9000) };
  rows('of before the connection is not bought', [
    ['woocommerce#23545: a note', [woo({ ...old, status: 'completed' })], before],
    [
      'completed by hand now',
      [woo({ ...old, status: 'completed', date_completed_gmt: ago(0.1) })],
      before,
    ],
    ['the backlog of the first day', [woo(old)], before],
    ['a minute before the start', [woo({ date_paid_gmt: ago(1 / 60) })], { ...before, hours: 0 }],
    ['what lookback_h does not reach', [woo(old)], { ...before, lookbackH: 12 }],
    [
      'WP All Import',
      [woo({ ...old, created_via: 'import', status: 'completed', date_paid_gmt: ago(9000) })],
      before,
    ],
    [
      'Shopify: a tag',
      [shopify({ ...oldAtShopify, fulfillment_status: 'fulfilled' }, 'orders/updated')],
      before,
    ],
    [
      'Shopify: archived',
      [shopify({ ...oldAtShopify, closed_at: zoned(0.1) }, 'orders/updated')],
      heldOne,
    ],
    ['Shopify: without a topic', [shopify(oldAtShopify, '')], heldOne],
    ['Shopify: orders/create', [shopify(oldAtShopify, 'orders/create')], heldOne],
    [
      'Shopify: fulfilled',
      [shopify({ ...oldAtShopify, fulfillment_status: 'fulfilled' }, 'orders/fulfilled')],
      before,
    ],
    [
      'Shopify: Matrixify',
      [shopify({ ...imported, fulfillment_status: 'fulfilled' }, 'orders/create')],
      before,
    ],
  ]);

  const counter = {
    created_via: 'woocommerce-pos',
    status: 'completed',
    payment_method: 'pos_cash',
  };
  const now = { hours: 24 };
  rows('of now is bought, however it looks', [
    ['lookback_h reaches it', [woo(old)], { ...now, lookbackH: 48 }],
    ['at the counter', [woo({ ...counter, date_completed_gmt: ago(1) })], now],
    ['completes itself', [woo({ status: 'completed', date_completed_gmt: ago(1) })], now],
    ['by telephone', [woo({ created_via: 'admin', payment_method: '', transaction_id: '' })], now],
    ['a bank transfer that arrives', [woo({ ...bacs, date_created_gmt: ago(500) })], now],
    ['a date that comes later', [woo({ date_paid_gmt: null }), woo(later)], now],
    [
      'Shopify: a draft order',
      [shopify({ source_name: 'shopify_draft_order', payment_gateway_names: ['manual'] })],
      now,
    ],
    [
      'Shopify: fulfils itself',
      [shopify({ fulfillment_status: 'fulfilled' }, 'orders/fulfilled')],
      now,
    ],
    [
      'Shopify: payment terms of 30 days',
      [shopify({ created_at: zoned(720), processed_at: zoned(720) })],
      { hours: 24 * 60 },
    ],
    ...['pending', 'authorized', 'partially_paid'].map(
      (financial_status): Row => [
        `Shopify: ${financial_status} first`,
        [
          shopify({ ...oldAtShopify, financial_status, updated_at: zoned(40) }, 'orders/create'),
          shopify(oldAtShopify),
        ],
        now,
      ],
    ),
  ]);

  const undated = (changes: Changes = {}) => woo({ date_paid_gmt: null, ...changes });
  rows('without a date of payment is held, unless nothing of it is paid or ours', [
    ['by hand', [undated()], heldOne],
    ['an import', [undated({ status: 'completed', created_via: 'import' })], heldOne],
    ['WordPress: the year 0', [woo({ date_paid_gmt: '0000-00-00T00:00:00' })], heldOne],
    ['cash on delivery', [undated({ payment_method: 'cod', transaction_id: '' })], ignored],
    [
      'cash on delivery that is paid',
      [
        undated({ payment_method: 'cod' }),
        woo({ payment_method: 'cod', status: 'completed', ...later }),
      ],
    ],
    ['on hold', [undated({ status: 'on-hold', payment_method: 'bacs' })], ignored],
    ['other goods', [undated({ line_items: [] })], ignored],
  ]);
});

const another = {
  ...later,
  order_key: 'wc_order_Another9Key',
  customer_id: 12,
  billing: { first_name: 'Grace', email: 'grace@example.com' },
  transaction_id: 'ch_another',
  cart_hash: 'another',
};
const givenAgain = (changes: Changes): readonly Delivery[] => [
  woo(),
  woo({ ...another, ...changes }),
];

describe('an id', () => {
  // What was not sent of the known sale waits for an operator.
  const told = telling('727 held', { told: ['727 held', '727 id_given_again'] });
  rows('that stands for another sale is told', [
    [
      'a restored backup',
      givenAgain({ date_created_gmt: ago(0.6), date_paid_gmt: ago(0.5) }),
      told,
    ],
    ['another line id', givenAgain({ line_items: [card({ id: 400 })] }), told],
    ['other goods', givenAgain({ line_items: [card({ sku: 'STEAM-50', product_id: 95 })] }), told],
    ['the same customer again', givenAgain({ customer_id: 9727, billing: {} }), told],
    ['not paid yet', givenAgain({ status: 'pending', date_paid_gmt: null }), told],
    ['cancelled', givenAgain({ status: 'cancelled' }), told],
  ]);
  rows('that stands for the same sale is not', [
    ['the same again', [woo(), woo()]],
    [
      'a corrected address',
      [woo(), woo({ ...later, billing: { email: 'a@b.example' }, customer_id: 3 })],
    ],
    ['a corrected date', [woo(), woo({ ...later, date_created_gmt: ago(3) })]],
    [
      'WordPress: Erase personal data',
      [
        woo(),
        woo({
          ...later,
          billing: { first_name: '[deleted]', email: 'deleted@site.invalid' },
          customer_id: 0,
          ...fields('_anonymized', 'yes'),
        }),
      ],
    ],
    ['a key that is missing later', [woo(), woo({ ...later, order_key: '' })]],
    ['a key that was missing first', [woo({ order_key: '' }), woo(later)]],
    [
      'another way of payment after a failure',
      [
        woo({ status: 'failed', date_paid_gmt: null }),
        woo({ ...later, payment_method: 'paypal', transaction_id: '5O190127TN364715T' }),
      ],
    ],
    [
      'Shopify: an edited customer',
      [shopify(), shopify({ updated_at: zoned(0.5), customer: { id: 3 } }, 'orders/updated')],
    ],
  ]);
});

describe('many old orders that are touched at once', () => {
  const thirty = Array.from({ length: 30 }, (_, index) => 740 + index);
  const long = { date_created_gmt: ago(1000), date_paid_gmt: ago(1000), status: 'completed' };
  const touched = (changes: Changes): readonly Delivery[] => [
    ...thirty.map((id) => woo({ ...long, ...changes, id })),
    woo(),
  ];
  const anonymised = { customer_id: 0, ...fields('_anonymized', 'yes') };
  const one = { told: ['shop old_sale'], hours: 24 };
  rows('are one thing to read, and the order of today is bought', [
    ['retain completed orders', touched(anonymised), one],
    ['the same in a shop that lost its outbox', touched(anonymised), { ...one, hours: 24 * 365 }],
    ['a bulk action', touched({ date_completed_gmt: ago(0.1) }), one],
    ['orders that were never completed', touched({ status: 'processing' }), one],
    ['HPOS: synchronisation', touched(fields('_synced', '1')), one],
    ['nothing of ours', touched({ line_items: [] }), { hours: 24 }],
    ['refunded', touched({ status: 'refunded' }), { hours: 24 }],
  ]);
});
