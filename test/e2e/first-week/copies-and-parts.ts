import { card, meta, type Row, shopify, shopifyCard, woo } from './rows.ts';

// One purchase under two identities: copies, parts and parents of a known order, and parts of
// bundles.

type Changes = Readonly<Record<string, unknown>>;

/** The other order, whose line has an id of its own, as in a real shop. */
const other = (changes: Changes = {}) =>
  woo({ id: 728, line_items: [card({ id: 320 })], ...changes });
const otherMeta = (key: string, value: unknown, changes: Changes = {}) =>
  other({ meta_data: [meta(key, value)], ...changes });
const held = { told: ['728 held'], says: ['727'] };
const both = { bought: ['727/315 1', '728/320 1'] };
/** An order of Shopify that an app has made: it has no checkout. */
const byApp = { source_name: '5550001', checkout_id: null, checkout_token: null, cart_token: null };
/** As `wc_create_order` of a plugin leaves it: a payment of its own is not in it. */
const copied = { transaction_id: '', cart_hash: '', created_via: '' };

export const copiesOfOrders: readonly Row[] = [
  {
    name: 'a sub-order of MultiVendorX',
    source: 'wcmp: has_wcmp_sub_order, created_via mvx_vendor_order',
    steps: [
      woo({ meta_data: [meta('has_wcmp_sub_order', '1')] }),
      other({ parent_id: 727, created_via: 'mvx_vendor_order' }),
    ],
    ...held,
  },
  {
    name: 'a sub-order of YITH Multi Vendor',
    source: 'yith-woocommerce-multi-vendor: yith_wcmv_vendor_suborder',
    steps: [
      woo({ meta_data: [meta('has_sub_order', '1')] }),
      other({ parent_id: 727, created_via: 'yith_wcmv_vendor_suborder' }),
    ],
    ...held,
  },
  {
    name: 'a sub-order that comes before its parent',
    source: 'Dokan: webhooks run in the background, in any order',
    steps: [
      other({ parent_id: 727, created_via: 'dokan' }),
      woo({ meta_data: [meta('has_sub_order', '1')] }),
    ],
    bought: ['728/320 1'],
    told: ['727 held'],
    says: ['728'],
  },
  {
    name: 'a parent with two sub-orders at once',
    source: 'Dokan Lite, create_sub_order',
    steps: [
      [
        woo({
          line_items: [card(), card({ id: 316, sku: 'XBOX-25' })],
          meta_data: [meta('has_sub_order', '1')],
        }),
        other({ parent_id: 727 }),
        woo({ id: 729, parent_id: 727, line_items: [card({ id: 330, sku: 'XBOX-25' })] }),
      ],
    ],
    bought: ['727/315 1', '727/316 1'],
    told: ['728 held', '729 held'],
    says: ['727'],
  },
  {
    name: 'a part of Split Orders',
    source: 'vibe: _vibe_split_orders_split_from',
    steps: [woo(), otherMeta('_vibe_split_orders_split_from', '727', copied)],
    ...held,
  },
  {
    name: 'a part of Woo Order Splitter',
    source: 'woo-order-splitter: splitted_from',
    steps: [woo(), otherMeta('splitted_from', 727, copied)],
    ...held,
  },
  {
    name: 'a clone of Woo Order Splitter',
    source: 'woo-order-splitter: cloned_from',
    steps: [woo(), otherMeta('cloned_from', '727', copied)],
    ...held,
  },
  {
    name: 'a retry of a failed integration',
    source: '_is_retry_order with _original_order_id',
    steps: [woo(), otherMeta('_original_order_id', '727', copied)],
    ...held,
  },
  {
    name: 'the balance of a deposit',
    source: 'yith-woocommerce-deposits: created_via yith_wcdp_balance_order, parent_id',
    steps: [woo(), other({ parent_id: 727, created_via: 'yith_wcdp_balance_order' })],
    ...held,
  },
  {
    name: 'the balance of a deposit that its line names',
    source: 'woocommerce-deposits: the line has _original_order_id',
    steps: [
      woo(),
      other({
        ...copied,
        created_via: 'wc_deposits',
        line_items: [card({ id: 320, meta_data: [meta('_original_order_id', '727')] })],
      }),
    ],
    ...held,
  },
  {
    name: 'a copy that keeps the payment',
    source: 'duplicate order plugins copy all fields',
    steps: [woo(), other({ transaction_id: 'ch_3P727LkdIwHu7ix' })],
    ...held,
  },
  {
    name: 'a copy that keeps the payment in the fields of the gateway',
    source: 'woocommerce-gateway-stripe: _stripe_intent_id',
    steps: [
      woo({ transaction_id: '', meta_data: [meta('_stripe_intent_id', 'pi_3P5LkdIwHu7ix0a1')] }),
      otherMeta('_stripe_intent_id', 'pi_3P5LkdIwHu7ix0a1', copied),
    ],
    ...held,
  },
  {
    name: 'a copy that keeps the key of the order',
    source: 'wordpress.org/plugins/duplicate-page copies every field of a post, also _order_key',
    steps: [
      woo({ transaction_id: '', payment_method: 'bacs' }),
      other({ transaction_id: '', payment_method: 'bacs', order_key: 'wc_order_Zk3y727Qx8' }),
    ],
    ...held,
  },
  {
    name: 'an original that names its part before the part comes',
    source: 'split plugins write the ids of the parts into the original',
    steps: [woo({ meta_data: [meta('_split_into_orders', '728')] }), other(copied)],
    ...held,
  },
  {
    name: 'Shopify: a part of OrderSplit Pro',
    source: 'ordersplitpro-co.gitbook.io: #1001-Preorder',
    platform: 'shopify',
    steps: [
      shopify(),
      shopify({
        id: 728,
        name: '#727-Preorder',
        ...byApp,
        payment_gateway_names: ['manual'],
        line_items: [shopifyCard({ id: 320 })],
      }),
    ],
    ...held,
  },
  {
    name: 'Shopify: the rest of a split order, whose original is cancelled after it',
    source: 'ordersplitpro-co.gitbook.io: Cancel and Recreate',
    platform: 'shopify',
    steps: [
      shopify(),
      shopify({
        id: 728,
        name: '#727-Original',
        ...byApp,
        tags: 'Original order',
        line_items: [shopifyCard({ id: 320 })],
      }),
    ],
    ...held,
  },
  {
    name: 'Shopify: an order that names another one in its attributes',
    source: 'merge and split apps write note_attributes',
    platform: 'shopify',
    steps: [
      shopify(),
      shopify({
        id: 728,
        ...byApp,
        note_attributes: [{ name: 'Original order', value: '#727' }],
        line_items: [shopifyCard({ id: 320 })],
      }),
    ],
    ...held,
  },
  {
    name: 'Shopify: a second order of one checkout',
    source: 'shopify.dev: checkout_token',
    platform: 'shopify',
    steps: [
      shopify(),
      shopify({
        id: 728,
        checkout_id: 37_000_000_727,
        checkout_token: 'e41b727',
        cart_token: 'hWN2727',
        line_items: [shopifyCard({ id: 320 })],
      }),
    ],
    ...held,
  },
];

