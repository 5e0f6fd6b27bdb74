import { describe, expect, it } from 'vitest';
import { SkuMap } from '../../../src/core/order/sku-map.ts';
import { readDocument, type ReadingChanges } from './read-document.ts';

const skus = new SkuMap([
  ['STEAM-20', { type: 'gift_card_order', variant: 'steam-usd-20', quantity: 1 }],
  ['XBOX-10', { type: 'gift_card_order', variant: 'xbox-10', quantity: 1 }],
]);

async function read(content: string, changes: ReadingChanges) {
  const { error, lines, rejections, skipped } = await readDocument(content, 'csv', {
    skus,
    ...changes,
  });
  return {
    error: error === null ? null : `${error.documentCode}: ${error.message} ${error.hint}`,
    bought: lines.map(
      (line) =>
        `${line.orderId}/${line.lineId} ${line.quantity} x ${line.variant} ${line.currency}`,
    ),
    flagged: rejections.map(({ orderId, code, field }) => `${orderId} ${code} ${field}`),
    skipped,
  };
}

const shopifyHeader =
  'Name,Email,Financial Status,Paid at,Fulfillment Status,Currency,Subtotal,Total,Created at,Lineitem quantity,Lineitem name,Lineitem price,Lineitem sku,Lineitem fulfillment status,Cancelled at,Refunded Amount,Source,Id';
const shopify = (...rows: string[]) => [shopifyHeader, ...rows, ''].join('\n');
const shopifyOrder = (
  name: string,
  status: string,
  quantity: number,
  sku: string,
  rest = 'pending,,0.00,web,55',
) =>
  `${name},a@example.com,${status},2026-11-01,unfulfilled,EUR,20,20,2026-11-01,${quantity},Card,20,${sku},${rest}`;
const shopifyMore = (name: string, quantity: number, sku: string) =>
  `${name},a@example.com,,,,,,,2026-11-01,${quantity},Card,20,${sku},pending,,,,`;

describe('the orders that Shopify exports', () => {
  it('are bought with all their rows, each once', async () => {
    const content = shopify(
      shopifyOrder('#1001', 'paid', 2, 'STEAM-20'),
      shopifyMore('#1001', 1, 'XBOX-10'),
      shopifyMore('#1001', 3, 'STEAM-20'),
      shopifyOrder('#1002', 'paid', 1, 'XBOX-10'),
    );
    expect(await read(content, { format: 'shopify_orders' })).toEqual({
      error: null,
      bought: [
        '#1001/steam-20 2 x steam-usd-20 EUR',
        '#1001/xbox-10 1 x xbox-10 EUR',
        '#1001/steam-20 2 3 x steam-usd-20 EUR',
        '#1002/xbox-10 1 x xbox-10 EUR',
      ],
      flagged: [],
      skipped: 0,
    });
  });

  it.each(['pending', 'authorized', 'voided', 'refunded', 'Expired', 'partially_paid'])(
    'are not bought while they are %s, with none of their rows',
    async (status) => {
      const content = shopify(
        shopifyOrder('#1001', status, 2, 'STEAM-20'),
        shopifyMore('#1001', 1, 'XBOX-10'),
      );
      expect(await read(content, { format: 'shopify_orders' })).toMatchObject({
        bought: [],
        flagged: [],
        skipped: 2,
      });
    },
  );

  it.each([
    ['were refunded in part', 'partially_refunded', 'pending,,5.00,web,55', 'Financial Status'],
    ['were refunded an amount', 'paid', 'pending,,5.00,web,55', 'Refunded Amount'],
    ['were delivered', 'paid', 'fulfilled,,0.00,web,55', 'Lineitem fulfillment status'],
    ['have an unknown status', 'bezahlt', 'pending,,0.00,web,55', 'Financial Status'],
  ])('need attention where they %s', async (_, status, rest, field) => {
    const content = shopify(shopifyOrder('#1001', status, 2, 'STEAM-20', rest));
    expect(await read(content, { format: 'shopify_orders' })).toMatchObject({
      bought: [],
      flagged: [`#1001 payment_unclear ${field}`],
    });
  });

  it('are not bought where they were cancelled', async () => {
    const content = shopify(
      shopifyOrder('#1001', 'paid', 2, 'STEAM-20', 'pending,2026-11-02,0.00,web,55'),
    );
    expect(await read(content, { format: 'shopify_orders' })).toMatchObject({
      bought: [],
      flagged: [],
      skipped: 1,
    });
  });

  it('are refused without their status', async () => {
    const content = shopify(shopifyOrder('#1001', 'paid', 2, 'STEAM-20')).replace(
      'Financial Status',
      'Other',
    );
    const { error, bought } = await read(content, { format: 'shopify_orders' });
    expect([error, bought]).toEqual([
      expect.stringContaining('The header has no "Financial Status"'),
      [],
    ]);
  });

  it('are refused without their quantities', async () => {
    const content = shopify(shopifyOrder('#1001', 'paid', 2, 'STEAM-20')).replace(
      'Lineitem quantity',
      'Other',
    );
    const { error, bought } = await read(content, { format: 'shopify_orders' });
    expect([error, bought]).toEqual([
      expect.stringContaining('The header has no Lineitem quantity'),
      [],
    ]);
  });

  it('have the same line ids in another order of rows, and with SKUs that a spreadsheet has touched', async () => {
    const one = shopify(shopifyOrder('#1', 'paid', 2, 'STEAM-20'), shopifyMore('#1', 1, 'XBOX-10'));
    const other = shopify(
      shopifyOrder('#1', 'paid', 1, ' xbox-10'),
      shopifyMore('#1', 2, 'Steam-20 '),
    );
    const format = { format: 'shopify_orders' };
    expect((await read(one, format)).bought.toSorted()).toEqual(
      (await read(other, format)).bought.toSorted(),
    );
  });

  it('are chosen by the texts of the configuration where it has the column', async () => {
    const content = shopify(
      shopifyOrder('#1', 'bezahlt', 2, 'STEAM-20'),
      shopifyOrder('#2', 'paid', 1, 'XBOX-10'),
    );
    const only = { 'Financial Status': ['Bezahlt'] };
    expect(await read(content, { format: 'shopify_orders', only })).toMatchObject({
      bought: ['#1/steam-20 2 x steam-usd-20 EUR'],
      skipped: 1,
    });
  });
});

