import { describe, expect, it } from 'vitest';
import { csvHeader } from '../folder/folder-bench.ts';
import { type Refused, readDocument } from './read-document.ts';

const iccid = '8999901000000000013';
const goodRow = 'good,1,gift_card_order,gift-us-25,,,1,,USD';
const goodOrder =
  '{"order_id":"good","currency":"USD","lines":[{"line_id":"1","type":"gift_card_order","variant":"v","quantity":1}]}';

type Expected = Partial<Refused> & { says?: RegExp };

function only({ says, ...fields }: Expected): unknown {
  return [expect.objectContaining({ rule: expect.stringMatching(says ?? /./), ...fields })];
}

const rows: [string, string, Expected][] = [
  [
    'a quantity of zero',
    'o,1,gift_card_order,v,,,0,,USD',
    { code: 'invalid_field', field: 'quantity', value: '0', says: /at least 1/ },
  ],
  [
    'a quantity that is not a number',
    'o,1,gift_card_order,v,,,two,,USD',
    { field: 'quantity', value: 'two', says: /digits/ },
  ],
  [
    'a quantity with decimals, as spreadsheets write them',
    'o,1,gift_card_order,v,,,2.0,,USD',
    { field: 'quantity', value: '2.0' },
  ],
  ['a quantity with a sign', 'o,1,gift_card_order,v,,,+2,,USD', { field: 'quantity' }],
  ['a quantity in powers of ten', 'o,1,gift_card_order,v,,,1e1,,USD', { field: 'quantity' }],
  ['a quantity with a space', 'o,1,gift_card_order,v,,, 2,,USD', { field: 'quantity' }],
  ['a quantity in other digits', 'o,1,gift_card_order,v,,,٢,,USD', { field: 'quantity' }],
  [
    'an absurd quantity',
    'o,1,gift_card_order,v,,,99999999999999999999,,USD',
    { field: 'quantity' },
  ],
  [
    'no quantity in a column of quantities',
    'o,1,gift_card_order,v,,,,,USD',
    { code: 'missing_field', field: 'quantity', value: null, says: /required/ },
  ],
  [
    'more eSIMs than one order may have',
    'o,1,esim_order,,p,,31,7,USD',
    { field: 'quantity', value: '31', says: /at most 30/ },
  ],
  ['days that are not whole', 'o,1,esim_order,,p,,1,1.5,USD', { field: 'days', value: '1.5' }],
  [
    'days for a gift card',
    'o,1,gift_card_order,v,,,1,7,USD',
    { code: 'unknown_field', field: 'days', says: /not a field of gift_card_order/ },
  ],
  [
    'an unknown type',
    'o,1,giftcard_order,v,,,1,,USD',
    { field: 'type', says: /did you mean gift_card_order/ },
  ],
  [
    'no type and no product',
    'o,1,,,,,1,,USD',
    { code: 'missing_field', field: 'type', says: /variant or plan/ },
  ],
  [
    'no order id',
    ',1,gift_card_order,v,,,1,,USD',
    { code: 'missing_field', field: 'order_id', orderId: null },
  ],
  [
    'a line id with an invisible character, which the corrected line will not have',
    'o,1\u200b,gift_card_order,v,,,1,,USD',
    { field: 'line_id', orderId: 'o', lineId: null, product: 'v', says: /invisible/ },
  ],
  [
    'an order id with a space at its end',
    'o ,1,gift_card_order,v,,,1,,USD',
    { field: 'order_id', orderId: null, says: /space/ },
  ],
  [
    'an order id of more than 128 characters',
    `${'o'.repeat(129)},1,gift_card_order,v,,,1,,USD`,
    { field: 'order_id', orderId: null },
  ],
  ['no currency', 'o,1,gift_card_order,v,,,1,,', { code: 'missing_field', field: 'currency' }],
  [
    'a currency in small letters',
    'o,1,gift_card_order,v,,,1,,usd',
    { field: 'currency', value: 'usd' },
  ],
  [
    'an ICCID that a spreadsheet made a number of',
    'o,1,esim_cancel,,,8.98E+18,,,',
    { code: 'iccid_mangled', field: 'iccid', value: '8.98E+18', says: /spreadsheet/ },
  ],
  [
    'an ICCID that a spreadsheet of another country made a number of',
    'o,1,esim_cancel,,,"8,98E+18",,,',
    { code: 'iccid_mangled' },
  ],
  [
    'an ICCID with a mistyped digit',
    'o,1,esim_cancel,,,8999901000000000014,,,',
    { field: 'iccid', says: /check digit/ },
  ],
  ['an ICCID with a letter', 'o,1,esim_cancel,,,899990100000000001F,,,', { field: 'iccid' }],
  ['an ICCID that is too short', 'o,1,esim_cancel,,,123,,,', { field: 'iccid', says: /18 to 22/ }],
  [
    'too few cells',
    'o,1,gift_card_order,v,,,1,',
    { code: 'wrong_cell_count', says: /8 cells, but the header has 9/ },
  ],
  [
    'too many cells',
    'o,1,gift_card_order,v,,,1,,USD,',
    { code: 'wrong_cell_count', says: /10 cells/ },
  ],
];

