import { join } from 'node:path';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import SqliteDatabase from 'better-sqlite3';
import { afterAll, expect, it } from 'vitest';
import type { FolderSettings } from '../../../src/intake/folder/settings.ts';
import { FolderBench } from '../../intake/folder/folder-bench.ts';

// Files as shops, marketplaces and spreadsheets write them, and as they really lie in the inbox: with what must be bought of each,
// and what must be told.

interface Row {
  readonly name: string;
  readonly file?: string;
  readonly content: string;
  readonly folder?: Partial<FolderSettings>;
  /** `order/line quantity` */
  readonly bought: readonly string[];
  /** The codes of what needs attention. */
  readonly told?: readonly string[];
}

const skus =
  'skus: { STEAM-20: { type: gift_card_order, variant: steam-usd-20 }, XBOX-10: { type: gift_card_order, variant: x-10 } }';
const place = mkdtempSync(join(tmpdir(), 'order-sync-skus-'));
const skuMap = join(place, 'skus.yaml');
writeFileSync(skuMap, skus);
afterAll(() => rmSync(place, { recursive: true }));
const csv = (...lines: string[]): string => `${lines.join('\n')}\n`;
const nothing = { bought: [], told: ['unclear_column'] };
const ofFormat = (name: string, only: FolderSettings['only'] = {}) => ({ format: name, only });

const quantities: readonly Row[] = [
  ...[
    'Lineitem quantity',
    'quantity-purchased',
    'qty_ordered',
    'Menge',
    'Cantidad',
    'Stückzahl',
    '数量',
    'Anzahl Artikel',
  ].map((name): Row => {
    const content = csv(`order_id,sku,${name}`, '1,STEAM-20,3', '2,XBOX-10,1');
    return { name: `quantities under ${name}`, content, ...nothing };
  }),
  {
    name: 'quantities that only the cells show',
    content: csv('order_id,sku,X7', '1,STEAM-20,3', '2,XBOX-10,1'),
    ...nothing,
  },
  {
    name: 'quantities that the folder names',
    content: csv('Bestellnr;SKU;Menge', '1;STEAM-20;3'),
    folder: { columns: { order_id: 'Bestellnr', quantity: 'Menge' } },
    bought: ['1/1 3'],
  },
  {
    name: 'rows that are each for one',
    content: csv('order_id,sku,Menge', '1,STEAM-20,3'),
    folder: { columns: { quantity: null } },
    bought: ['1/1 1'],
  },
  {
    name: 'prices beside no quantities',
    content: csv('order_id,sku,Price', '1,STEAM-20,20', '2,XBOX-10,10'),
    bought: ['1/1 1', '2/1 1'],
  },
];

const unpaid = (name: string, status: string, folder: Partial<FolderSettings> = {}): Row => ({
  name: `a column ${name} with ${status}`,
  content: csv(`order_id,sku,${name}`, `1,STEAM-20,${status}`),
  folder,
  bought: [],
  told: Object.keys(folder).length === 0 ? ['payment_column'] : [],
});
const payments: readonly Row[] = [
  unpaid('Status', 'pending'),
  unpaid('Financial Status', 'refunded'),
  unpaid('Zahlungsstatus', 'offen'),
  unpaid('Statut de paiement', 'en attente'),
  unpaid('Cancelled at', '2026-11-01'),
  unpaid('paid', 'no'),
  unpaid('Refunded Amount', '20.00'),
  unpaid('订单状态', '待付款'),
  unpaid('Status', 'open', ofFormat('own', { Status: ['paid'] })),
  {
    name: 'a paid row beside an unpaid one',
    content: csv('order_id,sku,Status', '1,STEAM-20,paid', '2,STEAM-20,open'),
    folder: ofFormat('own', { Status: ['paid'] }),
    bought: ['1/1 1'],
  },
  {
    name: 'a status that says nothing about payment',
    content: csv('order_id,sku,Status', '1,STEAM-20,VIP'),
    folder: ofFormat('own', { Status: null }),
    bought: ['1/1 1'],
  },
  {
    name: 'a status of the delivery',
    content: csv('order_id,sku,Shipping status', '1,STEAM-20,open'),
    bought: ['1/1 1'],
  },
];

const shopify =
  'Name,Email,Financial Status,Currency,Lineitem quantity,Lineitem sku,Lineitem fulfillment status,Cancelled at,Refunded Amount,Source';
