import { describe, expect, it } from 'vitest';
import { orderHeadSchema, orderLineSchema } from '../../../src/core/order/order-request.ts';

const gift = { type: 'gift_card_order', variant: 'v', quantity: 1 };
const takes = (id: string): [boolean, boolean] => [
  orderHeadSchema.safeParse({ order_id: id }).success,
  orderLineSchema.safeParse({ ...gift, line_id: id }).success,
];

describe('an id of an order or of a line, which another spelling of it would buy again', () => {
  it.each([
    ['a zero width space at its end', '1001\u200b'],
    ['a soft hyphen', '10\u00ad01'],
    ['a mark of the direction of writing', '\u200e1001'],
    ['a byte order mark in it', '10\ufeff01'],
    ['a line separator', '10\u202801'],
    ['an accent that stands by itself', 'Cafe\u0301-1'],
    ['another sign for the same letter', '\u212b-1'],
  ])('is refused with %s', (_name, id) => {
    expect(takes(id)).toEqual([false, false]);
  });

  it.each(['1001', '#1001', 'Café-1', 'Å-1', '注文-12', 'ORD/2026 0001', 'a', '🎁-1'])('is taken as %s', (id) => {
    expect(takes(id)).toEqual([true, true]);
  });

  it('leaves the names of products to the supplier', () => {
    expect(orderLineSchema.safeParse({ ...gift, line_id: '1', variant: 'Cafe\u0301\u200b' }).success).toBe(true);
  });
});