describe('a CSV row with a mistake is rejected alone, and its rejection names line, column, rule and value', () => {
  it.each(rows)('%s', async (_name, row, expected) => {
    const { error, lines, rejections } = await readDocument(
      `${csvHeader}\n${goodRow}\n${row}\n${goodRow.replace('good', 'good2')}\n`,
      'csv',
    );
    expect(error).toBeNull();
    expect(lines.map((line) => line.orderId)).toEqual(['good', 'good2']);
    expect(rejections).toEqual(only({ lineNumber: 3, ...expected }));
  });

  it('a source that contains a path is rejected, and the rejection has no source', async () => {
    const { rejections } = await readDocument(
      `${csvHeader},source\n${goodRow},../../etc\n`,
      'csv',
      {
        sources: ['folder', 'shop2'],
      },
    );
    expect(rejections).toEqual(only({ field: 'source', source: null, value: '../../etc' }));
  });

  it('a filled cell in a column without a name is rejected', async () => {
    const { lines, rejections } = await readDocument(
      `${csvHeader},\n${goodRow},\n${goodRow},7\n`,
      'csv',
    );
    expect(lines).toHaveLength(1);
    expect(rejections).toEqual(only({ code: 'cell_without_column', value: '7', lineNumber: 3 }));
  });

  it('when columns are mapped, the rejection has the shop\u2019s name of the column', async () => {
    const content = 'Order,Pos,Kind,SKU,Plan,SIM,Qty,Cur\n7,1,gift_card_order,v,,,0,USD\n';
    const columns = {
      order_id: 'Order',
      line_id: 'Pos',
      type: 'Kind',
      variant: 'SKU',
      plan: 'Plan',
      iccid: 'SIM',
      quantity: 'Qty',
      days: null,
      currency: 'Cur',
    };
    const { rejections } = await readDocument(content, 'csv', { columns });
    expect(rejections).toEqual(only({ field: 'Qty', orderId: '7' }));
  });

  it('the rejection of a row names all of its problems', async () => {
    const { rejections } = await readDocument(`${csvHeader}\no,1,esim_order,,p,,99,x,usd\n`, 'csv');
    expect(rejections).toHaveLength(1);
    expect(rejections[0]?.rule).toMatch(/also:.*days.*quantity/);
  });

  it('the rejection of a row contains at most 64 characters of the value', async () => {
    const { rejections } = await readDocument(
      `${csvHeader}\no,1,gift_card_order,v,,,${'9'.repeat(500)},,USD\n`,
      'csv',
    );
    expect(rejections[0]?.value).toHaveLength(64);
  });
});

