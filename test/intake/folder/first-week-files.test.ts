import { join } from 'node:path';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import SqliteDatabase from 'better-sqlite3';
import { afterAll, expect, it } from 'vitest';
import type { FolderSettings } from '../../../src/intake/folder/settings.ts';
import { FolderBench } from './folder-bench.ts';

// Files as shops and spreadsheets write them one after the other: what must be bought of each, and
// what must be told.

type File = readonly [name: string, content: string];

interface Row {
  readonly name: string;
  readonly file?: string;
  readonly content: string;
  /** What comes some minutes later: new files, and files under their names again. */
  readonly later?: readonly File[];
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
const ofFormat = (name: string, only: FolderSettings['only'] = {}) => ({ format: name, only });

const shopify =
  'Name,Email,Financial Status,Currency,Lineitem quantity,Lineitem sku,Lineitem fulfillment status,Cancelled at,Refunded Amount,Source';
const exports: readonly Row[] = [
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
const odd: readonly Row[] = [
  {
    name: 'a row of totals',
    content: csv('order_id,sku,quantity', '1,STEAM-20,2', 'Total,,3', '2,XBOX-10,1'),
    bought: twoBought,
    told: ['totals_row'],
  },
  { name: 'empty rows', content: whole.replace('\n2', '\n,,\n\n,,\n2'), bought: twoBought },
  {
    name: 'a first line "sep=;" in quotes',
    content: csv('"sep=;"', 'order_id;sku;quantity', '1;STEAM-20;2'),
    bought: ['1/1 2'],
  },
  { name: 'Ctrl-Z at the end', content: `${whole}\x1a`, bought: twoBought },
  {
    name: 'tabs in a .tsv file',
    file: 'orders.tsv',
    content: whole.replaceAll(',', '\t'),
    bought: twoBought,
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

async function outcomeOf({ file = 'orders.csv', content, later = [], folder = {} }: Row) {
  const bench = new FolderBench({ currency: 'USD', skuMap, ...folder });
  const at = (name: string): string => join(bench.config.inbox, name);
  try {
    await bench.intake.scanOnce();
    for (const [name, text] of [[file, content] as const, ...later]) {
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
  ['knows the orders of an earlier export', exports],
  ['buys one order once, also when a spreadsheet changed its id', ids],
  ['takes no text of a shop for a source', sources],
  ['reads what programs put around rows', odd],
])('a watched folder %s', async (_, rows) => {
  const outcomes: Record<string, unknown> = {};
  const wanted: Record<string, unknown> = {};
  for (const row of rows) {
    outcomes[row.name] = await outcomeOf(row);
    wanted[row.name] = { bought: row.bought, told: row.told ?? [] };
  }
  expect(outcomes).toEqual(wanted);
});
