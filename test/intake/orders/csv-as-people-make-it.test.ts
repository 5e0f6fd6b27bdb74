import { describe, expect, it } from 'vitest';
import { SkuMap } from '../../../src/core/order/sku-map.ts';
import { type Line, readDocument } from './read-document.ts';

const iccid = '8999901000000000013';
const bought = ({ orderId, lineId, operation, variant, plan, quantity, days, currency }: Line) =>
  [orderId, lineId, operation, variant ?? plan, quantity, days, currency].join(' ');

describe('a CSV file needs only the columns that its orders use', () => {
  const files: [string, string, string[]][] = [
    [
      'three columns for gift cards',
      'order_id,variant,currency\n1001,steam-usd-20,USD\n1002,steam-usd-10,USD\n',
      ['1001 1 gift_card_order steam-usd-20 1  USD', '1002 1 gift_card_order steam-usd-10 1  USD'],
    ],
    [
      'an eSIM, with and without days',
      'order_id,plan,days,currency\n1,fr-daily-1gb,7,USD\n2,es-1gb-7d,,USD\n',
      ['1 1 esim_order fr-daily-1gb 1 7 USD', '2 1 esim_order es-1gb-7d 1  USD'],
    ],
    [
      'a plan with an ICCID is a top-up',
      `order_id,plan,iccid,currency\n1,es-1gb-7d,${iccid},USD\n`,
      ['1 1 esim_topup es-1gb-7d   USD'],
    ],
    [
      'a cancel says so, and needs no currency',
      `order_id,type,iccid\n1,esim_cancel,${iccid}\n`,
      ['1 1 esim_cancel    '],
    ],
    [
      'gift cards and eSIMs in one file, without a type',
      'order_id,variant,plan,quantity,currency\n1,v,,2,USD\n2,,p,1,EUR\n',
      ['1 1 gift_card_order v 2  USD', '2 1 esim_order p 1  EUR'],
    ],
    [
      'line ids where an order has several rows',
      'order_id,line_id,variant,currency\n1,a,v,USD\n1,b,v,USD\n2,,v,USD\n',
      [
        '1 a gift_card_order v 1  USD',
        '1 b gift_card_order v 1  USD',
        '2 1 gift_card_order v 1  USD',
      ],
    ],
  ];
  it.each(files)('%s', async (_name, content, expected) => {
    const { error, lines, rejections } = await readDocument(content, 'csv');
    expect([error, rejections]).toEqual([null, []]);
    expect(lines.map(bought)).toEqual(expected);
  });

  it('a row that names no currency is charged to the balance that the configuration names', async () => {
    const content = 'order_id,variant,currency\n1,v,\n2,v,EUR\n';
    const { lines } = await readDocument(content, 'csv', { currency: 'USD' });
    expect(lines.map((line) => line.currency)).toEqual(['USD', 'EUR']);
    const without = await readDocument('order_id,variant\n1,v\n', 'csv', { currency: 'USD' });
    expect(without.lines.map(bought)).toEqual(['1 1 gift_card_order v 1  USD']);
    const order =
      '{"order_id":"1","lines":[{"line_id":"1","type":"gift_card_order","variant":"v","quantity":1}]}';
    expect((await readDocument(order, 'json', { currency: 'USD' })).lines[0]?.currency).toBe('USD');
    expect((await readDocument(order, 'json')).rejections).toMatchObject([
      { code: 'missing_field' },
    ]);
  });

  it('an ICCID alone is never taken for a cancel', async () => {
    const { lines, rejections } = await readDocument(
      `order_id,iccid,currency\n1,${iccid},USD\n`,
      'csv',
    );
    expect(lines).toEqual([]);
    expect(rejections).toMatchObject([{ code: 'missing_field', field: 'type', lineId: '1' }]);
    expect(rejections[0]?.rule).toContain('esim_cancel');
  });

  it('a row without any product says what to fill in', async () => {
    const { rejections } = await readDocument('order_id,variant,plan,currency\n1,,,USD\n', 'csv');
    expect(rejections).toMatchObject([
      { code: 'missing_field', rule: expect.stringContaining('variant or plan') },
    ]);
  });
});

