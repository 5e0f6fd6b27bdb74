import {
  hoursAgo,
  inStub,
  later,
  laterStill,
  meta,
  type Row,
  shopify,
  shopifyOrder,
  woo,
  wooMeta,
  wooOrder,
  zonedHoursAgo,
} from './rows.ts';

// Test payments, copies of a shop, sales of before.

const ignored = { bought: [], told: [] };
const before = { bought: [], told: ['shop old_sale'] };
/** Nothing of it is taken in: a copy has the ids of the shop. */
const copy = { bought: [], told: ['shop other_shop'] };

/** Payments in the test mode of a gateway. */
export const testPayments: readonly Row[] = [
  {
    name: 'Payment Plugins for PayPal in its sandbox',
    source: 'pymntpl-paypal-woocommerce, Constants.php: _ppcp_environment',
    steps: [
      wooMeta(
        meta('_ppcp_paypal_order_id', '5O190127TN364715T'),
        meta('_ppcp_environment', 'sandbox'),
      ),
    ],
    ...ignored,
  },
  {
    name: 'PayPal by AngellEYE in its sandbox',
    source: 'paypal-for-woocommerce: _enviorment (sic)',
    steps: [wooMeta(meta('_paymentaction', 'capture'), meta('_enviorment', 'sandbox'))],
    ...ignored,
  },
  {
    name: 'PayPal Payments in its sandbox',
    source: 'woocommerce/woocommerce-paypal-payments OrderMetaTrait.php',
    steps: [
      wooMeta(
        meta('_ppcp_paypal_order_id', '5O190127TN364715T'),
        meta('_ppcp_paypal_payment_mode', 'sandbox'),
      ),
    ],
    ...ignored,
  },
  {
    name: 'Mollie in test mode',
    source: 'mollie/WooCommerce MollieObject.php',
    steps: [
      wooMeta(meta('_mollie_payment_id', 'tr_7UhSN1zuXS'), meta('_mollie_payment_mode', 'test')),
    ],
    ...ignored,
  },
  {
    name: 'WooPayments in test mode',
    source: 'Automattic/woocommerce-payments WC_Payments_Order_Service',
    steps: [wooMeta(meta('_wcpay_mode', 'test'), meta('_intent_id', 'pi_3Mt'))],
    ...ignored,
  },
  {
    name: 'Square in its sandbox',
    source: 'woocommerce-square, SkyVerge framework: _wc_square_credit_card_environment',
    steps: [wooMeta(meta('_wc_square_credit_card_environment', 'sandbox'))],
    ...ignored,
  },
  {
    name: 'Authorize.Net in its sandbox',
    source: 'SkyVerge framework: _wc_authorize_net_cim_credit_card_environment',
    steps: [wooMeta(meta('_wc_authorize_net_cim_credit_card_environment', 'test'))],
    ...ignored,
  },
  {
    name: 'Braintree for PayPal in its sandbox',
    source: 'SkyVerge framework: _wc_braintree_paypal_environment',
    steps: [wooMeta(meta('_wc_braintree_paypal_environment', 'sandbox'))],
    ...ignored,
  },
  {
    name: 'Payment Plugins for Stripe in test mode',
    source: 'woo-stripe-payment, class-wc-stripe-constants.php: _wc_stripe_mode',
    steps: [wooMeta(meta('_wc_stripe_mode', 'test'), meta('_payment_intent_id', 'pi_3Mt'))],
    ...ignored,
  },
  {
    name: 'Klarna in its playground',
    source: 'krokedil/klarna-payments-for-woocommerce: _wc_klarna_environment',
    steps: [
      wooMeta(meta('_wc_klarna_order_id', '0720b05d'), meta('_wc_klarna_environment', 'test')),
    ],
    ...ignored,
  },
  {
    name: 'Mercado Pago without production mode',
    source: 'woocommerce-mercadopago: is_production_mode',
    steps: [
      wooMeta(
        meta('_used_gateway', 'WC_WooMercadoPago_Basic_Gateway'),
        meta('is_production_mode', 'no'),
      ),
    ],
    ...ignored,
  },
  {
    name: 'a test payment in a shop that is read',
    source: 'mollie/WooCommerce',
    read: () => undefined,
    steps: [
      {
        inShop: (stub) =>
          void stub.put(inStub(wooOrder({ meta_data: [meta('_mollie_payment_mode', 'test')] }))),
      },
    ],
    ...ignored,
  },
  {
    name: 'Shopify: a test order',
    source: 'shopify.dev: test',
    platform: 'shopify',
    steps: [shopify({ test: true })],
    ...ignored,
  },
  {
    name: 'Shopify: the bogus gateway',
    source: 'public recordings of webhooks: "payment_gateway_names":["bogus"]',
    platform: 'shopify',
    steps: [shopify({ payment_gateway_names: ['bogus'] })],
    ...ignored,
  },
  {
    name: 'Shopify: the bogus gateway beside a gift card',
    source: 'help.shopify.com, bogus gateway',
    platform: 'shopify',
    steps: [shopify({ payment_gateway_names: ['gift_card', 'bogus'] })],
    ...ignored,
  },
  {
    name: 'Shopify: a test order by its header',
    source: 'shopify.dev: X-Shopify-Test',
    platform: 'shopify',
    steps: [shopify({}, 'orders/paid', { headers: { 'x-shopify-test': 'true' } })],
    ...ignored,
  },
];

