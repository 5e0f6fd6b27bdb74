import { join } from 'node:path';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import SqliteDatabase from 'better-sqlite3';
import { afterAll, expect, it } from 'vitest';
import type { FolderSettings } from '../../src/intake/folder/settings.ts';
import { FolderBench } from '../intake/folder/folder-bench.ts';

// Files as shops, marketplaces and spreadsheets write them, and as they really lie in the inbox:
// with what must be bought of each, and what must be told.

type File = readonly [name: string, content: string];

interface Row {
  readonly name: string;
  readonly file?: string;
  readonly content: string;
  /**
   * What comes some minutes later: new files, and files under their names again, or with the name
   * that they had.
   */
  readonly later?: readonly (File | readonly [name: string, content: string, had: string])[];
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
    content: csv(
      shopify,
      '#1,a@b.c,paid,USD,2,STEAM-20,pending,,0.00,web',
      '#1,a@b.c,,,1,XBOX-10,pending,,,',
    ),
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
    name: 'an export of WooCommerce with orders of an earlier one, which are completed now',
    content: csv('Order Number,Order Status,SKU,Quantity,Currency', '7,Processing,STEAM-20,2,USD'),
    later: [
      [
        'second.csv',
        csv(
          'Order Number,Order Status,SKU,Quantity,Currency',
          '7,Completed,STEAM-20,2,USD',
          '8,Completed,STEAM-20,1,USD',
        ),
      ],
    ],
    folder: ofFormat('woocommerce_orders'),
    bought: ['7/steam-20 2'],
    // Of order 8 nobody knows whether it was delivered.
    told: ['payment_unclear'],
  },
  {
    name: 'an export of Shopify with orders of an earlier one, which are fulfilled now',
    content: csv(shopify, '#1,a@b.c,paid,USD,2,STEAM-20,pending,,0.00,web'),
    later: [['second.csv', csv(shopify, '#1,a@b.c,paid,USD,2,STEAM-20,fulfilled,,0.00,web')]],
    folder: ofFormat('shopify_orders'),
    bought: ['#1/steam-20 2'],
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
    content: csv(
      'Bestellnummer;Artikel;Menge;Zahlungsstatus',
      '1001;STEAM-20;2;bezahlt',
      '1002;XBOX-10;1;offen',
    ),
    folder: {
      ...ofFormat('own', { Zahlungsstatus: ['bezahlt'] }),
      columns: { order_id: 'Bestellnummer', sku: 'Artikel', quantity: 'Menge' },
    },
    bought: ['1001/1 2'],
  },
  {
    name: 'a French file of Excel',
    content: csv(
      'N° de commande;Référence;Quantité;Statut',
      'C1;STEAM-20;2;Payée',
      'C2;XBOX-10;1;Annulée',
    ),
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

const two = (id: string): string => csv('order_id,sku,quantity', `${id},STEAM-20,2`);
const again = (first: string, second: string, expected: Pick<Row, 'bought' | 'told'>): Row => ({
  name: `the order ${first}, and then ${second}`,
  content: two(first),
  later: [['second.csv', two(second)]],
  ...expected,
});
const once = (bought: string) => ({ bought: [bought], told: ['id_mangled'] });
const ids: readonly Row[] = [
  { name: 'an apostrophe before an id', content: two("'0027001"), bought: ['0027001/1 2'] },
  { name: 'an id as a formula', content: two('="0027001"'), bought: ['0027001/1 2'] },
  { name: 'an id as a quoted formula', content: two('"=""0027001"""'), bought: ['0027001/1 2'] },
  { name: 'a tab before an id', content: two('\t0027001'), bought: ['0027001/1 2'] },
  {
    name: 'a SKU as a formula',
    content: csv('order_id,sku,quantity', '1,="STEAM-20",2'),
    bought: ['1/1 2'],
  },
  {
    name: 'a quantity as a text',
    content: csv('order_id,sku,quantity', "1,STEAM-20,'2"),
    bought: ['1/1 2'],
  },
  { name: 'an id as a power', content: two('1.94512E+11'), bought: [], told: ['id_mangled'] },
  again("'0027001", '0027001', { bought: ['0027001/1 2'] }),
  again('0027001', '27001', once('0027001/1 2')),
  again('27001', '0027001', once('27001/1 2')),
  again('27001', '27001.0', once('27001/1 2')),
  again('27001.0', '27001', once('27001.0/1 2')),
  again('0027001', '27001.00', once('0027001/1 2')),
  again('00027001', '0027001', once('00027001/1 2')),
  {
    name: 'the same id with and without zeros in one file',
    content: csv('order_id,sku,quantity', '0027001,STEAM-20,2', '27001,STEAM-20,2'),
    ...once('0027001/1 2'),
  },
  {
    name: 'a flagged id that is sent once more',
    content: two('0027001'),
    later: [
      ['second.csv', two('27001')],
      ['third.csv', two('27001')],
    ],
    bought: ['0027001/1 2'],
    told: ['id_mangled'],
  },
  {
    name: 'a line id that lost its zero',
    content: csv('order_id,line_id,sku,quantity', '7,01,STEAM-20,2'),
    later: [['second.csv', csv('order_id,line_id,sku,quantity', '7,1,STEAM-20,2')]],
    ...once('7/01 2'),
  },
  again('27001', '27002', { bought: ['27001/1 2', '27002/1 2'] }),
  again('100', '10', { bought: ['100/1 2', '10/1 2'] }),
  again('A-01', 'A-1', { bought: ['A-01/1 2', 'A-1/1 2'] }),
  again('#1001', '1001', { bought: ['#1001/1 2', '1001/1 2'] }),
  again('1.5', '15', { bought: ['1.5/1 2', '15/1 2'] }),
  again('0', '00', { bought: ['0/1 2', '00/1 2'] }),
  {
    ...again('007', '7', { bought: ['007/1 2', '7/1 2'] }),
    name: 'zeros that are the shop’s own',
    folder: { allowMangledIds: true },
  },
];

const ofSource = (source: string, name = 'Source'): Row => ({
  name: `a column ${name} with ${source}`,
  content: csv(`order_id,sku,quantity,${name}`, `1,STEAM-20,2,${source}`),
  bought: [],
  told: ['unknown_source'],
});
const several = { source: 'main', sources: ['main', 'shop2'] };
const sources: readonly Row[] = [
  ...['web', 'pos', '580111', 'shopify_draft_order', 'Facebook & Instagram'].map((text) =>
    ofSource(text),
  ),
  ofSource('web', 'SOURCE'),
  ofSource('google', ' source '),
  {
    name: 'a source in the first row of an order only',
    content: csv('order_id,line_id,sku,quantity,Source', '1,1,STEAM-20,2,web', '1,2,XBOX-10,1,'),
    bought: [],
    told: ['unknown_source'],
  },
  {
    name: 'a source under the name that the folder gives, and none of its sources',
    content: csv('order_id,sku,quantity,Shop', '1,STEAM-20,2,berlin'),
    folder: { columns: { source: 'Shop' } },
    bought: [],
    told: ['unknown_source'],
  },
  {
    name: 'one source that the folder does not list, beside one that it does',
    content: csv(
      'order_id,sku,quantity,source',
      '1,STEAM-20,2,shop2',
      '2,STEAM-20,1,shop3',
      '3,STEAM-20,1,',
    ),
    folder: several,
    bought: ['1/1 2', '3/1 1'],
    told: ['unknown_source'],
  },
  {
    name: 'the sources that the folder lists',
    content: csv('order_id,sku,quantity,source', '1,STEAM-20,2,shop2', '1,STEAM-20,1,main'),
    folder: several,
    bought: ['1/1 2', '1/1 1'],
  },
  { ...ofSource('folder'), name: 'the only source of the folder', bought: ['1/1 2'], told: [] },
  { ...ofSource(''), name: 'an empty source', bought: ['1/1 2'], told: [] },
  {
    ...ofSource('web'),
    name: 'a source that is none',
    folder: { columns: { source: null } },
    bought: ['1/1 2'],
    told: [],
  },
  { ...ofSource('web', 'Traffic source'), bought: ['1/1 2'], told: [] },
];

const whole = csv('order_id,sku,quantity', '1,STEAM-20,2', '2,XBOX-10,1');
const twoBought = ['1/1 2', '2/1 1'];
const partly = (name: string, content: string, file = 'orders.csv', complete = whole): Row => ({
  name,
  file,
  content,
  later: [[file, complete]],
  folder: { unfinishedMs: 600_000 },
  bought: twoBought,
});
const json = JSON.stringify(
  [
    ['1', 'steam-usd-20', 2],
    ['2', 'x-10', 1],
  ].map(([id, variant, quantity]) => {
    return { order_id: id, lines: [{ line_id: '1', type: 'gift_card_order', variant, quantity }] };
  }),
);
const renamed = (temporary: string): Row => ({
  name: `an upload under ${temporary}`,
  file: temporary,
  content: whole.slice(0, 40),
  later: [['orders.csv', whole, temporary]],
  folder: { unfinishedMs: 600_000 },
  bought: twoBought,
});
const stays = (name: string): Row => ({
  name: `${name}, which is no order`,
  file: name,
  content: 'x',
  bought: [],
});
const writers: readonly Row[] = [
  partly('nothing yet', ''),
  partly('a header so far', 'order_id,sku,quantity\n'),
  partly('a part of the header so far', 'order_id,sk'),
  partly('a part of a row so far', whole.slice(0, -4)),
  partly('an open quote so far', 'order_id,sku,quantity\n1,"STEAM'),
  partly('a part of JSON so far', json.slice(0, 60), 'orders.json', json),
  ...[
    'orders.csv.uploading',
    'orders.inprogress',
    'orders.csv.temp',
    'orders.upload',
    'orders.csv.!qB',
    'orders.crdownload',
    'orders',
  ].map(renamed),
  ...[
    'Thumbs.db',
    'desktop.ini',
    '.DS_Store',
    '~$orders.xlsx',
    '.~lock.orders.csv#',
    'orders.csv~',
  ].map(stays),
  {
    name: 'a file that is no order file',
    file: 'invoice.pdf',
    content: 'x',
    bought: [],
    told: ['unknown_extension'],
  },
  {
    name: 'a file that is no order file, and comes again and again',
    file: 'log.bak',
    content: '1',
    later: ['2', '3', '4', '5'].map((content) => ['log.bak', content] as const),
    bought: [],
    told: ['unknown_extension'],
  },
];

const beside = (
  name: string,
  rows: readonly string[],
  told: readonly string[],
  bought: readonly string[] = [],
): Row => ({
  name,
  content: csv('order_id,sku,quantity,note', '1,STEAM-20,2,', ...rows, '2,XBOX-10,1,'),
  bought: ['1/1 2', ...bought, '2/1 1'],
  told,
});
const broken: readonly Row[] = [
  beside(
    'a message with a line break and no quotes',
    ['9,STEAM-20,1,Dear', 'Ann, Bob, Carl, bye'],
    ['invalid_field'],
    ['9/1 1'],
  ),
  beside(
    'a message with several line breaks and no quotes',
    ['9,STEAM-20,1,Dear', 'Ann,', 'and Bob'],
    ['wrong_cell_count', 'wrong_cell_count'],
    ['9/1 1'],
  ),
  beside('a row with too few cells', ['9,STEAM-20'], ['wrong_cell_count']),
  beside('a row with too many cells', ['9,STEAM-20,1,a,b'], ['wrong_cell_count']),
  beside('a row of totals', ['Total,,3,'], ['totals_row']),
  beside('a quantity that is no number', ['9,STEAM-20,two,'], ['invalid_field']),
  beside('a quantity of 0', ['9,STEAM-20,0,'], ['invalid_field']),
  beside('a row without an id', [',STEAM-20,1,'], ['missing_field']),
  beside(
    'a message in quotes with a line break and commas',
    ['3,XBOX-10,1,"Dear', 'Ann, Bob, and', 'Carl, bye"'],
    [],
    ['3/1 1'],
  ),
  beside('empty rows', [',,,', '', ',,,'], []),
  {
    name: 'a first line "sep=;" in quotes',
    content: csv('"sep=;"', 'order_id;sku;quantity', '1;STEAM-20;2'),
    bought: ['1/1 2'],
  },
  { name: 'Ctrl-Z at the end', content: `${whole}\x1a`, bought: twoBought },
  { name: 'a byte order mark', content: `\ufeff${whole}`, bought: twoBought },
  { name: 'lines that end in CR', content: whole.replaceAll('\n', '\r'), bought: twoBought },
  {
    name: 'tabs in a .tsv file',
    file: 'orders.tsv',
    content: whole.replaceAll(',', '\t'),
    bought: twoBought,
  },
  {
    name: 'a stray quote that swallows the next rows',
    content: csv(
      'order_id,sku,quantity,note',
      '1,STEAM-20,2,"a',
      '8,STEAM-20,1,b',
      '9,STEAM-20,1,c"',
      '2,XBOX-10,1,',
    ),
    bought: ['2/1 1'],
    told: ['suspicious_quote'],
  },
];

async function outcomeOf({ file = 'orders.csv', content, later = [], folder = {} }: Row) {
  const bench = new FolderBench({ currency: 'USD', skuMap, ...folder });
  const at = (name: string): string => join(bench.config.inbox, name);
  try {
    await bench.intake.scanOnce();
    for (const [name, text, had] of [[file, content] as const, ...later]) {
      if (had !== undefined && existsSync(at(had))) renameSync(at(had), at(name));
      writeFileSync(at(name), text);
      for (let scans = 0; scans < 3; scans += 1) {
        await bench.intake.scanOnce();
        bench.clock.advance(60_000);
      }
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
  ['buys one order once, also when a spreadsheet changed its id', ids],
  ['takes no text of a shop for a source', sources],
  ['leaves a file to its writer until it is complete', writers],
  ['rejects a broken row alone', broken],
])('a watched folder %s', async (_, rows) => {
  const outcomes: Record<string, unknown> = {};
  const wanted: Record<string, unknown> = {};
  for (const row of rows) {
    outcomes[row.name] = await outcomeOf(row);
    wanted[row.name] = { bought: row.bought, told: row.told ?? [] };
  }
  expect(outcomes).toEqual(wanted);
});