export const ordersOfTheirOwn: readonly Row[] = [
  {
    name: 'an offer after the checkout, with a payment of its own',
    source: 'CartFlows Pro: _cartflows_offer_parent_id',
    steps: [woo(), otherMeta('_cartflows_offer_parent_id', '727', { created_via: 'checkout' })],
    ...both,
  },
  {
    name: 'the same customer buys the same again',
    source: 'every shop',
    steps: [woo(), other({ customer_id: 9727, billing: { email: 'ada.727@example.com' } })],
    ...both,
  },
  {
    name: 'a renewal of a subscription',
    source: 'woocommerce subscriptions: _subscription_renewal names the subscription',
    steps: [woo(), otherMeta('_subscription_renewal', '726', { created_via: 'subscription' })],
    ...both,
  },
  {
    name: 'a field that happens to be the number of an order',
    source: 'points, weights, ids of users and posts',
    steps: [woo(), otherMeta('_wc_points_earned', '727')],
    ...both,
  },
  {
    name: 'a user whose id is the number of an order',
    source: 'customer_id is of another table',
    steps: [woo(), other({ customer_id: 727 })],
    ...both,
  },
  {
    name: 'a product whose id is the number of an order',
    source: 'posts and orders share their ids',
    steps: [woo(), other({ line_items: [card({ id: 320, product_id: 727 })] })],
    ...both,
  },
  {
    name: 'fields of analytics and of feeds',
    source: 'facebook-for-woocommerce, PixelYourSite',
    steps: [
      woo({ meta_data: [meta('pys_enrich_data', { pys_landing: 'https://shop.example.com' })] }),
      otherMeta('_meta_purchase_tracked', '1'),
    ],
    ...both,
  },
  {
    name: 'one payment for two orders of different goods',
    source: 'a marketplace that charges once',
    steps: [
      woo({ transaction_id: 'ch_one' }),
      other({ transaction_id: 'ch_one', line_items: [card({ id: 320, sku: 'XBOX-25' })] }),
    ],
    ...both,
  },
  {
    name: 'a transaction that is the name of the method',
    source: 'gateways for cash write "N/A" or "cash" as the transaction',
    steps: [
      woo({ transaction_id: 'cash', payment_method: 'pos_cash' }),
      other({ transaction_id: 'cash', payment_method: 'pos_cash' }),
    ],
    ...both,
  },
  {
    name: 'the original was never paid',
    source: 'a customer who orders again because the payment failed',
    steps: [woo({ status: 'failed', date_paid_gmt: null }), otherMeta('_original_order_id', '727')],
    bought: ['728/320 1'],
  },
  {
    name: 'a number of a plugin that another order has as its id',
    source: 'wordpress.org/plugins/woocommerce-sequential-order-numbers',
    steps: [woo(), other({ number: '727', meta_data: [meta('_order_number', '727')] })],
    ...both,
  },
  {
    name: 'a customer who names an earlier order',
    source: 'customer_note',
    steps: [woo(), other({ customer_note: 'As in my order 727, please' })],
    ...both,
  },
  {
    name: 'Shopify: the same customer buys again',
    source: 'every shop',
    platform: 'shopify',
    steps: [
      shopify(),
      shopify({ id: 728, customer: { id: 7727 }, line_items: [shopifyCard({ id: 320 })] }),
    ],
    ...both,
  },
  {
    name: 'Shopify: attributes of apps',
    source: 'note_attributes of upsell and gift apps',
    platform: 'shopify',
    steps: [
      shopify(),
      shopify({
        id: 728,
        note_attributes: [
          { name: 'gift', value: 'true' },
          { name: 'points', value: '727' },
        ],
        line_items: [shopifyCard({ id: 320 })],
      }),
    ],
    ...both,
  },
];