/** Real payments whose data have the same words. */
export const realPayments: readonly Row[] = [
  {
    name: 'WooPayments',
    source: 'Automattic/woocommerce-payments',
    steps: [wooMeta(meta('_wcpay_mode', 'prod'))],
  },
  {
    name: 'PayPal Payments',
    source: 'woocommerce-paypal-payments',
    steps: [wooMeta(meta('_ppcp_paypal_payment_mode', 'live'))],
  },
  {
    name: 'Mollie',
    source: 'mollie/WooCommerce',
    steps: [wooMeta(meta('_mollie_payment_mode', 'live'))],
  },
  {
    name: 'Square',
    source: 'SkyVerge framework',
    steps: [wooMeta(meta('_wc_square_credit_card_environment', 'production'))],
  },
  {
    name: 'Klarna in the USA',
    source: 'krokedil/klarna-payments',
    steps: [wooMeta(meta('_wc_klarna_environment', 'us-live'))],
  },
  {
    name: 'an empty mode',
    source: 'a gateway that was switched off',
    steps: [wooMeta(meta('_mollie_payment_mode', ''))],
  },
  {
    name: 'a campaign called test',
    source: 'woocommerce order attribution: _wc_order_attribution_utm_campaign',
    steps: [
      wooMeta(
        meta('_wc_order_attribution_utm_campaign', 'test'),
        meta('_wc_order_attribution_utm_source', 'sandbox'),
      ),
    ],
  },
  {
    name: 'a test of two prices',
    source: 'Nelio A/B Testing',
    steps: [
      wooMeta(meta('_nab_experiments_with_page_view', { 12: 1 }), meta('_ab_test_variant', 'test')),
    ],
  },
  {
    name: 'a customer called Test, with the coupon TEST',
    source: 'a real family name',
    steps: [
      woo({
        billing: { first_name: 'Anna', last_name: 'Test', email: 'test@example.com' },
        coupon_lines: [{ id: 9, code: 'test', discount: '0' }],
      }),
    ],
  },
  {
    name: 'Shopify: the tag test',
    source: 'shopify.dev: tags',
    platform: 'shopify',
    steps: [shopify({ tags: 'test, vip', note: 'sandbox' })],
  },
  {
    name: 'Shopify: paid by hand',
    source: 'help.shopify.com, manual payments',
    platform: 'shopify',
    steps: [shopify({ payment_gateway_names: ['manual'] })],
  },
];

