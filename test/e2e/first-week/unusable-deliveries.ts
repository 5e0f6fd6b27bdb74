import {
  card,
  hoursAgo,
  inStub,
  type Row,
  shopify,
  shopifyCard,
  shopifyOrder,
  woo,
  wooOrder,
} from './rows.ts';

// Signed deliveries about orders from which no order can be read, and what is none of our business.

const restErrors =
  'woocommerce class-wc-webhook.php, get_wp_api_payload: the answer of the REST API, also an error';
const actionTopic =
  'woocommerce class-wc-webhook.php, build_payload: {"action", "arg"} for a topic action.*';
const phpOutput = 'wordpress.org, WP_DEBUG_DISPLAY: notices stand before the JSON';
const bigMeta = 'support threads: a page builder stores its state in each order';
const shopifyTopics = 'shopify.dev, WebhookSubscriptionTopic';

const nothingBought = { bought: [] };
const restError = (code: string, message: string, status: number) => ({
  code,
  message,
  data: { status },
});
const error = (body: unknown) => ({ body, topic: 'order.updated' });
const action = (name: string, arg: unknown) => ({
  body: { action: name, arg },
  topic: `action.${name}`,
});
const raw = (body: string, topic = 'order.updated') => ({ body, topic });
const large = (characters: number) => ({
  meta_data: [{ id: 1, key: '_builder_state', value: 'x'.repeat(characters) }],
});
const manyLines = Array.from({ length: 498 }, (_, index) =>
  shopifyCard({
    id: 400 + index,
    sku: `MUG-${index + 100}`,
    properties: [{ name: '_design', value: 'x'.repeat(2200) }],
  }),
);
const slash = (end: string) => woo({}, { path: (usual) => `${usual}${end}` });

export const unusable: readonly Row[] = [
  {
    name: 'the owner of the webhook may not see orders any more',
    source: restErrors,
    steps: [error(restError('rest_forbidden', 'Sorry, you are not allowed to do that.', 403))],
    ...nothingBought,
    told: ['shop unusable_rest_error'],
    count: 1,
  },
  {
    name: 'the owner of the webhook was logged out by a security plugin',
    source: 'Wordfence and iThemes filter rest_authentication_errors',
    steps: [error(restError('rest_not_logged_in', 'You are not currently logged in.', 401))],
    ...nothingBought,
    told: ['shop unusable_rest_error'],
  },
  {
    name: 'the REST API is switched off by a plugin',
    source: 'wordpress.org/plugins/disable-json-api',
    steps: [
      error(
        restError(
          'rest_cannot_access',
          'DRA: Only authenticated users can access the REST API.',
          401,
        ),
      ),
    ],
    ...nothingBought,
    told: ['shop unusable_rest_error'],
  },
  {
    name: 'three errors are one row',
    source: restErrors,
    steps: [
      [1, 2, 3].map(() =>
        error(
          restError('woocommerce_rest_cannot_view', 'Sorry, you cannot view this resource.', 403),
        ),
      ),
    ],
    ...nothingBought,
    told: ['shop unusable_rest_error'],
    count: 3,
  },
  {
    name: 'an error, and a right order after it',
    source: restErrors,
    steps: [[error(restError('rest_forbidden', 'no', 403)), woo()]],
    told: ['shop unusable_rest_error'],
  },
  {
    name: 'a webhook of the action of a status',
    source: actionTopic,
    steps: [action('woocommerce_order_status_processing', 727)],
    ...nothingBought,
    told: ['shop unusable_action'],
  },
  {
    name: 'a webhook of the action of a payment, with a text',
    source: actionTopic,
    steps: [action('woocommerce_payment_complete', '727')],
    ...nothingBought,
    told: ['shop unusable_action'],
  },
  {
    name: 'a webhook of an action, in a shop that is read',
    source: actionTopic,
    // The list of the shop does not have it: it was changed before the worker began to read.
    read: (stub) => void stub.put(inStub(wooOrder(), Date.now() - 7_200_000)),
    steps: [action('woocommerce_order_status_completed', 727)],
  },
  {
    name: 'a notice of PHP before the JSON',
    source: phpOutput,
    steps: [
      raw(
        `<br />\n<b>Warning</b>:  Undefined array key "sku" in /wp-content/plugins/x.php on line 9<br />\n${JSON.stringify(wooOrder())}`,
      ),
    ],
    ...nothingBought,
    told: ['shop unusable_not_json'],
  },
  {
    name: 'an empty body',
    source: 'woocommerce#20640: wp_json_encode fails for text that is no UTF-8',
    steps: [raw('')],
    ...nothingBought,
    told: ['shop unusable_not_json'],
  },
  {
    name: 'a body of false',
    source: 'PHP: json_encode of a failed json_encode',
    steps: [raw('false')],
    ...nothingBought,
    told: ['shop unusable_no_order'],
  },
  {
    name: 'a body that is cut',
    source: 'a proxy that cuts requests',
    steps: [raw(JSON.stringify(wooOrder()).slice(0, 400))],
    ...nothingBought,
    told: ['shop unusable_not_json'],
  },
  {
    name: 'an empty list',
    source: 'PHP: json_encode(array()) is [], also for an empty object',
    steps: [raw('[]')],
    ...nothingBought,
    told: ['shop unusable_no_order'],
  },
  {
    name: 'an id alone, without the topic of a deletion',
    source: 'a filter of woocommerce_webhook_payload that returns the id',
    steps: [error({ id: 727 })],
    ...nothingBought,
    told: ['shop unusable_no_order'],
  },
  {
    name: 'a form in place of JSON',
    source: 'woocommerce_webhook_http_args: a filter that sends a form',
    steps: [raw('order_id=727&status=processing&total=20.00')],
    ...nothingBought,
    told: ['shop unusable_not_json'],
  },
  {
    name: 'an order of 9 MiB',
    source: bigMeta,
    steps: [woo(large(9 * 1_048_576))],
    ...nothingBought,
    told: ['shop unusable_too_large'],
  },
  {
    name: 'Shopify: a webhook that has only some fields',
    source: 'shopify.dev, webhook subscriptions: include_fields',
    platform: 'shopify',
    steps: [{ body: { id: 727, updated_at: hoursAgo(1) }, topic: 'orders/updated' }],
    ...nothingBought,
    told: ['shop unusable_no_order'],
  },
  {
    name: 'Shopify: an empty body',
    source: 'a proxy that drops bodies',
    platform: 'shopify',
    steps: [raw('', 'orders/paid')],
    ...nothingBought,
    told: ['shop unusable_not_json'],
  },
];

