import { describe, expect, it } from 'vitest';
import { SkuMap } from '../../../src/core/order/sku-map.ts';
import { readDocument } from './read-document.ts';

const orderWith = (...lines: readonly object[]) =>
  JSON.stringify({ order_id: 'o', currency: 'USD', lines });
const linesOf = async (...lines: readonly object[]) => {
  const { error, lines: read, rejections } = await readDocument(orderWith(...lines), 'json');
  expect([error, rejections]).toEqual([null, []]);
  return read.map(({ lineId, operation, quantity }) => [lineId, operation, quantity]);
};
const rejectionsOf = async (...lines: readonly object[]) =>
  (await readDocument(orderWith(...lines), 'json')).rejections;

describe('a line of a JSON order', () => {
  it.each([
    ['a variant', { variant: 'v' }, 'gift_card_order', 1],
    ['a plan', { plan: 'p' }, 'esim_order', 1],
    ['a plan and an ICCID', { plan: 'p', iccid: '8999901000000000013' }, 'esim_topup', null],
  ])(
    'with only %s has the type of its product, the id 1 and one unit',
    async (_, line, type, quantity) => {
      expect(await linesOf(line)).toEqual([['1', type, quantity]]);
    },
  );

  it('is the same purchase as the same product in a CSV file of three columns', async () => {
    const { lines: rows } = await readDocument('order_id,variant,currency\no,v,USD\n', 'csv');
    const { lines } = await readDocument(orderWith({ variant: 'v' }), 'json');
    const withoutPlace = ({ lineNumber: _place, ...line }: (typeof lines)[number]) => line;
    expect(lines.map(withoutPlace)).toEqual(rows.map(withoutPlace));
  });

  it('keeps what it says itself', async () => {
    expect(
      await linesOf(
        { line_id: 'a', variant: 'v', quantity: 3 },
        { line_id: 'b', type: 'esim_order', plan: 'p', quantity: 2 },
      ),
    ).toEqual([
      ['a', 'gift_card_order', 3],
      ['b', 'esim_order', 2],
    ]);
  });

  it('needs an id in an order of several lines, and learns which one it had alone', async () => {
    const rejections = await rejectionsOf({ variant: 'v' }, { variant: 'w' });
    expect(rejections.map(({ field, lineId }) => [field, lineId])).toEqual([
      ['/lines/0/line_id', null],
      ['/lines/1/line_id', null],
    ]);
    expect(rejections[0]?.rule).toContain('A line that was bought alone before has the id 1');
  });

  it('without a balance is told every place that may name it', async () => {
    const text = JSON.stringify({ order_id: 'o', lines: [{ variant: 'v' }] });
    const [rejection] = (await readDocument(text, 'json')).rejections;
    expect(rejection).toMatchObject({ code: 'missing_field', field: '/lines/0/currency' });
    expect(rejection?.rule).toContain('or as `currency` of the folder or token');
  });

  it('is never made a cancel by an ICCID alone', async () => {
    expect(await rejectionsOf({ iccid: '8999901000000000013' })).toMatchObject([
      { field: '/lines/0/type', rule: expect.stringContaining('esim_cancel cancels the eSIM') },
    ]);
  });

  it('is not for one unit where its extra may name the quantity', async () => {
    expect(await rejectionsOf({ variant: 'v', extra: { Menge: '3' } })).toMatchObject([
      { field: '/lines/0/quantity', rule: 'is required' },
    ]);
    expect(await linesOf({ variant: 'v', extra: { color: 'red' } })).toHaveLength(1);
  });

  it.each([
    ['qty', 'quantity'],
    ['Menge', 'quantity'],
    ['waehrung', 'currency'],
    ['quanity', 'quantity'],
  ])('with the field %s is told that %s may be meant', async (name, meant) => {
    const [rejection] = await rejectionsOf({ variant: 'v', [name]: 2 });
    expect(rejection).toMatchObject({ code: 'unknown_field', field: `/lines/0/${name}` });
    expect(rejection?.rule).toContain(`is not a field of gift_card_order: did you mean ${meant}?`);
  });
});

