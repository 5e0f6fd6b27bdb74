import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readSkuMap } from '../../src/storefronts/sku-file.ts';
import { FolderBench } from '../intake/folder/folder-bench.ts';
import { readDocument } from '../intake/orders/read-document.ts';
import { installation, knownInstallation, type Installation } from './installation.ts';
import { fillOutbox } from './sample-outbox.ts';

/*
 * The mistakes that people make in the first hour: none is silent, and none misleads. Each row says
 * what was done, and what the program must say of it: the place, the rule, the value, the next
 * step. Mistakes of order files follow below. What only an API or its environment shows stands in
 * `doctor.test.ts` (a wrong key, a path too much, a currency without a price) and in
 * `test/config/unused-variables.test.ts`.
 */

const text = `instance: acme
data_dir: DIR/data
wholesale:
  base_url: https://api.example.com
  keys: [{ name: main, value: file:DIR/key }]
admin: { listen: 127.0.0.1:0 }
`;
const webhook = (rest: string) =>
  `intake: { webhook: { listen: "127.0.0.1:9095", standard_webhooks: [{ name: a, secret: file:DIR/whsec }]${rest} } }\n`;
const folder = (rest: string) => `${text}intake: { folders: [{ name: folder, ${rest} }] }\n`;

function placeOf(config: string, key: string | Buffer | null = 'sk-main'): Installation {
  const place = installation((dir) => config.replaceAll('DIR', dir));
  if (key !== null) writeFileSync(join(place.folder, 'key'), key, { mode: 0o600 });
  writeFileSync(join(place.folder, 'whsec'), `whsec_${Buffer.alloc(32, 1).toString('base64')}`, {
    mode: 0o600,
  });
  return place;
}

const keyPlace = /:5:31 wholesale\.keys\.0\.value must name a file /;

const keys: readonly [string, string | Buffer | null, RegExp][] = [
  ['with a byte order mark', '\uFEFFsk-main', /printable ASCII/],
  ['with two line ends', 'sk-main\n\n', /one line of printable ASCII/],
  ['with a space', 'sk main', /without spaces/],
  ['in UTF-16', Buffer.from('sk-main', 'utf16le'), /printable ASCII/],
  ['that is empty', '', /that is not empty/],
  ['that is not there', null, /can be read \(ENOENT\)/],
];

describe('a file with a key', () => {
  it.each(keys)('%s', async (_what, key, rule) => {
    const { code, stderr } = await placeOf(text, key).run('check-config');
    expect(code).toBe(3);
    expect(stderr).toMatch(keyPlace);
    expect(stderr).toMatch(rule);
  });

  it('that is a folder, and one that ends as Windows ends lines', async () => {
    const place = placeOf(text, null);
    mkdirSync(join(place.folder, 'key'));
    expect((await place.run('check-config')).stderr).toMatch(
      /wholesale\.keys\.0\.value .*\(EISDIR\)/,
    );
    expect((await placeOf(text, 'sk-main\r\n').run('check-config')).code).toBe(0);
  });
});

const line = (from: string, to: string) => text.replace(from, to);
const configs: readonly [string, string, RegExp][] = [
  [
    'a tab',
    line('  base_url', '\tbase_url').replace('  keys', '\tkeys'),
    /:4:1 is not valid YAML: Tabs/,
  ],
  [
    'a mistyped key',
    `${text}submitt: {}\n`,
    /:7:1 submitt is no key of this version; did you mean "submit"\?/,
  ],
  ['an address without TLS', line('https:', 'http:'), /:4:13 wholesale\.base_url must be https/],
  [
    'an address with a query',
    line('.com', '.com?key=1'),
    /base_url .*without user, query or fragment/,
  ],
  [
    'text for a number',
    `${text}submit: { concurrency: many }\n`,
    /submit\.concurrency must be a whole number, got "many"/,
  ],
  [
    'a port that is none',
    line('127.0.0.1:0', '127.0.0.1:240020'),
    /admin\.listen must be .*240020/,
  ],
  [
    'a key that is there twice',
    `${text}instance: b\n`,
    /:7:1 is not valid YAML: Map keys must be unique/,
  ],
  ['a word that is no policy', `${text}init: yes\n`, /init must be one of never, if-missing, got/],
  ['an empty instance', line('acme', '""'), /instance must be 1 to 64 characters of/],
  ['an instance with a space', line('acme', 'a b'), /:1:11 instance must .*got "a b"/],
  [
    'more orders than requests',
    line('keys:', 'limits: { orders: 99 }\n  keys:'),
    /limits\.orders must be at most `requests`/,
  ],
  [
    'a secret in the file',
    line('value: file:DIR/key', 'value: sk-live'),
    /wholesale\.keys\.0\.value /,
  ],
  [
    'a SKU map that is not there',
    folder('sku_map: DIR/skus.yaml'),
    /skus\.yaml .*cannot be read: ENOENT/,
  ],
  [
    'a currency in small letters',
    folder('currency: usd'),
    /intake\.folders\.0\.currency must .*got "usd"/,
  ],
  ['a sign for a currency', folder('currency: $'), /intake\.folders\.0\.currency must .*got "\$"/],
  [
    'two listeners on one port',
    `${line('127.0.0.1:0', '127.0.0.1:9095')}${webhook('')}`,
    /listen must have another port than admin\.listen/,
  ],
  [
    'an archive that is the inbox',
    folder('archive: DIR/data/inbox'),
    /intake\.folders\.0\.archive needs a folder that is not inside/,
  ],
  [
    'results in the inbox',
    `${text}results: { folder: DIR/data/inbox }\n`,
    /results\.folder needs a folder that is not inside/,
  ],
];