const line = (fields: string) =>
  `{"order_id":"o","currency":"USD","lines":[{"line_id":"1",${fields}}]}`;
const gift = '"type":"gift_card_order","variant":"v"';
const json: [string, string, Expected][] = [
  [
    'a mistyped field, which would otherwise take its default',
    line(`${gift},"quanity":2`),
    { code: 'unknown_field', field: '/lines/0/quanity', value: '2', says: /did you mean quantity/ },
  ],
  [
    'a duplicate key, of which JSON readers take the last',
    line(`${gift},"quantity":1,"quantity":30`),
    { code: 'duplicate_key', field: '/lines/0/quantity' },
  ],
  [
    'a duplicate key in another spelling',
    line(`${gift},"quantity":1,"quant\\u0069ty":30`),
    { code: 'duplicate_key', field: '/lines/0/quantity' },
  ],
  [
    'a duplicate key deep in the metadata',
    `{"order_id":"o","currency":"USD","metadata":{"a":[{"b":1,"b":2}]},"lines":[{"line_id":"1",${gift},"quantity":1}]}`,
    { code: 'duplicate_key', field: '/metadata/a/0/b' },
  ],
  [
    'the key __proto__',
    line(`${gift},"quantity":1,"__proto__":{"quantity":9}`),
    { code: 'reserved_key', field: '/lines/0/__proto__' },
  ],
  [
    'an ICCID as a number, which loses digits',
    line('"type":"esim_cancel","iccid":8999901000000000013'),
    {
      code: 'unsafe_number',
      field: '/lines/0/iccid',
      value: '8999901000000000013',
      says: /string/,
    },
  ],
  [
    'an ICCID as a short number',
    line('"type":"esim_cancel","iccid":123'),
    { code: 'invalid_field', field: '/lines/0/iccid', says: /must be a string/ },
  ],
  [
    'an order id as a number',
    `{"order_id":1001,"currency":"USD","lines":[{"line_id":"1",${gift},"quantity":1}]}`,
    { field: '/order_id', orderId: null, says: /must be a string/ },
  ],
  [
    'a number beyond all numbers',
    line(`${gift},"quantity":1e400`),
    { code: 'unsafe_number', field: '/lines/0/quantity', value: '1e400' },
  ],
  [
    'a number that vanishes',
    line(`${gift},"quantity":1e-400`),
    { code: 'unsafe_number', field: '/lines/0/quantity' },
  ],
  [
    'a quantity that is a string',
    line(`${gift},"quantity":"2"`),
    { field: '/lines/0/quantity', says: /must be a number/ },
  ],
  [
    'a quantity that is not whole',
    line(`${gift},"quantity":1.5`),
    { field: '/lines/0/quantity', says: /whole number/ },
  ],
  [
    'a quantity of null',
    line(`${gift},"quantity":null`),
    { field: '/lines/0/quantity', value: 'null' },
  ],
  [
    'a lone surrogate',
    line('"type":"gift_card_order","quantity":1,"variant":"v\\ud800"'),
    { code: 'bad_unicode', field: '/lines/0/variant' },
  ],
  [
    'a control character',
    line('"type":"gift_card_order","quantity":1,"variant":"v\\u0000"'),
    { field: '/lines/0/variant', says: /control/ },
  ],
  [
    'an unknown field of the order',
    `{"order_id":"o","curency":"USD","lines":[{"line_id":"1",${gift},"quantity":1}]}`,
    { code: 'unknown_field', field: '/curency', says: /did you mean currency/ },
  ],
  [
    'a deadline without a zone',
    `{"order_id":"o","not_after":"2026-12-01T00:00:00","lines":[{"line_id":"1",${gift},"quantity":1,"currency":"USD"}]}`,
    { field: '/not_after', says: /zone/ },
  ],
  [
    'metadata that is too large',
    `{"order_id":"o","currency":"USD","metadata":{"a":"${'x'.repeat(17_000)}"},"lines":[{"line_id":"1",${gift},"quantity":1}]}`,
    { field: '/metadata' },
  ],
  [
    'no lines',
    '{"order_id":"o","currency":"USD"}',
    { code: 'missing_field', field: '/lines', orderId: 'o' },
  ],
  [
    'lines that are not an array',
    '{"order_id":"o","currency":"USD","lines":{}}',
    { field: '/lines' },
  ],
  ['an empty array of lines', '{"order_id":"o","currency":"USD","lines":[]}', { field: '/lines' }],
  [
    'a line that is not an object',
    '{"order_id":"o","currency":"USD","lines":[7]}',
    { field: '/lines/0', orderId: 'o', value: '7' },
  ],
  ['something that is not an order', '"o"', { code: 'not_an_order' }],
  [
    'more lines than an order may have',
    `{"order_id":"o","currency":"USD","lines":[${Array.from({ length: 1001 }, () => '{}').join(',')}]}`,
    { code: 'too_many_lines', field: '/lines' },
  ],
];