const exports: readonly Row[] = [
  {
    name: 'an export of Shopify with two rows of an order',
    content: csv(shopify, '#1,a@b.c,paid,USD,2,STEAM-20,pending,,0.00,web', '#1,a@b.c,,,1,XBOX-10,pending,,,'),
    folder: ofFormat('shopify_orders'),
    bought: ['#1/steam-20 2', '#1/xbox-10 1'],
  },
  ...['pending', 'refunded', 'voided'].map((status): Row => {
    const content = csv(
      shopify,
      `#1,a@b.c,${status},USD,2,STEAM-20,pending,,0.00,web`,
      '#1,a@b.c,,,1,XBOX-10,pending,,,',
    );
    return {
      name: `an export of Shopify with a ${status} order`,
      content,
      folder: ofFormat('shopify_orders'),
      bought: [],
    };
  }),
  {
    name: 'an export of Shopify with a refund of a part',
    content: csv(shopify, '#1,a@b.c,partially_refunded,USD,2,STEAM-20,pending,,5.00,web'),
    folder: ofFormat('shopify_orders'),
    bought: [],
    told: ['payment_unclear'],
  },
  {
    name: 'an export of WooCommerce',
    content: csv(
      '"Order Number","Order Status",SKU,"Quantity (- Refund)","Order Currency"',
      '7,Processing,STEAM-20,2,USD',
      '8,"On hold",STEAM-20,1,USD',
    ),
    folder: ofFormat('woocommerce_orders'),
    bought: ['7/steam-20 2'],
  },
  {
    name: 'a report of Amazon',
    file: 'report.txt',
    content: csv(
      'order-id\torder-item-id\tpayments-date\tsku\tquantity-purchased\tcurrency',
      '058-1\t0581\t2026-11-01\tSTEAM-20\t2\tUSD',
      '058-2\t0582\t\tSTEAM-20\t1\tUSD',
    ),
    folder: ofFormat('amazon_orders'),
    bought: ['058-1/0581 2'],
  },
  {
    name: 'a report of Etsy',
    content: csv(
      'Quantity,Currency,Transaction ID,Date Paid,Date Shipped,Order ID,SKU',
      '2,USD,501,11/01/2026,,9001,STEAM-20',
      '1,USD,502,,,9002,STEAM-20',
    ),
    folder: ofFormat('etsy_orders'),
    bought: ['9001/501 2'],
  },
  {
    name: 'a German file of Excel',
    content: csv('Bestellnummer;Artikel;Menge;Zahlungsstatus', '1001;STEAM-20;2;bezahlt', '1002;XBOX-10;1;offen'),
    folder: {
      ...ofFormat('own', { Zahlungsstatus: ['bezahlt'] }),
      columns: { order_id: 'Bestellnummer', sku: 'Artikel', quantity: 'Menge' },
    },
    bought: ['1001/1 2'],
  },
  {
    name: 'a French file of Excel',
    content: csv('N° de commande;Référence;Quantité;Statut', 'C1;STEAM-20;2;Payée', 'C2;XBOX-10;1;Annulée'),
    folder: {
      ...ofFormat('own', { Statut: ['payée'] }),
      columns: { order_id: 'N° de commande', sku: 'Référence', quantity: 'Quantité' },
    },
    bought: ['C1/1 2'],
  },
  {
    name: 'a mixed shop that ignores other goods',
    content: csv('order_id,line_id,sku,quantity', '1,1,MUG,1', '1,2,STEAM-20,2'),
    folder: { unmatched: 'ignore' },
    bought: ['1/2 2'],
  },
];

async function outcomeOf({ file = 'orders.csv', content, folder = {} }: Row) {
  const bench = new FolderBench({ currency: 'USD', skuMap, ...folder });
  try {
    await bench.intake.scanOnce();
    bench.drop(file, content);
    for (let scans = 0; scans < 3; scans += 1) {
      await bench.intake.scanOnce();
      bench.clock.advance(3000);
    }
    const database = new SqliteDatabase(join(bench.root, 'order-sync.db'), { readonly: true });
    const lines = database
      .prepare<[], { text: string }>(
        "SELECT r.order_id || '/' || l.line_id || ' ' || l.quantity AS text FROM lines l JOIN requests r ON r.id = l.request_id ORDER BY l.id",
      )
      .all();
    database.close();
    const told = bench.store.read.attention(20).flatMap(({ code }) => code ?? []);
    return { bought: lines.map(({ text }) => text), told };
  } finally {
    await bench.close();
  }
}

it.each([
  ['never buys another quantity than the file says', quantities],
  ['buys no row that is not paid', payments],
  ['reads the exports of shops', exports],
])('a watched folder %s', async (_, rows) => {
  const outcomes: Record<string, unknown> = {};
  const wanted: Record<string, unknown> = {};
  for (const row of rows) {
    outcomes[row.name] = await outcomeOf(row);
    wanted[row.name] = { bought: row.bought, told: row.told ?? [] };
  }
  expect(outcomes).toEqual(wanted);
});