const container = (changes: Changes = {}) => card({ quantity: 3, ...changes });
const part = (key: string, value: unknown, changes: Changes = {}) =>
  card({
    id: 316,
    sku: 'XBOX-25',
    product_id: 95,
    quantity: 3,
    subtotal: '0.00',
    total: '0.00',
    price: 0,
    meta_data: [meta(key, value)],
    ...changes,
  });
const bundle = (...lines: readonly unknown[]) => woo({ line_items: lines });
const flagged = { bought: ['727/315 3'], told: ['727 bundled_line'] };
const key = 'c81e728d9d4c2f636f067f89cc14862c';

export const bundles: readonly Row[] = [
  {
    name: 'WPC Product Bundles',
    source: 'woo-product-bundle: _woosb_parent_id is the product of the bundle',
    steps: [
      bundle(
        container({ meta_data: [meta('_woosb_ids', '95/1')] }),
        part('_woosb_parent_id', '93'),
      ),
    ],
    ...flagged,
  },
  {
    name: 'WPC Composite Products',
    source: 'wpc-composite-products: wooco_parent_id',
    steps: [bundle(container(), part('wooco_parent_id', '93'))],
    ...flagged,
  },
  {
    name: 'Mix and Match',
    source: 'woocommerce-mix-and-match: _mnm_container is the key of the cart',
    steps: [
      bundle(container({ meta_data: [meta('_mnm_cart_key', key)] }), part('_mnm_container', key)),
    ],
    ...flagged,
  },
  {
    name: 'Product Bundles by their meta alone',
    source: 'woocommerce-product-bundles: _bundled_by, _bundle_cart_key',
    steps: [
      bundle(container({ meta_data: [meta('_bundle_cart_key', key)] }), part('_bundled_by', key)),
    ],
    ...flagged,
  },
  {
    name: 'YITH Product Bundles',
    source: 'yith-woocommerce-product-bundles: _bundled_by, _yith_bundle_cart_key',
    steps: [
      bundle(
        container({ meta_data: [meta('_yith_bundle_cart_key', key)] }),
        part('_bundled_by', key),
      ),
    ],
    ...flagged,
  },
  {
    name: 'Composite Products by their meta alone',
    source: 'woocommerce-composite-products: _composite_parent, _composite_cart_key',
    steps: [
      bundle(
        container({ meta_data: [meta('_composite_cart_key', key)] }),
        part('_composite_parent', key),
      ),
    ],
    ...flagged,
  },
  {
    name: 'Chained Products that cost nothing',
    source: 'woocommerce-chained-products: _chained_product_of is a product',
    steps: [bundle(container(), part('_chained_product_of', '93'))],
    ...flagged,
  },
  {
    name: 'Chained Products with a price of their own',
    source: 'woocommerce-chained-products: _cp_priced_individually',
    steps: [
      bundle(
        container(),
        part('_chained_product_of', '93', { subtotal: '75.00', total: '75.00', price: 25 }),
      ),
    ],
    ...flagged,
  },
  {
    name: 'a part that stands before its container',
    source: 'a plugin that sorts lines',
    steps: [bundle(part('_woosb_parent_id', '93'), container())],
    ...flagged,
  },
  {
    name: 'a part of a bundle in a composite',
    source: 'woocommerce-composite-products: the bundle in it has both keys',
    steps: [
      bundle(
        container({ meta_data: [meta('_composite_cart_key', key)] }),
        card({
          id: 317,
          sku: 'BOX',
          product_id: 96,
          meta_data: [meta('_composite_parent', key), meta('_bundle_cart_key', 'e4da3b7fbbce2345')],
        }),
        part('_bundled_by', 'e4da3b7fbbce2345'),
      ),
    ],
    ...flagged,
  },
];

