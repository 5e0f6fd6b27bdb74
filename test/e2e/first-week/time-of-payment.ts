import type { ServerResponse } from 'node:http';
import type { ShopCallSeen } from '../../storefronts/read-back/stub-shop.ts';
import { send } from '../../storefronts/read-back/stub-shop.ts';
import {
  hoursAgo,
  inStub,
  meta,
  type Row,
  shopify,
  shopifyOrder,
  woo,
  zonedHoursAgo,
} from './rows.ts';

// When an order was paid: later than it was created, or never by its date.

const created = (hours: number) => ({
  created_at: zonedHoursAgo(hours),
  processed_at: zonedHoursAgo(hours),
});
const manual = { payment_gateway_names: ['Bank Deposit'] };
const heldOne = { bought: [], told: ['727 held'] };
const ignored = { bought: [], told: [] };

/** Answers the transactions of an order as Shopify does. */
const transactions =
  (hours: number, kind = 'sale') =>
  ({ url }: ShopCallSeen, response: ServerResponse): boolean => {
    const isAsked = url.pathname.endsWith('/orders/727/transactions.json');
    const paid = {
      id: 9,
      order_id: 727,
      kind,
      status: 'success',
      gateway: 'Bank Deposit',
      test: false,
      amount: '20.00',
      created_at: zonedHoursAgo(hours),
      processed_at: zonedHoursAgo(hours),
    };
    if (isAsked) send(response, 200, { transactions: [paid] });
    return isAsked;
  };
/** A shop whose order of 12 days ago was paid that many hours ago. */
const paidInShop = (
  hours: number,
  kind?: string,
): Pick<Row, 'read' | 'platform' | 'connectedH'> => ({
  platform: 'shopify',
  connectedH: 24 * 5,
  read: (stub) => void (stub.misbehave = transactions(hours, kind)),
});

export const paidLater: readonly Row[] = [
  {
    name: 'Shopify: a bank transfer of nine days',
    source: 'help.shopify.com: manual payments, Mark as paid',
    platform: 'shopify',
    steps: [shopify({ ...created(216), ...manual })],
  },
  {
    name: 'Shopify: an invoice of a company after 30 days',
    source: 'shopify.dev: payment_terms NET',
    platform: 'shopify',
    connectedH: 24 * 60,
    steps: [
      shopify({ ...created(720), payment_terms: { payment_terms_type: 'net', due_in_days: 30 } }),
    ],
  },
  {
    name: 'Shopify: created before the connection, paid after it',
    source: 'the bank transfers of the first week',
    platform: 'shopify',
    connectedH: 24,
    steps: [shopify({ ...created(100), ...manual })],
  },
  {
    name: 'Shopify: first unpaid, then paid',
    source: 'orders/create, then orders/paid',
    platform: 'shopify',
    steps: [
      shopify(
        { ...created(216), ...manual, financial_status: 'pending', updated_at: zonedHoursAgo(216) },
        'orders/create',
      ),
      shopify({ ...created(216), ...manual }),
    ],
  },
  {
    name: 'Shopify: first authorized, captured after six days',
    source: 'help.shopify.com: manual capture',
    platform: 'shopify',
    steps: [
      shopify(
        { ...created(240), financial_status: 'authorized', updated_at: zonedHoursAgo(240) },
        'orders/create',
      ),
      shopify(created(240)),
    ],
  },
  {
    name: 'Shopify: paid in parts, and now wholly',
    source: 'partially_paid',
    platform: 'shopify',
    steps: [
      shopify(
        { ...created(216), financial_status: 'partially_paid', updated_at: zonedHoursAgo(200) },
        'orders/updated',
      ),
      shopify(created(216)),
    ],
  },
  {
    name: 'Shopify: told by orders/paid and orders/updated',
    source: 'both topics fire',
    platform: 'shopify',
    steps: [
      [
        shopify({ ...created(216), ...manual }),
        shopify({ ...created(216), ...manual }, 'orders/updated'),
      ],
    ],
  },
  {
    name: 'Shopify: the transactions say that it was paid now',
    source: 'shopify.dev: transactions of an order',
    ...paidInShop(1),
    steps: [
      { inShop: (stub) => void stub.put(inStub(shopifyOrder({ ...created(288), ...manual }))) },
      shopify({ ...created(288), ...manual }, 'orders/updated'),
    ],
  },
  {
    name: 'Shopify: the transactions say that it was captured now',
    source: 'shopify.dev: kind capture',
    ...paidInShop(2, 'capture'),
    steps: [{ inShop: (stub) => void stub.put(inStub(shopifyOrder(created(288)))) }],
  },
  {
    name: 'WooCommerce: a bank transfer of three weeks',
    source: 'payment_method bacs',
    steps: [woo({ date_created_gmt: hoursAgo(500), payment_method: 'bacs', transaction_id: '' })],
  },
  {
    name: 'WooCommerce: a date of payment that comes later',
    source: 'a gateway that sets the status first',
    steps: [woo({ date_paid_gmt: null }), woo({ date_modified_gmt: hoursAgo(0.5) })],
  },
];