const links = (site: string, id = 727) => ({
  _links: { self: [{ href: `${site}/wp-json/wc/v3/orders/${id}` }] },
});
const from = (site: string, changes: Readonly<Record<string, unknown>> = {}, source = `${site}/`) =>
  woo(
    { ...links(site, Number(changes['id'] ?? 727)), ...changes },
    { headers: { 'x-wc-webhook-source': source } },
  );
const shop = 'https://shop.example.com';
/** The shop was seen before. */
const firstOrder = from(shop, { id: 700, line_items: [] });
const domain = (name: string) =>
  shopify({}, 'orders/paid', { headers: { 'x-shopify-shop-domain': name } });
const firstAtShopify = shopify({ id: 700, line_items: [] }, 'orders/paid', {
  headers: { 'x-shopify-shop-domain': 'cards.myshopify.com' },
});

/** Orders of a copy of the shop. */
export const copiesOfShops: readonly Row[] = [
  {
    name: 'a copy that cancels an order of the shop',
    source: 'a developer who tries refunds on the copy',
    steps: [
      firstOrder,
      from(shop),
      from('https://staging.example.com', { ...later, status: 'refunded' }),
      from('https://staging.example.com', { ...laterStill, line_items: [] }),
    ],
    told: ['shop other_shop'],
    count: 2,
  },
  {
    name: 'a staging copy under another name',
    source: 'wordpress.org/plugins/wp-staging',
    steps: [firstOrder, from('https://staging.example.com')],
    ...copy,
    says: ['staging.example.com'],
  },
  {
    name: 'a copy at the host of its provider',
    source: 'kinsta.com: stg-shop.kinsta.cloud',
    steps: [firstOrder, from('https://stg-shop.kinsta.cloud')],
    ...copy,
  },
  {
    name: 'a copy on the machine of a developer',
    source: 'localwp.com: http://localhost:10005',
    steps: [firstOrder, from('http://localhost:10005')],
    ...copy,
  },
  {
    name: 'a copy in a folder',
    source: 'WP Staging clones into a folder of the same host',
    steps: [firstOrder, from(`${shop}/staging`)],
    ...copy,
  },
  {
    name: 'a copy that only its header shows',
    source: 'class-wc-webhook.php: X-WC-Webhook-Source is home_url()',
    steps: [
      firstOrder,
      woo({}, { headers: { 'x-wc-webhook-source': 'https://dev.example.com/' } }),
    ],
    ...copy,
  },
  {
    name: 'a copy that only its body shows',
    source: 'a proxy that drops headers',
    steps: [firstOrder, woo(links('https://dev.example.com'))],
    ...copy,
  },
  {
    name: 'a copy of a shop that is read',
    source: 'docs/storefronts.md: rest.url',
    read: () => undefined,
    steps: [from('https://staging.example.com')],
    ...copy,
  },
  {
    name: 'a copy that sends before the shop itself was ever seen, where the shop is read',
    source: 'the same',
    read: () => undefined,
    steps: [from('https://old.example.com', { status: 'completed' })],
    ...copy,
  },
  {
    name: 'two orders of a copy are one row',
    source: 'wp-staging',
    steps: [
      firstOrder,
      [from('https://staging.example.com'), from('https://staging.example.com', { id: 728 })],
    ],
    bought: [],
    told: ['shop other_shop'],
    count: 2,
  },
  {
    name: 'Shopify: the webhook of another shop of the app',
    source: 'shopify.dev: X-Shopify-Shop-Domain; one secret signs for all shops of an app',
    platform: 'shopify',
    steps: [firstAtShopify, domain('cards-dev.myshopify.com')],
    ...copy,
  },
];