describe('several rows of one order without a line id', () => {
  const ambiguous = expect.stringContaining('several lines');

  it('are rejected, each with what to add, and other orders of the file are bought', async () => {
    const content = 'order_id,variant,currency\n1,v,USD\n2,v,USD\n1,w,USD\n';
    const { lines, rejections } = await readDocument(content, 'csv');
    expect(lines.map((line) => line.orderId)).toEqual(['2']);
    expect(rejections).toMatchObject([
      {
        code: 'missing_field',
        field: 'line_id',
        orderId: '1',
        lineId: null,
        lineNumber: 2,
        rule: ambiguous,
      },
      {
        code: 'missing_field',
        field: 'line_id',
        orderId: '1',
        lineId: null,
        lineNumber: 4,
        rule: ambiguous,
      },
    ]);
  });

  it('are rejected also when all their cells are equal: two cards, or one that was exported twice', async () => {
    const { lines, rejections } = await readDocument(
      'order_id,variant,currency\n1,v,USD\n1,v,USD\n',
      'csv',
    );
    expect([lines.length, rejections.length]).toEqual([0, 2]);
  });

  it('are one order also when only one of them names the source that the others have by default', async () => {
    const content = 'order_id,source,variant,currency\n1,,v,USD\n2,,v,USD\n1,folder,v,USD\n';
    const { lines, rejections } = await readDocument(content, 'csv', { source: 'folder' });
    expect(lines.map((line) => line.orderId)).toEqual(['2']);
    expect(rejections).toHaveLength(2);
  });

  it('get the same answer whatever the order of the rows: rows with an id are bought, the one without is not', async () => {
    const rows = ['1,a,v,USD', '1,,v,USD', '1,b,w,USD'];
    for (const order of [rows, rows.toReversed(), [rows[1], rows[0], rows[2]]]) {
      const { lines, rejections } = await readDocument(
        `order_id,line_id,variant,currency\n${order.join('\n')}\n`,
        'csv',
      );
      expect(lines.map((line) => line.lineId).toSorted()).toEqual(['a', 'b']);
      expect(rejections).toMatchObject([{ field: 'line_id', orderId: '1' }]);
    }
  });
});

describe('the separator of a CSV file', () => {
  const text = 'order_id,variant,quantity,currency,note\n1,v,2,USD,a\n2,w,1,EUR,b\n';
  it.each([';', '\t', ','])('%j is detected', async (separator) => {
    for (const start of ['', '\uFEFF', '\n\r\n', `${separator.repeat(4)}\n`]) {
      for (const pieceBytes of [1, 7, 65_536]) {
        const content = start + text.replaceAll(',', separator);
        const { error, lines } = await readDocument(content, 'csv', { pieceBytes });
        expect([error, lines.map(bought)]).toEqual([
          null,
          ['1 1 gift_card_order v 2  USD', '2 1 gift_card_order w 1  EUR'],
        ]);
      }
    }
  });

  it('is the one that separates the known names, whatever else a quoted name contains', async () => {
    const content = '"order_id";"variant";"currency";"note, with, many, commas"\n1;v;USD;"a;b"\n';
    const { lines } = await readDocument(content, 'csv');
    expect(lines.map((line) => [line.variant, line.extra])).toEqual([
      ['v', { 'note, with, many, commas': 'a;b' }],
    ]);
  });

  it('is still the one that a first line names', async () => {
    const { lines } = await readDocument('sep=|\norder_id|variant|currency\n1|v|USD\n', 'csv');
    expect(lines.map(bought)).toEqual(['1 1 gift_card_order v 1  USD']);
  });
});