describe('a configuration with', () => {
  it.each(configs)('%s', async (_what, config, rule) => {
    const { code, stderr } = await placeOf(config).run('check-config');
    expect([code, stderr]).toEqual([3, expect.stringMatching(rule)]);
  });

  it('tabs in many lines: one mistake, in the configuration and in a SKU map', async () => {
    const tabs = `${text}intake:\n\twebhook: {}\n\tfolder:\n\t\tcurrency: USD\n`;
    const { stderr } = await placeOf(tabs).run('check-config');
    expect(stderr.match(/Tabs/g)).toHaveLength(1);
    const place = placeOf(folder('sku_map: DIR/skus.yaml'));
    writeFileSync(
      join(place.folder, 'skus.yaml'),
      'skus:\n\tA: { variant: v }\n\tB:\n\t\tvariant: v\n',
    );
    const { code, stderr: ofMap } = await place.run('check-config');
    expect([
      code,
      ofMap.match(/skus\.yaml:2.*Tabs/g)?.length,
      ofMap.match(/Tabs/g)?.length,
    ]).toEqual([3, 1, 1]);
  });

  it('a slash at the end of the address is as good as without', async () => {
    expect((await placeOf(line('.com', '.com/')).run('check-config')).code).toBe(0);
  });

  it('an empty SKU map', async () => {
    const place = placeOf(folder('sku_map: DIR/skus.yaml'));
    writeFileSync(join(place.folder, 'skus.yaml'), 'skus:\n');
    for (const command of ['check-config', 'doctor', 'init']) {
      const { code, stdout, stderr } = await place.run(command);
      expect(code).not.toBe(0);
      expect(stdout + stderr).toContain('names no SKU: add at least one');
    }
  });

  it('an inbox on another mount, from which no file can be moved', async () => {
    const other = `/tmp/order-sync-mount-${process.pid}`;
    const place = placeOf(
      folder(`inbox: ${other}, archive: DIR/data/archive, rejected: DIR/data/rejected`),
    );
    onTestFinished(() => rmSync(other, { recursive: true, force: true }));
    // Where both are on one mount, there is no mistake.
    const isOther = statSync('/tmp').dev !== statSync(place.folder).dev;
    const words = `intake.folders.0.inbox is on another mount than ${place.dataDir}/archive, ${place.dataDir}/rejected`;
    expect((await place.run('init')).code).toBe(0);
    const { code, stderr } = await place.run('check-config');
    expect([code, stderr.includes(words)]).toEqual(isOther ? [3, true] : [0, false]);
    expect((await place.run('doctor')).stdout).toContain(
      isOther ? `fail  folders: ${words}` : 'pass  folders',
    );
  });
});

describe('a command', () => {
  it('for many orders of a shop that nobody knows names those that are known', async () => {
    const outbox = knownInstallation();
    await fillOutbox(outbox);
    const { code, stderr } = await outbox.run(
      'orders',
      'hold',
      '--source',
      'shop2',
      '--reason',
      'a test',
      '--yes',
    );
    expect(code).toBe(4);
    expect(stderr).toContain('No order comes from the source "shop2"');
    expect(stderr).toContain('the sources of orders are shop1');
    const known = await outbox.run(
      'orders',
      'hold',
      '--source',
      'shop1',
      '--code',
      'none',
      '--dry-run',
    );
    expect(known).toMatchObject({ code: 0, stdout: 'no entries match\n' });
  });
});

const skus = readSkuMap(
  'skus: { STEAM-20: { type: gift_card_order, variant: v, currency: USD } }',
  'yaml',
);
const head = 'order_id,variant,quantity,currency';