describe('a line of a JSON order with a mistake is rejected alone, and its rejection has a JSON pointer', () => {
  it.each(json)('%s', async (_name, text, expected) => {
    const asNdjson = await readDocument(`${goodOrder}\n${text}\n${goodOrder}\n`, 'ndjson');
    expect([asNdjson.error, asNdjson.lines.length]).toEqual([null, 2]);
    expect(asNdjson.rejections).toEqual(only({ lineNumber: 2, ...expected }));

    const asArray = await readDocument(`[${goodOrder},\n${text},\n${goodOrder}]`, 'json');
    expect([asArray.error, asArray.lines.length]).toEqual([null, 2]);
    expect(asArray.rejections).toEqual(only({ ...expected, field: `/1${expected.field ?? ''}` }));
  });

  it('a line of NDJSON that is not JSON is rejected alone, because the next line is independent of it', async () => {
    const { lines, rejections } = await readDocument(
      `${goodOrder}\n{"order_id":\n${goodOrder}\n`,
      'ndjson',
    );
    expect(lines).toHaveLength(2);
    expect(rejections).toEqual(only({ code: 'invalid_json', lineNumber: 2, says: /column 13/ }));
  });

  it('a problem of the order itself rejects each of its lines', async () => {
    const lines = ['1', '2', '3'].map((id) => `{"line_id":"${id}",${gift},"quantity":1}`).join(',');
    const { rejections } = await readDocument(
      `{"order_id":"o","currency":"dollars","lines":[${lines}]}`,
      'json',
    );
    expect(rejections.map(({ lineId, field }) => [lineId, field])).toEqual([
      ['1', '/currency'],
      ['2', '/currency'],
      ['3', '/currency'],
    ]);
  });

  it('a very long field name is cut in the rejection, and thousands of unknown fields are counted', async () => {
    const many = Array.from({ length: 20_000 }, (_, index) => `"${'x'.repeat(40)}${index}":1`).join(
      ',',
    );
    const { rejections } = await readDocument(
      line(`${gift},"quantity":1,"${'y'.repeat(100_000)}":1,${many}`),
      'json',
    );
    expect(rejections).toEqual(only({ code: 'unknown_field', says: /; and 199\d\d more$/ }));
    expect(rejections[0]?.field).toHaveLength(200);
  });

  it('the other lines of an order are accepted when one is rejected', async () => {
    const text = `{"order_id":"o","currency":"USD","lines":[{"line_id":"1",${gift},"quantity":0},{"line_id":"2",${gift},"quantity":2}]}`;
    const { lines, rejections } = await readDocument(text, 'json');
    expect(lines.map(({ lineId }) => lineId)).toEqual(['2']);
    expect(rejections).toEqual(only({ lineId: '1', field: '/lines/0/quantity' }));
  });

  it('the product of a rejected line is kept, because the corrected line may have another id', async () => {
    const text = `{"order_id":"o","currency":"USD","lines":[{"line_id":7,${gift},"quantity":1},"steam"]}`;
    const { rejections } = await readDocument(text, 'json');
    expect(rejections.map(({ orderId, lineId, product }) => [orderId, lineId, product])).toEqual([
      ['o', null, 'v'],
      ['o', null, null],
    ]);
  });
});