/** The same shop, named differently. */
export const sameShops: readonly Row[] = [
  { name: 'the shop itself', source: 'class-wc-webhook.php', steps: [firstOrder, from(shop)] },
  {
    name: 'http and https',
    source: 'a proxy that ends TLS',
    steps: [firstOrder, from('http://shop.example.com')],
  },
  {
    name: 'with and without www',
    source: 'home_url and site_url',
    steps: [firstOrder, from('https://www.shop.example.com')],
  },
  {
    name: 'capitals, and no slash',
    source: 'a filter of home_url',
    steps: [firstOrder, from('https://Shop.Example.com', {}, 'https://SHOP.example.com')],
  },
  {
    name: 'its home page in another language',
    source: 'WPML filters home_url: https://shop.example.com/de/',
    steps: [firstOrder, from(shop, {}, `${shop}/de/`)],
  },
  {
    name: 'no name at all',
    source: 'a proxy that drops headers, a filter that drops _links',
    steps: [firstOrder, woo()],
  },
  {
    name: 'Shopify: its two names',
    source: 'shopify.dev: order_status_url has the domain that customers see',
    platform: 'shopify',
    steps: [
      firstAtShopify,
      shopify({ order_status_url: 'https://cards.example.com/1/orders/x' }, 'orders/paid', {
        headers: { 'x-shopify-shop-domain': 'cards.myshopify.com' },
      }),
    ],
  },
];

const old = { date_created_gmt: hoursAgo(50), date_paid_gmt: hoursAgo(49) };
const oldAtShopify = { created_at: zonedHoursAgo(50), processed_at: zonedHoursAgo(49) };

/** Paid before the shop was connected, and touched since. */
export const salesBefore: readonly Row[] = [
  {
    name: 'an old order that gets a note',
    source: 'woocommerce#23545: notes fire order.updated',
    connectedH: 24,
    steps: [woo({ ...old, status: 'completed' })],
    ...before,
    count: 1,
  },
  {
    name: 'an old order that is completed by hand now',
    source: 'the day after the weekend',
    connectedH: 24,
    steps: [woo({ ...old, status: 'completed', date_completed_gmt: hoursAgo(0.1) })],
    ...before,
  },
  {
    name: 'an old order that is still being processed',
    source: 'the backlog of the first day',
    connectedH: 24,
    steps: [woo(old)],
    ...before,
  },
  {
    name: 'an order that was paid a minute before the start',
    source: 'W1 of a real WooCommerce',
    connectedH: 0,
    steps: [woo({ date_paid_gmt: hoursAgo(1 / 60) })],
    ...before,
  },
  {
    name: 'an old order by read-back',
    source: 'docs/storefronts.md: lookback_h is 0',
    connectedH: 24,
    read: () => undefined,
    steps: [{ inShop: (stub) => void stub.put(inStub(wooOrder({ ...old, status: 'completed' }))) }],
    ...before,
  },
  {
    name: 'twelve old orders of a bulk action',
    source: 'woocommerce: bulk actions fire order.updated for each',
    connectedH: 24,
    steps: [Array.from({ length: 12 }, (_, index) => woo({ ...old, id: 740 + index }))],
    ...before,
    count: 12,
  },
  {
    name: 'the same old order four times',
    source: 'a plugin that saves an order again and again',
    connectedH: 24,
    steps: [
      [1, 2, 3, 4].map((minutes) => woo({ ...old, date_modified_gmt: hoursAgo(minutes / 60) })),
    ],
    ...before,
    count: 1,
  },
  {
    name: 'an old order that lookback_h does not reach',
    source: 'docs/storefronts.md',
    connectedH: 24,
    shop: { lookback_h: 12 },
    steps: [woo(old)],
    ...before,
  },
  {
    name: 'imported orders of the old shop',
    source: 'WP All Import: created_via and old dates',
    connectedH: 24,
    steps: [
      woo({
        created_via: 'import',
        status: 'completed',
        date_created_gmt: hoursAgo(9000),
        date_paid_gmt: hoursAgo(9000),
      }),
    ],
    ...before,
  },
  {
    name: 'Shopify: an old order that gets a tag',
    source: 'shopify.dev: orders/updated fires for tags',
    platform: 'shopify',
    connectedH: 24,
    steps: [
      shopify({ ...oldAtShopify, tags: 'vip', fulfillment_status: 'fulfilled' }, 'orders/updated'),
    ],
    ...before,
  },
  {
    name: 'Shopify: an old order that is archived',
    source: 'help.shopify.com: archiving',
    platform: 'shopify',
    connectedH: 24,
    steps: [shopify({ ...oldAtShopify, closed_at: zonedHoursAgo(0.1) }, 'orders/updated')],
    bought: [],
    told: ['727 held'],
  },
  {
    name: 'Shopify: orders that Matrixify imports',
    source: 'matrixify.app: Processed At of the old shop',
    platform: 'shopify',
    connectedH: 24,
    steps: [
      shopify(
        {
          ...oldAtShopify,
          created_at: zonedHoursAgo(0.1),
          processed_at: zonedHoursAgo(9000),
          source_name: 'matrixify-app',
          fulfillment_status: 'fulfilled',
        },
        'orders/create',
      ),
    ],
    ...before,
  },
];