/** What is bought of each: files as spreadsheets make them. */
const accepted: readonly [string, string][] = [
  ['a byte order mark and semicolons', `\uFEFF${head.replaceAll(',', ';')}\r\n1;v;1;USD\r\n`],
  ['empty lines', `\n${head}\n\n1,v,1,USD\n\n`],
  ['a line end in quotes', `${head},note\n1,v,1,USD,"a\nb"\n`],
  ['a first line that names the separator', `sep=;\n${head.replaceAll(',', ';')}\n1;v;1;USD\n`],
  [
    'a first line in quotes that names the separator',
    `"sep=;"\r\n${head.replaceAll(',', ';')}\r\n1;v;1;USD\r\n`,
  ],
  ['a Ctrl-Z at its end', `${head}\r\n1,v,1,USD\r\n\x1a`],
  ['a block of Ctrl-Z at its end', `${head}\r\n1,v,1,USD\r\n${'\x1a'.repeat(100)}`],
  ['tabs', `${head}\n1,v,1,USD\n`.replaceAll(',', '\t')],
  ['line ends of an old Mac', `${head}\r1,v,1,USD\r`],
];

/** The code, and words of the rule and of the next step. */
const files: readonly [string, string | Buffer, string, RegExp][] = [
  [
    'Latin-1',
    Buffer.from(`${head},n\n1,v,1,USD,\xe4\n`, 'latin1'),
    'encoding_not_utf8',
    /0xE4.*Latin-1.*CSV UTF-8/,
  ],
  ['UTF-16', Buffer.from(`${head}\n1,v,1,USD\n`, 'utf16le'), 'encoding_utf16', /CSV UTF-8/],
  [
    'a workbook named .csv',
    Buffer.from('PK\x03\x04\x00\x00'),
    'spreadsheet_file',
    /workbook.*CSV UTF-8/,
  ],
  [
    'a web page',
    '<!doctype html><html></html>',
    'html_document',
    /HTML.*sign-in.*export the orders again/,
  ],
  [
    'no header',
    '1005,steam-usd-20,1,USD\n',
    'missing_column',
    /the file has no header.*order_id,variant,currency/,
  ],
  [
    'German names',
    'Bestellnummer;Artikel;Anzahl\n1;v;1\n',
    'missing_column',
    /has no order_id.*intake\.folders\[\]\.columns/,
  ],
  // The worker took the first part as a file; the writer then began another one with the same name.
  [
    'the rest of a slow file',
    '7,v,1,USD\n8,v,1,USD\n',
    'missing_column',
    /rest of a file.*until it is complete/,
  ],
  [
    'a rest from within a row',
    'USD\n8,v,1,USD\n',
    'missing_column',
    /rest of a file.*until it is complete/,
  ],
  [
    'a short name',
    'order_id,variant,qty,currency\n1,v,1,USD\n',
    'unknown_column',
    /"qty".*did you mean quantity/,
  ],
  [
    'a mistyped name',
    'order_id,varaint,currency\n1,v,USD\n',
    'unknown_column',
    /did you mean variant/,
  ],
  [
    'names of a shop',
    'Order Number,SKU,Item Name,Total\n1,v,n,5\n',
    'unknown_column',
    /"Order Number".*did you mean order_id.*columns to \{ order_id: "Order Number" \}/,
  ],
  [
    'names that nobody knows',
    'Foo,Bar\n1,v\n',
    'missing_column',
    /has no order_id.*It has "Foo", "Bar"\./,
  ],
  ['pipes', 'order_id|variant|currency\n1|v|USD\n', 'missing_column', /add a first line "sep=\|"/],
  [
    'a name twice',
    'order_id,variant,variant,currency\n1,v,v,USD\n',
    'duplicate_column',
    /"variant" twice/,
  ],
  ['an open quote', `${head}\n1,"v,1,USD\n`, 'unclosed_quote', /quote/],
  [
    '60,000 rows',
    `${head}\n${'1,v,1,USD\n'.repeat(60_000)}`,
    'too_many_rows',
    /at most 50000 order lines/,
  ],
  ['nothing', '', 'empty', /./],
];