it('a row with other goods is passed over where the folder ignores them, unless its SKU is near one of the map', async () => {
  const content = shopify(
    shopifyOrder('#1', 'paid', 1, 'MUG'),
    shopifyMore('#1', 2, 'STEAM-20'),
    shopifyOrder('#2', 'paid', 1, 'STEAM20'),
  );
  expect(await read(content, { format: 'shopify_orders', unmatched: 'ignore' })).toMatchObject({
    bought: ['#1/steam-20 2 x steam-usd-20 EUR'],
    flagged: ['#2 unknown_sku Lineitem sku'],
    skipped: 1,
  });
});

describe('the orders of other exports', () => {
  it('of WooCommerce are bought while they are processed, less what was refunded', async () => {
    const content = `"Order Number","Order Status","Order Date","Customer Note","Email (Billing)","Item #",SKU,"Item Name","Quantity (- Refund)",Quantity,"Item Cost","Order Currency","Order Refund Amount"
1001,Processing,2026-11-01,,a@example.com,1,STEAM-20,Card,2,3,20,USD,0.00
1001,Processing,2026-11-01,,a@example.com,2,XBOX-10,Card,1,1,10,USD,0.00
1002,On hold,2026-11-01,,a@example.com,1,STEAM-20,Card,1,1,20,USD,0.00
1003,Cancelled,2026-11-01,,a@example.com,1,STEAM-20,Card,1,1,20,USD,0.00
1004,Completed,2026-11-01,,a@example.com,1,STEAM-20,Card,1,1,20,USD,0.00
1005,Processing,2026-11-01,,a@example.com,1,STEAM-20,Card,1,1,20,USD,5.00
`;
    expect(await read(content, { format: 'woocommerce_orders' })).toEqual({
      error: null,
      bought: ['1001/steam-20 2 x steam-usd-20 USD', '1001/xbox-10 1 x xbox-10 USD'],
      flagged: ['1004 payment_unclear Order Status', '1005 payment_unclear Order Refund Amount'],
      skipped: 2,
    });
  });

  it('of Amazon are bought when they are paid, by the id of the item', async () => {
    const unshipped = [
      'order-id\torder-item-id\tpurchase-date\tpayments-date\tbuyer-email\tsku\tproduct-name\tquantity-purchased\tcurrency\titem-price',
      '058-1\t0581\t2026-11-01\t2026-11-01T10:00:00+00:00\ta@example.com\tSTEAM-20\tCard\t2\tEUR\t40.00',
      '058-1\t0582\t2026-11-01\t2026-11-01T10:00:00+00:00\ta@example.com\tXBOX-10\tCard\t1\tEUR\t10.00',
      '058-2\t0583\t2026-11-01\t\ta@example.com\tSTEAM-20\tCard\t1\tEUR\t20.00',
      '',
    ].join('\n');
    expect(await read(unshipped, { format: 'amazon_orders' })).toEqual({
      error: null,
      bought: ['058-1/0581 2 x steam-usd-20 EUR', '058-1/0582 1 x xbox-10 EUR'],
      flagged: [],
      skipped: 1,
    });
    const all = [
      'amazon-order-id\tpurchase-date\torder-status\tsales-channel\tsku\titem-status\tquantity\tcurrency\titem-price',
      '058-1\t2026-11-01\tUnshipped\tAmazon.de\tSTEAM-20\tUnshipped\t2\tEUR\t40.00',
      '058-2\t2026-11-01\tPending\tAmazon.de\tSTEAM-20\tUnshipped\t1\tEUR\t20.00',
      '058-3\t2026-11-01\tCancelled\tAmazon.de\tSTEAM-20\tCancelled\t0\tEUR\t',
      '058-4\t2026-11-01\tShipped\tAmazon.de\tSTEAM-20\tShipped\t1\tEUR\t20.00',
      '',
    ].join('\n');
    expect(await read(all, { format: 'amazon_orders' })).toEqual({
      error: null,
      bought: ['058-1/steam-20 2 x steam-usd-20 EUR'],
      flagged: ['058-4 payment_unclear order-status'],
      skipped: 2,
    });
  });

  it('of Etsy are bought when they are paid and not shipped', async () => {
    const content = `"Sale Date","Item Name",Buyer,Quantity,Price,"Coupon Code","Item Total",Currency,"Transaction ID","Listing ID","Date Paid","Date Shipped","Ship State","Order ID",Variations,"Order Type","Payment Type",SKU
11/01/26,Card,Ann,2,20.00,,40.00,USD,501,77,11/01/2026,,CA,9001,,online,online_cc,STEAM-20
11/01/26,Card,Ann,1,10.00,,10.00,USD,502,78,11/01/2026,,CA,9001,,online,online_cc,XBOX-10
11/01/26,Card,Bob,1,20.00,,20.00,USD,503,77,,,NY,9002,,online,online_cc,STEAM-20
11/01/26,Card,Cy,1,20.00,,20.00,USD,504,77,11/01/2026,11/02/2026,NY,9003,,online,online_cc,STEAM-20
`;
    expect(await read(content, { format: 'etsy_orders' })).toEqual({
      error: null,
      bought: ['9001/501 2 x steam-usd-20 USD', '9001/502 1 x xbox-10 USD'],
      flagged: ['9003 payment_unclear Date Shipped'],
      skipped: 1,
    });
  });
});