/** What is an order in spite of its way, and what is no order at all. */
export const usable: readonly Row[] = [
  {
    name: 'a slash behind the address',
    source: 'nginx and site builders add one',
    steps: [slash('/')],
  },
  {
    name: 'a double slash in the address',
    source: 'a base URL with a slash, and a path with one',
    steps: [woo({}, { path: (usual) => `/${usual}` })],
  },
  {
    name: 'double slashes everywhere',
    source: 'the same',
    steps: [woo({}, { path: (usual) => `${usual.replaceAll('/', '//')}/` })],
  },
  {
    name: 'a query behind the address',
    source: 'a tracking parameter that somebody added',
    steps: [slash('?utm_source=woo')],
  },
  { name: 'an order of 1.5 MiB', source: bigMeta, steps: [woo(large(1_572_864))] },
  // After the others: bodies that come at the same time share their memory.
  { name: 'an order of 7.5 MiB', source: bigMeta, steps: [[], woo(large(7_864_320))] },
  {
    name: 'Shopify: an order with 499 lines',
    source: 'help.shopify.com: up to 500 lines; each has some 2 KB of prices and taxes',
    platform: 'shopify',
    steps: [shopify({ line_items: [shopifyCard(), ...manyLines] })],
  },
  {
    name: 'a product',
    source: 'woocommerce, topic product.updated',
    steps: [
      {
        body: {
          id: 93,
          name: 'Steam',
          sku: 'STEAM-20',
          type: 'simple',
          status: 'publish',
          price: '20.00',
        },
        topic: 'product.updated',
      },
    ],
    ...nothingBought,
  },
  {
    name: 'a customer',
    source: 'woocommerce, topic customer.created',
    steps: [
      {
        body: { id: 5, email: 'ada@example.com', role: 'customer', is_paying_customer: true },
        topic: 'customer.created',
      },
    ],
    ...nothingBought,
  },
  {
    name: 'a coupon',
    source: 'woocommerce, topic coupon.created',
    steps: [{ body: { id: 6, code: 'SALE', amount: '5.00' }, topic: 'coupon.created' }],
    ...nothingBought,
  },
  {
    name: 'a deleted coupon',
    source: 'woocommerce class-wc-webhook.php: {"id"} for a deleted resource',
    steps: [{ body: { id: 6 }, topic: 'coupon.deleted' }],
    ...nothingBought,
  },
  {
    name: 'an error about a product',
    source: restErrors,
    steps: [
      {
        body: restError(
          'woocommerce_rest_cannot_view',
          'Sorry, you cannot view this resource.',
          403,
        ),
        topic: 'product.updated',
      },
    ],
    ...nothingBought,
  },
  {
    name: 'a subscription',
    source: 'woocommerce subscriptions, topic subscription.updated',
    steps: [
      {
        body: { ...wooOrder({ status: 'active' }), billing_period: 'month', billing_interval: '1' },
        topic: 'subscription.updated',
      },
    ],
    ...nothingBought,
  },
  {
    name: 'a deleted order that was never known',
    source: 'woocommerce class-wc-webhook.php',
    steps: [{ body: { id: 727 }, topic: 'order.deleted' }],
    ...nothingBought,
  },
  {
    name: 'an action that is not about orders',
    source: actionTopic,
    steps: [action('woocommerce_add_to_cart', 'b3f9d1')],
    ...nothingBought,
  },
  {
    name: 'Shopify: a product',
    source: shopifyTopics,
    platform: 'shopify',
    steps: [
      {
        body: { id: 1, title: 'Steam', variants: [{ id: 2, sku: 'STEAM-20' }] },
        topic: 'products/update',
      },
    ],
    ...nothingBought,
  },
  {
    name: 'Shopify: a draft order',
    source: shopifyTopics,
    platform: 'shopify',
    steps: [
      {
        body: { id: 9, name: '#D1', status: 'open', line_items: [card()] },
        topic: 'draft_orders/create',
      },
    ],
    ...nothingBought,
  },
  {
    name: 'Shopify: a cart and a checkout',
    source: shopifyTopics,
    platform: 'shopify',
    steps: [
      { body: { id: 9, token: 'x', line_items: [card()] }, topic: 'carts/update' },
      {
        body: { ...shopifyOrder(), financial_status: undefined, completed_at: null },
        topic: 'checkouts/update',
      },
    ],
    ...nothingBought,
  },
  {
    name: 'Shopify: a transaction',
    source: shopifyTopics,
    platform: 'shopify',
    steps: [
      {
        body: { id: 9, order_id: 727, kind: 'sale', status: 'success', gateway: 'manual' },
        topic: 'order_transactions/create',
      },
    ],
    ...nothingBought,
  },
];