export const paidBefore: readonly Row[] = [
  {
    name: 'Shopify: an old order that is edited',
    source: 'orders/updated fires for everything',
    platform: 'shopify',
    connectedH: 24,
    steps: [shopify({ ...created(100), note: 'called' }, 'orders/updated')],
    ...heldOne,
  },
  {
    name: 'Shopify: an old order that is fulfilled',
    source: 'orders/fulfilled',
    platform: 'shopify',
    connectedH: 24,
    steps: [shopify({ ...created(100), fulfillment_status: 'fulfilled' }, 'orders/fulfilled')],
    bought: [],
    told: ['shop old_sale'],
  },
  {
    name: 'Shopify: a delivery without a topic',
    source: 'a proxy that drops headers',
    platform: 'shopify',
    connectedH: 24,
    steps: [shopify(created(100), '')],
    ...heldOne,
  },
  {
    name: 'Shopify: an old order that is created by an import',
    source: 'orders/create',
    platform: 'shopify',
    connectedH: 24,
    steps: [shopify(created(100), 'orders/create')],
    ...heldOne,
  },
  {
    name: 'Shopify: the transactions say that it was paid before',
    source: 'shopify.dev: transactions of an order',
    ...paidInShop(280),
    steps: [
      { inShop: (stub) => void stub.put(inStub(shopifyOrder(created(288)))) },
      shopify(created(288), 'orders/updated'),
    ],
    bought: [],
    told: ['shop old_sale'],
  },
];

export const withoutDate: readonly Row[] = [
  {
    name: 'a card payment without a date',
    source: 'a virtual product that is moved by hand to processing',
    steps: [woo({ date_paid_gmt: null })],
    ...heldOne,
  },
  {
    name: 'a bank transfer without a date',
    source: 'bacs, moved by hand',
    steps: [woo({ date_paid_gmt: null, payment_method: 'bacs', transaction_id: '' })],
    ...heldOne,
  },
  {
    name: 'no method of payment and no date',
    source: 'an order by hand',
    steps: [
      woo({ date_paid_gmt: null, payment_method: '', created_via: 'admin', status: 'completed' }),
    ],
    ...heldOne,
  },
  {
    name: 'an import without a date',
    source: 'WP All Import',
    steps: [woo({ date_paid_gmt: null, status: 'completed', created_via: 'import' })],
    ...heldOne,
  },
  {
    name: 'a date of the year 0',
    source: 'WordPress: 0000-00-00',
    steps: [woo({ date_paid_gmt: '0000-00-00T00:00:00' })],
    ...heldOne,
  },
  {
    name: 'no date, and a test payment',
    source: 'mollie',
    steps: [woo({ date_paid_gmt: null, meta_data: [meta('_mollie_payment_mode', 'test')] })],
    ...ignored,
  },
  {
    name: 'cash on delivery',
    source: 'payment_method cod is processing at once',
    steps: [woo({ date_paid_gmt: null, payment_method: 'cod', transaction_id: '' })],
    ...ignored,
  },
  {
    name: 'cash on delivery that is paid',
    source: 'completed sets the date',
    steps: [
      woo({ date_paid_gmt: null, payment_method: 'cod' }),
      woo({
        payment_method: 'cod',
        status: 'completed',
        date_modified_gmt: hoursAgo(0.5),
        date_paid_gmt: hoursAgo(0.5),
      }),
    ],
  },
  {
    name: 'pending, without a date',
    source: 'every shop',
    steps: [woo({ date_paid_gmt: null, status: 'pending' })],
    ...ignored,
  },
  {
    name: 'on hold, without a date',
    source: 'bacs waits',
    steps: [woo({ date_paid_gmt: null, status: 'on-hold', payment_method: 'bacs' })],
    ...ignored,
  },
  {
    name: 'a paid status without a date, of other goods',
    source: 'a mixed shop',
    steps: [woo({ date_paid_gmt: null, line_items: [] })],
    ...ignored,
  },
];
