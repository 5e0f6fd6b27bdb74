import { describe, expect, it } from 'vitest';
import {
  orderHeadSchema,
  orderIdSchema,
  orderLineSchema,
} from '../../../src/core/order/order-request.ts';

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
    ['a space that does not break', '10\u00a001'],
    ['a thin space', '10\u200901'],
    ['an empty letter of Braille', '10\u280001'],
    ['an empty filler of Khitan', '10\u{16fe4}01'],
    ['an empty note head', '10\u{1d159}01'],
    ['a lone surrogate', '10\ud80001'],
  ])('is rejected with %s', (_name, id) => {
    expect(takes(id)).toEqual([false, false]);
  });

  it.each([
    '1001',
    '#1001',
    'Café-1',
    'Å-1',
    '注文-12',
    'ORD/2026 0001',
    'a',
    '🎁-1',
    '№ 7',
    'क्ष-1',
    '๙๙',
  ])('can be %s', (id) => {
    expect(takes(id)).toEqual([true, true]);
  });

  it('follows stricter rules than the name of a product, which the supplier chooses', () => {
    expect(
      orderLineSchema.safeParse({ ...gift, line_id: '1', variant: 'Cafe\u0301\u200b' }).success,
    ).toBe(true);
  });

  it('never contains a character that is not shown, of all that Unicode has', () => {
    const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}\p{Z}]/u;
    let tried = 0;
    for (let point = 0x21; point <= 0x10ffff; point += 1) {
      const character = String.fromCodePoint(point);
      if (!unseen.test(character)) continue;
      tried += 1;
      const name = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
      const { error } = orderIdSchema.safeParse(`10${character}01`);
      expect(error?.issues[0]?.message, name).toContain(`${name} after 2 characters`);
    }
    // Unicode 17 has 4,174 that may be left out, and 2,048 surrogates, among them.
    expect(tried).toBeGreaterThan(6200);
  });

  it('can contain every other character that is already composed', () => {
    const refused: string[] = [];
    for (let point = 0x21; point <= 0x10ffff; point += 1) {
      const character = String.fromCodePoint(point);
      if (/[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\u2800\u{16fe4}\u{1d159}]/u.test(character))
        continue;
      if (
        character === character.normalize('NFC') &&
        !orderIdSchema.safeParse(`10${character}`.normalize('NFC')).success
      )
        refused.push(point.toString(16));
    }
    expect(refused).toEqual([]);
  });
});