describe('a file of its own form', () => {
  const base = 'order_id,variant,currency';

  it.each([
    'Status',
    'Order Status',
    'Payment status',
    'Financial Status',
    'paid',
    'Paid at',
    'payments-date',
    'Cancelled at',
    'Refunded Amount',
    'Zahlungsstatus',
    'Bestellstatus',
    'bezahlt am',
    'Storniert',
    'Statut de paiement',
    'Payé',
    'Estado del pago',
    'Stato ordine',
    'Betaalstatus',
    'Статус заказа',
    '支払状況',
    '订单状态',
    'orderStatus',
    'Payment',
    'Zahlung',
    'Płatność',
    'Estado',
    'Balance due',
    'Rechnungsstatus',
    'Stornierung',
    'Remboursement',
    'Rimborso',
    'Returned',
    'Test order',
  ])(
    'is refused with a column that says whether a row is paid, until somebody says what it means: %s',
    async (name) => {
      const content = `${base},${name}\n1,v,USD,pending\n2,v,USD,Paid \n`;
      const { error, bought } = await read(content, {});
      expect([error, bought]).toEqual([expect.stringMatching(/^payment_column: /), []]);
      expect(error).toContain(`{ "${name}": [paid] }`);
      expect(error).toContain(`{ "${name}": null }`);
      expect(await read(content, { only: { [name]: ['paid'] } })).toMatchObject({
        bought: ['2/1 1 x v USD'],
        skipped: 1,
      });
      expect((await read(content, { only: { [name]: null } })).bought).toHaveLength(2);
    },
  );

  it.each([
    'Fulfillment Status',
    'Shipping status',
    'Payment method',
    'Zahlungsart',
    'Lieferstatus',
    'Tax status',
    'Ship State',
    'State',
    'Customer',
    'Status of stock',
    'Refund policy',
    'Payment provider',
    'Payment terms',
    'Zahlungsbedingung',
    'Medio de pago',
    'Name of the customer',
    'Contest',
  ])('is read with a column that says something else: %s', async (name) => {
    expect((await read(`${base},${name}\n1,v,USD,x\n`, {})).bought).toEqual(['1/1 1 x v USD']);
  });

  it('buys the rows that the configuration names, also where only the first row of an order says it', async () => {
    const content = `order_id,line_id,variant,currency,Status\n1,1,v,USD,PAID\n1,2,v,USD,\n2,1,v,USD,open\n2,2,v,USD,\n3,1,v,USD,\n`;
    expect(await read(content, { only: { status: ['paid'] } })).toEqual({
      error: null,
      bought: ['1/1 1 x v USD', '1/2 1 x v USD'],
      flagged: [],
      skipped: 3,
    });
  });

  it('is refused where a column is missing that the configuration names', async () => {
    const { error } = await read(`${base}\n1,v,USD\n`, { only: { Status: ['paid'] } });
    expect(error).toMatch(/^missing_column: The header has no "Status"/);
  });
});