describe('a line of a JSON order that names a SKU', () => {
  const iccid = '8999901000000000013';
  const skus = new SkuMap([
    ['S20', { type: 'gift_card_order', variant: 'steam-usd-20', quantity: 1 }],
    ['S3', { type: 'gift_card_order', variant: 'steam-usd-20', quantity: 3, currency: 'EUR' }],
    ['FR', { type: 'esim_order', plan: 'fr-daily-1gb', days: 7, quantity: 1 }],
    ['TOP', { type: 'esim_topup', plan: 'es-1gb-7d' }],
  ]);
  const read = (line: object) => readDocument(orderWith(line), 'json', { skus });

  it.each([
    ['a quantity', { sku: 's20', quantity: 2 }, { variant: 'steam-usd-20', quantity: 2 }],
    ['a pack', { sku: 'S3', quantity: 2 }, { quantity: 6, currency: 'EUR' }],
    ['only a SKU', { sku: 'FR' }, { plan: 'fr-daily-1gb', days: 7, quantity: 1 }],
    ['an eSIM', { sku: 'TOP', iccid }, { operation: 'esim_topup', plan: 'es-1gb-7d' }],
  ])('with %s buys what the SKU map says', async (_, line, bought) => {
    const { lines, rejections } = await read({ ...line, extra: { row: '1' } });
    expect(rejections).toEqual([]);
    const { sku, quantity = 1 } = Object(line);
    const extra = { row: '1', sku, shop_quantity: String(quantity) };
    expect(lines).toMatchObject([{ ...bought, extra }]);
  });

  it('is the same purchase as the same row of a CSV file', async () => {
    const { lines: rows } = await readDocument('order_id,sku,currency\no,S20,USD\n', 'csv', {
      skus,
    });
    const { lines } = await read({ sku: 'S20' });
    const withoutPlace = ({ lineNumber: _place, ...line }: (typeof lines)[number]) => line;
    expect(lines.map(withoutPlace)).toEqual(rows.map(withoutPlace));
  });

  it('is only carried by a cancel', async () => {
    const { lines } = await read({ type: 'esim_cancel', iccid, sku: 'TOP' });
    expect(lines).toMatchObject([{ operation: 'esim_cancel', extra: { sku: 'TOP' } }]);
  });

  it.each([
    ['an unknown SKU', { sku: 'S21' }, 'sku', 'unknown_sku', 'is not in the SKU map'],
    ['a number', { sku: 20 }, 'sku', 'invalid_field', 'must be a string'],
    ['a variant, too', { sku: 'S20', variant: 'v' }, 'sku', 'invalid_field', 'names a product'],
    ['another type', { sku: 'S20', type: 'esim_order' }, 'type', 'invalid_field', 'SKU, which has'],
    ['other days', { sku: 'FR', days: 30 }, 'days', 'invalid_field', 'SKU, which has 7'],
    ['another balance', { sku: 'S3', currency: 'USD' }, 'currency', 'invalid_field', 'has EUR'],
    ['an extra that is none', { sku: 'S20', extra: 'x' }, 'extra', 'invalid_field', 'an object'],
    [
      'a quantity in its extra',
      { sku: 'S20', extra: { qty: '2' } },
      'quantity',
      'missing_field',
      '',
    ],
  ])('with %s is rejected for that alone', async (_, line, field, code, rule) => {
    const { rejections } = await read(line);
    expect(rejections).toMatchObject([{ field: `/lines/0/${field}`, code }]);
    expect(rejections[0]?.rule).toContain(rule);
    expect(rejections[0]?.rule).not.toContain('; also: ');
  });

  it('is rejected where no SKU map is configured', async () => {
    expect(await rejectionsOf({ sku: 'S20' })).toMatchObject([
      { field: '/lines/0/sku', rule: 'needs `sku_map` of the folder or of `intake.webhook`' },
    ]);
  });
});