/** Paid after the shop was connected, however it looks. */
export const salesNow: readonly Row[] = [
  {
    name: 'lookback_h reaches the order',
    source: 'docs/storefronts.md',
    connectedH: 24,
    shop: { lookback_h: 48 },
    steps: [woo(old)],
  },
  {
    name: 'lookback_h reaches the order by read-back',
    source: 'docs/storefronts.md',
    connectedH: 24,
    shop: { lookback_h: 48 },
    read: (stub) => void stub.put(inStub(wooOrder(old), Date.now() - 3_600_000)),
    steps: [],
  },
  {
    name: 'a sale at the counter',
    source: 'wordpress.org/plugins/woocommerce-pos: created_via, completed at once',
    connectedH: 24,
    steps: [
      woo({
        created_via: 'woocommerce-pos',
        status: 'completed',
        payment_method: 'pos_cash',
        date_completed_gmt: hoursAgo(1),
      }),
    ],
  },
  {
    name: 'an order that completes itself',
    source: 'woocommerce-autocomplete-orders',
    connectedH: 24,
    steps: [woo({ status: 'completed', date_completed_gmt: hoursAgo(1) })],
  },
  {
    name: 'an order by telephone',
    source: 'created_via: admin',
    connectedH: 24,
    steps: [
      woo({
        created_via: 'admin',
        payment_method: '',
        payment_method_title: '',
        transaction_id: '',
      }),
    ],
  },
  {
    name: 'a bank transfer of before that arrives now',
    source: 'woocommerce: date_paid is set with the status',
    connectedH: 24,
    steps: [woo({ date_created_gmt: hoursAgo(200), payment_method: 'bacs', transaction_id: '' })],
  },
  {
    name: 'a payment right after the start',
    source: 'the first customer',
    connectedH: 0,
    steps: [
      {
        body: () => wooOrder({ date_paid_gmt: hoursAgo(0), date_modified_gmt: hoursAgo(0) }),
        topic: 'order.created',
      },
    ],
  },
  {
    name: 'Shopify: a sale at the counter',
    source: 'shopify.dev: source_name pos, fulfilled at once',
    platform: 'shopify',
    connectedH: 24,
    steps: [
      shopify({
        source_name: 'pos',
        fulfillment_status: 'fulfilled',
        closed_at: zonedHoursAgo(1),
        payment_gateway_names: ['cash'],
      }),
    ],
  },
  {
    name: 'Shopify: an order that fulfils itself',
    source: 'help.shopify.com: automatic fulfilment',
    platform: 'shopify',
    connectedH: 24,
    steps: [shopify({ fulfillment_status: 'fulfilled' }, 'orders/fulfilled')],
  },
  {
    name: 'Shopify: a draft order that is paid now',
    source: 'source_name shopify_draft_order',
    platform: 'shopify',
    connectedH: 24,
    steps: [shopify({ source_name: 'shopify_draft_order', payment_gateway_names: ['manual'] })],
  },
  {
    name: 'Shopify: read back, paid now',
    source: 'docs/storefronts.md',
    platform: 'shopify',
    connectedH: 24,
    read: () => undefined,
    steps: [{ inShop: (stub) => void stub.put(inStub(shopifyOrder())) }],
  },
];
