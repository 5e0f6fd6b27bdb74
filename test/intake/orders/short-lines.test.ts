import { describe, expect, it } from 'vitest';
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
