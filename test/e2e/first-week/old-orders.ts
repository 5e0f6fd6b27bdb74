import {
  card,
  hoursAgo,
  inStub,
  meta,
  type Row,
  shopify,
  woo,
  wooOrder,
  zonedHoursAgo,
} from './rows.ts';

// Many old orders that are touched at once: one thing to read, and the order of today is bought.

const thirty = Array.from({ length: 30 }, (_, index) => 740 + index);
const long = {
  date_created_gmt: hoursAgo(1000),
  date_paid_gmt: hoursAgo(1000),
  status: 'completed',
};
const anonymised = {
  billing: { email: 'deleted@site.invalid' },
  customer_id: 0,
  meta_data: [meta('_anonymized', 'yes')],
};
const oldAt = (hours: number) => ({
  created_at: zonedHoursAgo(hours),
  processed_at: zonedHoursAgo(hours),
});
const oneRow = { told: ['shop old_sale'], count: 30 };
const longAgo = { told: ['shop old_sale'], count: 30 };
const year = 24 * 365;

export const floods: readonly Row[] = [
  {
    name: 'orders from before the connection are anonymised',
    source: 'WooCommerce, Accounts & Privacy: retain completed orders',
    connectedH: 24,
    steps: [[...thirty.map((id) => woo({ ...long, ...anonymised, id })), woo()]],
    ...oneRow,
  },
  {
    name: 'orders of last month are anonymised, which the outbox does not know',
    source: 'the same, in a shop that lost its outbox',
    connectedH: year,
    steps: [[...thirty.map((id) => woo({ ...long, ...anonymised, id })), woo()]],
    ...longAgo,
  },
  {
    name: 'a bulk action over old orders',
    source: 'woocommerce: Change status to completed',
    connectedH: 24,
    steps: [
      [...thirty.map((id) => woo({ ...long, id, date_completed_gmt: hoursAgo(0.1) })), woo()],
    ],
    ...oneRow,
  },
  {
    name: 'old orders that were never completed',
    source: 'a shop that leaves its orders in processing',
    connectedH: 24,
    steps: [[...thirty.map((id) => woo({ ...long, id, status: 'processing' })), woo()]],
    ...oneRow,
  },
  {
    name: 'a plugin saves all old orders',
    source: 'woocommerce HPOS: synchronisation of orders',
    connectedH: 24,
    steps: [
      [...thirty.map((id) => woo({ ...long, id, meta_data: [meta('_synced', '1')] })), woo()],
    ],
    ...oneRow,
  },
  {
    name: 'an import of old orders',
    source: 'WP All Import',
    connectedH: 24,
    steps: [[...thirty.map((id) => woo({ ...long, id, created_via: 'import' })), woo()]],
    ...oneRow,
  },
  {
    name: 'old orders of a shop that is read',
    source: 'a bulk action while the worker was down',
    connectedH: 24,
    read: () => undefined,
    steps: [
      {
        inShop: (stub) => {
          for (const id of thirty) stub.put(inStub(wooOrder({ ...long, id })));
          stub.put(inStub(wooOrder()));
        },
      },
    ],
    ...oneRow,
  },
  {
    name: 'old orders touched on two days',
    source: 'a plugin that does some each hour',
    connectedH: 24,
    steps: [
      thirty.slice(0, 15).map((id) => woo({ ...long, id })),
      [...thirty.slice(15).map((id) => woo({ ...long, id })), woo()],
    ],
    ...oneRow,
  },
  {
    name: 'Shopify: old orders of an import',
    source: 'matrixify.app: Processed At',
    platform: 'shopify',
    connectedH: 24,
    steps: [
      [
        ...thirty.map((id) =>
          shopify(
            { ...oldAt(2000), fulfillment_status: 'fulfilled', created_at: zonedHoursAgo(0.1), id },
            'orders/create',
          ),
        ),
        shopify(),
      ],
    ],
    ...oneRow,
  },
  {
    name: 'old orders without a line of ours',
    source: 'a mixed shop',
    connectedH: 24,
    steps: [[...thirty.map((id) => woo({ ...long, id, line_items: [] })), woo()]],
    told: [],
  },
  {
    name: 'old orders that were cancelled or refunded',
    source: 'every shop',
    connectedH: 24,
    steps: [
      [
        ...thirty.map((id) =>
          woo({ ...long, id, status: id % 2 === 0 ? 'refunded' : 'cancelled' }),
        ),
        woo(),
      ],
    ],
    told: [],
  },
  {
    name: 'old orders that the outbox has bought',
    source: 'every shop after a month',
    steps: [
      thirty.slice(0, 5).map((id) => woo({ id, line_items: [card({ id: id + 1000 })] })),
      thirty.slice(0, 5).map((id) =>
        woo({
          id,
          line_items: [card({ id: id + 1000 })],
          ...anonymised,
          date_modified_gmt: hoursAgo(0.5),
          status: 'completed',
        }),
      ),
    ],
    bought: thirty.slice(0, 5).map((id) => `${id}/${id + 1000} 1`),
    told: [],
  },
];