describe('the names of columns', () => {
  it.each([
    'OrderID,Variant,Currency',
    'Order ID,VARIANT,currency ',
    'order-id,variant,CURRENCY',
    'ORDER_ID, variant,Currency',
  ])('are compared without case, spaces, hyphens and underscores: %s', async (header) => {
    const { error, lines } = await readDocument(`${header}\n1,v,USD\n`, 'csv');
    expect([error, lines.map(bought)]).toEqual([null, ['1 1 gift_card_order v 1  USD']]);
  });

  it.each([
    ['order_id,varaint,currency', 'varaint', 'variant'],
    ['order_id,variant,currency,qty', 'qty', 'quantity'],
    ['order_id,variant,curency', 'curency', 'currency'],
    ['order_no,variant,currency', 'order_no', 'order_id'],
    ['order_id,plan,currency,day', 'day', 'days'],
    ['order_id,variant,currency,Not Aftr', 'Not Aftr', 'not_after'],
    ['order_id,variant,currency,lineid2', 'lineid2', 'line_id'],
  ])(
    'that look like a mistyped one are an error with the suggestion: %s',
    async (header, name, meant) => {
      const cells = header.split(',').map(() => '1');
      const { error, lines } = await readDocument(`${header}\n${cells.join(',')}\n`, 'csv');
      expect([error?.documentCode, lines]).toEqual(['unknown_column', []]);
      expect(error?.message).toContain(`"${name}"`);
      expect(error?.message).toContain(`did you mean ${meant}?`);
    },
  );

  it('that are not known are carried, also those that only begin like a known one', async () => {
    const header = 'order_id,variant,currency,customer,order_number,date,price,name,amount';
    const { error, lines } = await readDocument(
      `${header}\n1,v,USD,Ann,A7,today,9,Card,2.50\n`,
      'csv',
    );
    expect(error).toBeNull();
    expect(lines[0]?.extra).toEqual({
      customer: 'Ann',
      order_number: 'A7',
      date: 'today',
      price: '9',
      name: 'Card',
      amount: '2.50',
    });
  });

  it('may be near a known one where the configuration says that the file does not have that', async () => {
    const content = 'order_id,variant,currency,qty\n1,v,USD,7\n';
    const { lines } = await readDocument(content, 'csv', { columns: { quantity: null } });
    expect(lines.map((line) => [line.quantity, line.extra])).toEqual([[1, { qty: '7' }]]);
  });

  it('that mean the same column twice are an error', async () => {
    const { error } = await readDocument('order_id,Order ID,variant,currency\n1,2,v,USD\n', 'csv');
    expect(error?.documentCode).toBe('duplicate_column');
  });

  it('a file without a product, without order ids or without any currency says what is missing', async () => {
    for (const [content, missing] of [
      ['order_id,currency\n1,USD\n', /variant or plan/],
      ['variant,currency\nv,USD\n', /order_id/],
      ['order_id,variant\n1,v\n', /currency/],
      ['order_id,sku,currency\n1,S,USD\n', /intake\.folders\[\]\.sku_map/],
    ] as const) {
      const { error } = await readDocument(content, 'csv');
      expect(error?.documentCode).toBe('missing_column');
      expect(`${error?.message} ${error?.hint}`).toMatch(missing);
    }
  });
});

const skus = new SkuMap([
  ['STEAM-20', { type: 'gift_card_order', variant: 'steam-usd-20', quantity: 1 }],
  [
    'STEAM-3PACK',
    { type: 'gift_card_order', variant: 'steam-usd-20', quantity: 3, currency: 'EUR' },
  ],
  ['FR-7', { type: 'esim_order', plan: 'fr-daily-1gb', days: 7, quantity: 1 }],
  ['FR-DAILY', { type: 'esim_order', plan: 'fr-daily-1gb', quantity: 1 }],
  ['TOP', { type: 'esim_topup', plan: 'es-1gb-7d' }],
]);

