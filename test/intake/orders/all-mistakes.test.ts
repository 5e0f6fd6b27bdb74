import { describe, expect, it } from 'vitest';
import { readDocument } from './read-document.ts';

const order = (head: string, ...lines: string[]) => `{${head},"lines":[${lines.join(',')}]}`;

describe('all mistakes of a JSON order are told at once', () => {
  it('those of the order and those of its lines', async () => {
    const text = order(
      '"order_id":"1","currency":"dollars"',
      '{"line_id":"1","type":"gift_card_order","quantity":0}',
      '{"line_id":"2","type":"gift_card_order","variant":"v","quantity":1}',
    );
    const { rejections } = await readDocument(text, 'json');
    expect(rejections.map(({ lineId, field }) => [lineId, field])).toEqual([
      ['1', '/currency'],
      ['2', '/currency'],
    ]);
    expect(rejections[0]?.rule).toMatch(/\/lines\/0\/variant is required.*\/lines\/0\/quantity must be at least 1/);
    expect(rejections[1]?.rule).not.toContain('also');
  });

  it('a missing currency beside another mistake of the line, and the fields of a line with a mistyped type', async () => {
    const text = order('"order_id":"1"', '{"line_id":"1","type":"giftcard_order","variant":"v","quantity":0}');
    const { rejections } = await readDocument(text, 'json');
    expect(rejections[0]?.rule).toMatch(/gift_card_order.*quantity must be at least 1.*currency is required/);
  });

  it('a doubled key beside another mistake of its order', async () => {
    const text = order('"order_id":"1","order_id":"2"', '{"line_id":"1","type":"esim_order","plan":"p","quantity":99}');
    const { rejections } = await readDocument(text, 'json');
    expect(rejections[0]?.rule).toMatch(/^is given twice.*quantity must be at most 30.*currency is required/);
  });

  it('also hundreds of thousands of them: the first ones and the number of the others', async () => {
    const fields = Array.from({ length: 200_000 }, (_, index) => `"x${index}":1`).join(',');
    const { rejections } = await readDocument(order('"order_id":"1"', `{"type":"gift_card_order",${fields}}`), 'json');
    expect(rejections[0]?.rule).toMatch(/; and 199\d\d\d more$/);
  });
});