const lines: readonly [string, string, string, RegExp][] = [
  ['a quote within a cell', `${head}\n1,v"x,1,USD\n`, 'misplaced_quote', /whole cell in quotes/],
  ['1,0 for a quantity', `${head}\n1,v,"1,0",USD\n`, 'invalid_field', /quantity.*"?1,0/],
  ['1.000 for a quantity', `${head}\n1,v,1.000,USD\n`, 'invalid_field', /quantity.*1\.000/],
  ['2.0 for a quantity', `${head}\n1,v,2.0,USD\n`, 'invalid_field', /quantity.*2\.0/],
  [
    'an ICCID as a spreadsheet shows it',
    'order_id,plan,iccid,currency\n1,p,"8,99E+18",USD\n',
    'iccid_mangled',
    /8,99E\+18/,
  ],
  [
    'an ICCID that a spreadsheet has rounded',
    'order_id,plan,iccid,currency\n1,p,8999901000000000000,USD\n',
    'invalid_field',
    /wrong check digit/,
  ],
  ['no quantity', `${head}\n1,v,,USD\n`, 'missing_field', /quantity is required/],
  ['an order id as a spreadsheet shows it', `${head}\n1E+05,v,1,USD\n`, 'id_mangled', /1E\+05/],
  ['an order id that became a date', `${head}\n12.Jan,v,1,USD\n`, 'id_mangled', /12\.Jan/],
  ['a currency in small letters', `${head}\n1,v,1,usd\n`, 'invalid_field', /currency.*usd/],
  [
    'two rows of one order without line_id',
    `${head}\n1,v,1,USD\n1,v,1,USD\n`,
    'missing_field',
    /line_id/,
  ],
  [
    'a total',
    `${head}\n1,v,1,USD\nTotal,,37,\n`,
    'totals_row',
    /row of totals: it names no product/,
  ],
  [
    'totals of a German table',
    'order_id;variant;currency;Betrag\n1;v;USD;5\n"Summe";;;37,00\n',
    'totals_row',
    /row of totals/,
  ],
  ['totals without a word', `${head}\n1,v,1,USD\n,,37,USD\n`, 'totals_row', /row of totals/],
  ['a sign that nobody sees', `${head}\n1\u200B,v,1,USD\n`, 'invalid_field', /order_id/],
  ['a space that does not break', `${head}\n1\u00A0,v,1,USD\n`, 'invalid_field', /order_id/],
  ['a SKU without its hyphen', 'order_id,sku\n1,STEAM20\n', 'unknown_sku', /which has "STEAM-20"/],
  [
    'a SKU as a number of a spreadsheet',
    'order_id,sku\n1,1.94512E+11\n',
    'id_mangled',
    /changed by a spreadsheet/,
  ],
  ['a variant that became a date', `${head}\n1,12.Jan,1,USD\n`, 'id_mangled', /12\.Jan/],
];

/** By its name: what becomes of it, and the words of its report. */
const names: readonly [string, string, RegExp][] = [
  ['a name in capitals', 'ORDERS.CSV', /^bought 1$/],
  ['the name of a copy', 'orders (1).csv', /^bought 1$/],
  ['the name of a text', 'orders.TXT', /^bought 1$/],
  ['the name of a letter', 'orders.doc', /unknown_extension.*\.csv/],
  ['the name of a workbook', 'orders.xlsx', /unknown_extension.*Save a workbook as \\"CSV UTF-8/],
];

/** The order that the shop gets a result for. */
const orders: readonly [string, string, string | null][] = [
  ['a total', `${head}\n1,v,1,USD\nTotal,,37,\n`, null],
  ['a short total', `${head}\n1,v,1,USD\nTotal,\n`, null],
  ['an order without its product', `${head}\n1,v,1,USD\nA-2,,1,USD\n`, 'A-2'],
  ['an order in letters', `${head}\n1,v,1,USD\nfirst,v,0,USD\n`, 'first'],
];

describe('an order file with', () => {
  it.each(accepted)('%s is bought', async (_what, content) => {
    const { error, lines: bought, rejections } = await readDocument(content, 'csv');
    expect([error, rejections, bought.length]).toEqual([null, [], 1]);
  });

  it.each(files)('%s is refused, with what to do', async (_what, content, code, words) => {
    const { error } = await readDocument(content, 'csv');
    expect(error?.documentCode).toBe(code);
    expect(`${error?.message} ${error?.hint}`).toMatch(words);
  });

  it.each(names)('%s', async (_what, name, words) => {
    const bench = new FolderBench();
    onTestFinished(() => bench.close());
    await bench.intake.scanOnce();
    bench.drop(name, `${head}\n1,v,1,USD\n`);
    await bench.intake.scanOnce();
    const isRefused = bench.names('rejected').length > 0;
    expect(isRefused ? JSON.stringify(bench.report()) : `bought ${bench.entryCount()}`).toMatch(
      words,
    );
  });

  it.each(orders)('%s: the refused line is of this order', async (_what, content, orderId) => {
    const { rejections } = await readDocument(content, 'csv');
    expect(rejections.map((rejection) => rejection.orderId)).toEqual([orderId]);
  });

  it.each(lines)(
    '%s: the line is refused, with its field and value',
    async (_what, content, code, words) => {
      const { error, rejections } = await readDocument(content, 'csv', { skus });
      expect([error, rejections[0]?.code]).toEqual([null, code]);
      const [first] = rejections;
      expect(`${first?.field} ${first?.rule} ${first?.value}`).toMatch(words);
    },
  );
});