describe('a CSV file whose rows name SKUs', () => {
  it('buys what the SKU map says', async () => {
    const content = `order_id,sku,quantity,iccid,days,currency\n1,STEAM-20,2,,,USD\n2,STEAM-3PACK,2,,,USD\n3,FR-7,1,,,USD\n4,FR-DAILY,1,,3,USD\n5,TOP,,${iccid},,USD\n`;
    const { lines, rejections } = await readDocument(content, 'csv', { skus });
    expect(rejections).toEqual([]);
    expect(lines.map(bought)).toEqual([
      '1 1 gift_card_order steam-usd-20 2  USD',
      '2 1 gift_card_order steam-usd-20 6  EUR',
      '3 1 esim_order fr-daily-1gb 1 7 USD',
      '4 1 esim_order fr-daily-1gb 1 3 USD',
      '5 1 esim_topup es-1gb-7d   USD',
    ]);
    expect(lines[1]?.extra).toEqual({ sku: 'STEAM-3PACK', shop_quantity: '2' });
  });

  it('two columns are enough when the map or the configuration names the balance', async () => {
    const { lines } = await readDocument('order_id,sku\n1,STEAM-3PACK\n', 'csv', { skus });
    expect(lines.map(bought)).toEqual(['1 1 gift_card_order steam-usd-20 3  EUR']);
  });

  it.each([
    ['an unknown SKU', '1,NONE,,,1,,', { code: 'unknown_sku', field: 'sku', value: 'NONE' }],
    ['a SKU and a variant', '1,STEAM-20,,other-card,1,,', { field: 'sku', code: 'invalid_field' }],
    ['another type', '1,STEAM-20,esim_order,,1,,', { field: 'type', code: 'invalid_field' }],
    ['other days than the map', '1,FR-7,,,1,,30', { field: 'days', code: 'invalid_field' }],
    [
      'an ICCID for a SKU that is no top-up',
      `1,FR-7,,,1,${iccid},`,
      { field: 'iccid', code: 'unknown_field' },
    ],
    [
      'two top-ups of one eSIM',
      `1,TOP,,,2,${iccid},`,
      { field: 'quantity', code: 'repeated_topup' },
    ],
    [
      'no quantity in a column of quantities',
      '1,STEAM-20,,,,,',
      { field: 'quantity', code: 'missing_field' },
    ],
    ['a top-up of no eSIM', '1,TOP,,,,,', { field: 'iccid', code: 'missing_field' }],
  ])('a row with %s is rejected alone', async (_name, row, expected) => {
    const header = 'order_id,sku,type,variant,quantity,iccid,days,currency';
    const content = `${header}\n${row},USD\n9,STEAM-20,,,1,,,USD\n`;
    const { lines, rejections } = await readDocument(content, 'csv', { skus });
    expect(lines.map((line) => line.orderId)).toEqual(['9']);
    expect(rejections).toMatchObject([expected]);
  });

  it('may have rows that name the product themselves, and cancels', async () => {
    const content = `order_id,sku,type,variant,iccid,currency\n1,,,v,,USD\n2,TOP,esim_cancel,,${iccid},\n`;
    const { lines } = await readDocument(content, 'csv', { skus });
    expect(lines.map(bought)).toEqual(['1 1 gift_card_order v 1  USD', '2 1 esim_cancel    ']);
    expect(lines[1]?.extra).toEqual({ sku: 'TOP' });
  });

  it('carries the column where no SKU map is configured', async () => {
    const { lines } = await readDocument('order_id,sku,variant,currency\n1,S,v,USD\n', 'csv');
    expect(lines.map((line) => line.extra)).toEqual([{ sku: 'S' }]);
  });
});

describe('the rows of a CSV result that are sent again', () => {
  it('carry none of its columns: codes would stand in the outbox unsealed', async () => {
    const content =
      'order_id,variant,currency,note,result_state,Result_Code\n1,v,USD,x,fulfilled,SECRET\n';
    const { error, lines } = await readDocument(content, 'csv');
    expect(error).toBeNull();
    expect(lines.map(({ extra }) => extra)).toEqual([{ note: 'x' }]);
  });

  it.each([
    ['order_id', "'-5,1"],
    ['line_id', "5,'=1"],
  ])(
    'are rejected where the %s has the apostrophe of a result: it would be another order',
    async (field, ids) => {
      const { lines, rejections } = await readDocument(
        `order_id,line_id,variant,currency\n${ids},v,USD\n`,
        'csv',
      );
      expect(lines).toEqual([]);
      expect(rejections).toMatchObject([
        { code: 'escaped_id', field, rule: expect.stringContaining('remove the apostrophe') },
      ]);
    },
  );
});