describe('an unusual but unambiguous document is accepted', () => {
  const readable: [string, string | Uint8Array][] = [
    ['a byte order mark', `\uFEFF${csvHeader}\n${goodRow}\n`],
    ['CRLF', `${csvHeader}\r\n${goodRow}\r\n`],
    ['CR', `${csvHeader}\r${goodRow}\r`],
    ['no newline at the end', `${csvHeader}\n${goodRow}`],
    [
      'a separator line',
      `sep=;\r\n${csvHeader.replaceAll(',', ';')}\r\n${goodRow.replaceAll(',', ';')}\r\n`,
    ],
    [
      'a mark and a separator line',
      `\uFEFFsep=\t\n${csvHeader.replaceAll(',', '\t')}\n${goodRow.replaceAll(',', '\t')}\n`,
    ],
    ['blank lines and rows of empty cells', `${csvHeader}\n\n${goodRow}\n,,,,,,,,\n\n`],
    [
      'everything in quotes',
      `${csvHeader}\n${goodRow
        .split(',')
        .map((cell) => `"${cell}"`)
        .join(',')}\n`,
    ],
  ];
  it.each(readable)('%s', async (_name, content) => {
    for (const pieceBytes of [1, 5, 65_536]) {
      const { error, lines, rejections } = await readDocument(content, 'csv', { pieceBytes });
      expect([error, rejections]).toEqual([null, []]);
      expect(lines).toEqual([
        expect.objectContaining({ orderId: 'good', lineId: '1', quantity: 1, currency: 'USD' }),
      ]);
    }
  });

  it('line numbers count lines of text, also after cells that contain line breaks', async () => {
    const second = goodRow.replace('good', 'second');
    const { lines } = await readDocument(
      `note,${csvHeader}\n"a\nb",${goodRow}\nx,${second}\n`,
      'csv',
    );
    expect(lines.map((found) => found.lineNumber)).toEqual([2, 4]);
    expect(lines[0]?.extra).toEqual({ note: 'a\nb' });
  });

  it('a row with a cancel may have a currency, because shops fill that column in every row', async () => {
    const { lines } = await readDocument(`${csvHeader}\no,1,esim_cancel,,,${iccid},,,USD\n`, 'csv');
    expect(lines).toEqual([
      expect.objectContaining({ operation: 'esim_cancel', iccid, currency: null }),
    ]);
  });

  it('each row may have a source and a deadline', async () => {
    const { lines } = await readDocument(
      `${csvHeader},source,not_after\n${goodRow},shop2,2026-12-01T00:00:00Z\n${goodRow},,\n`,
      'csv',
      { sources: ['folder', 'shop2'] },
    );
    expect(lines.map((found) => [found.source, found.notAfterMs])).toEqual([
      ['shop2', Date.UTC(2026, 11, 1)],
      ['folder', null],
    ]);
  });

  it('an order with more than 1,000 rows of a CSV file is rejected, and the other orders are accepted', async () => {
    const many = Array.from(
      { length: 1001 },
      (_, index) => `big,${index},gift_card_order,v,,,1,,USD`,
    ).join('\n');
    const { lines, rejections } = await readDocument(`${csvHeader}\n${many}\n${goodRow}\n`, 'csv');
    expect(lines.map((found) => found.orderId)).toEqual(['good']);
    expect(rejections).toHaveLength(1001);
    expect(rejections[0]).toMatchObject({ code: 'too_many_lines', orderId: 'big' });
  });
});