export const noBundles: readonly Row[] = [
  {
    name: 'goods that are sold with others, each for its price',
    source: 'wpc-force-sells: _woofs_parent_id; wpc-frequently-bought-together: _woobt_parent_id',
    steps: [
      bundle(
        card(),
        card({
          id: 316,
          sku: 'XBOX-25',
          product_id: 95,
          total: '25.00',
          price: 25,
          meta_data: [meta('_woobt_parent_id', '93')],
        }),
      ),
    ],
    bought: ['727/315 1', '727/316 1'],
  },
  {
    name: 'a bundle of other goods whose part is ours',
    source: 'woo-product-bundle',
    steps: [
      bundle(
        card({ id: 316, sku: 'BOX' }),
        card({ product_id: 95, meta_data: [meta('_woosb_parent_id', '93')] }),
      ),
    ],
  },
  {
    name: 'two cards without a bundle',
    source: 'every shop',
    steps: [bundle(card(), card({ id: 316, sku: 'XBOX-25', product_id: 95 }))],
    bought: ['727/315 1', '727/316 1'],
  },
  {
    name: 'a card that a coupon made free',
    source: 'woocommerce: a discount of 100 %',
    steps: [
      woo({
        line_items: [card({ subtotal: '20.00', total: '0.00', price: 0 })],
        coupon_lines: [{ id: 9, code: 'free' }],
      }),
    ],
  },
  {
    name: 'one free card alone',
    source: 'a giveaway',
    steps: [bundle(card({ subtotal: '0.00', total: '0.00', price: 0 }))],
  },
  {
    name: 'fields of an add-on plugin',
    source: 'woocommerce-product-addons: _pao_ids',
    steps: [
      bundle(card({ meta_data: [meta('_pao_ids', [{ key: 'Gift wrap', value: 'yes', id: 93 }])] })),
    ],
  },
  {
    name: 'fields of a subscription and of stock',
    source: 'woocommerce: _reduced_stock',
    steps: [
      bundle(
        card({ meta_data: [meta('_reduced_stock', '1'), meta('_has_trial', 'false')] }),
        card({
          id: 316,
          sku: 'XBOX-25',
          product_id: 95,
          meta_data: [meta('_reduced_stock', '93')],
        }),
      ),
    ],
    bought: ['727/315 1', '727/316 1'],
  },
];
