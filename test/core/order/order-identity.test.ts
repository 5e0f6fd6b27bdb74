import { describe, expect, it } from 'vitest';
import { orderHeadSchema, orderLineSchema } from '../../../src/core/order/order-request.ts';

const gift = { type: 'gift_card_order', variant: 'v', quantity: 1 };
const takes = (id: string): [boolean, boolean] => [
  orderHeadSchema.safeParse({ order_id: id }).success,
  orderLineSchema.safeParse({ ...gift, line_id: id }).success,
];

describe('an id of an order or a line', () => {
  it.each([
    ['a zero width space at its end', '1001\u200b'],
    ['a soft hyphen', '10\u00ad01'],
    ['a mark for the writing direction', '\u200e1001'],
    ['a byte order mark in it', '10\ufeff01'],
    ['a line separator', '10\u202801'],
    ['a separate combining accent', 'Cafe\u0301-1'],
    ['another character for the same letter', '\u212b-1'],
  ])('is rejected with %s', (_name, id) => {
    expect(takes(id)).toEqual([false, false]);
  });

  it.each(['1001', '#1001', 'Café-1', 'Å-1', '注文-12', 'ORD/2026 0001', 'a', '🎁-1'])('can be %s', (id) => {
    expect(takes(id)).toEqual([true, true]);
  });

  it('follows stricter rules than the name of a product, which the supplier chooses', () => {
    expect(orderLineSchema.safeParse({ ...gift, line_id: '1', variant: 'Cafe\u0301\u200b' }).success).toBe(true);
  });
});
