import {
  card,
  hoursAgo,
  later,
  laterStill,
  meta,
  type Row,
  shopify,
  woo,
  wooOrder,
  zonedHoursAgo,
} from './rows.ts';

// An id that stands for another sale now, and one that goes through the trash.

const asBefore = { told: [] };
const anotherKey = { order_key: 'wc_order_Another9Key' };
const grace = {
  customer_id: 12,
  billing: { first_name: 'Grace', last_name: 'Hopper', email: 'grace@example.com' },
  transaction_id: 'ch_another',
  cart_hash: 'another',
};
const told = { told: ['727 id_given_again'] };

export const reused: readonly Row[] = [
  {
    name: 'a backup was restored, and the next customer got the id and the line id',
    source: 'MySQL: AUTO_INCREMENT falls back with the tables',
    steps: [
      woo(),
      woo({
        ...later,
        ...anotherKey,
        ...grace,
        date_created_gmt: hoursAgo(0.6),
        date_paid_gmt: hoursAgo(0.5),
      }),
    ],
    ...told,
  },
  {
    name: 'the same with another line id',
    source: 'the table of lines was not restored',
    steps: [woo(), woo({ ...later, ...anotherKey, ...grace, line_items: [card({ id: 400 })] })],
    ...told,
  },
  {
    name: 'the same with other goods',
    source: 'the same',
    steps: [
      woo(),
      woo({
        ...later,
        ...anotherKey,
        ...grace,
        line_items: [card({ sku: 'XBOX-25', product_id: 95 })],
      }),
    ],
    ...told,
  },
  {
    name: 'the same customer again',
    source: 'the customer orders again after the restore',
    steps: [woo(), woo({ ...later, ...anotherKey, transaction_id: 'ch_another' })],
    ...told,
  },
  {
    name: 'the last order was deleted, and its id given again',
    source: 'InnoDB before MySQL 8: the counter is lost at a restart',
    steps: [
      woo(),
      { body: { id: 727 }, topic: 'order.deleted' },
      woo({ ...later, ...anotherKey, ...grace }),
    ],
    told: ['727 id_given_again', '727 refunded_in_storefront'],
  },
  {
    name: 'the new sale is not paid yet',
    source: 'the same',
    steps: [
      woo(),
      woo({ ...later, ...anotherKey, ...grace, status: 'pending', date_paid_gmt: null }),
    ],
    ...told,
  },
  {
    name: 'the new sale is cancelled',
    source: 'the same',
    steps: [woo(), woo({ ...later, ...anotherKey, ...grace, status: 'cancelled' })],
    ...told,
  },
  {
    name: 'no key: another customer and another time',
    source: 'a filter drops order_key',
    steps: [
      woo({ order_key: '' }),
      woo({ ...later, ...grace, order_key: '', date_created_gmt: hoursAgo(0.6) }),
    ],
    ...told,
  },
];

export const sameSale: readonly Row[] = [
  { name: 'the same again', source: 'every shop', steps: [woo(), woo()], ...asBefore },
  {
    name: 'a corrected e-mail address',
    source: 'the owner edits the order',
    steps: [woo(), woo({ ...later, billing: { email: 'ada@example.org' }, customer_id: 3 })],
    ...asBefore,
  },
  {
    name: 'a corrected date of the order',
    source: 'the owner edits the date',
    steps: [woo(), woo({ ...later, date_created_gmt: hoursAgo(3) })],
    ...asBefore,
  },
  {
    name: 'personal data that were removed',
    source: 'WordPress: Erase personal data',
    steps: [
      woo(),
      woo({
        ...later,
        billing: { first_name: '[deleted]', last_name: '[deleted]', email: 'deleted@site.invalid' },
        customer_id: 0,
        meta_data: [meta('_anonymized', 'yes')],
      }),
    ],
    ...asBefore,
  },
  {
    name: 'a key that is missing later',
    source: 'a filter drops order_key',
    steps: [woo(), woo({ ...later, order_key: '' })],
    ...asBefore,
  },
  {
    name: 'a key that was missing first',
    source: 'the same',
    steps: [woo({ order_key: '' }), woo(later)],
    ...asBefore,
  },
  {
    name: 'another way of payment after a failure',
    source: 'woocommerce: order-pay keeps the order',
    steps: [
      woo({ status: 'failed', date_paid_gmt: null }),
      woo({ ...later, payment_method: 'paypal', transaction_id: '5O190127TN364715T' }),
    ],
    ...asBefore,
  },
  {
    name: 'a bought order that goes through the trash',
    source: 'the owner errs',
    steps: [
      woo({ status: 'completed' }),
      woo({ ...later, status: 'trash' }),
      woo({ ...laterStill, status: 'completed' }),
    ],
    ...asBefore,
  },
  {
    name: 'a bought order that is deleted, and restored from the trash',
    source:
      'woocommerce class-wc-webhook.php: order.deleted when it goes to the trash, order.restored when it comes back',
    steps: [
      woo({ status: 'completed' }),
      { body: { id: 727 }, topic: 'order.deleted' },
      {
        body: () => wooOrder({ status: 'completed', date_modified_gmt: hoursAgo(-1 / 1800) }),
        topic: 'order.restored',
      },
    ],
    ...asBefore,
  },
  {
    name: 'Shopify: an edited customer',
    source: 'help.shopify.com: change the customer of an order',
    platform: 'shopify',
    steps: [
      shopify(),
      shopify(
        { updated_at: zonedHoursAgo(0.5), email: 'ada@example.org', customer: { id: 3 } },
        'orders/updated',
      ),
    ],
    ...asBefore,
  },
];
