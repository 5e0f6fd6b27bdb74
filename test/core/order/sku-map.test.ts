import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoted } from '../../../src/core/message-text.ts';
import { normalSku, SkuMap } from '../../../src/core/order/sku-map.ts';

const card = { type: 'gift_card_order', variant: 'v', quantity: 1 } as const;
const mapOf = (...skus: string[]): SkuMap =>
  new SkuMap(skus.map((sku) => [sku, { ...card, variant: sku }]));
const skus = mapOf(
  'STEAM-20',
  'STEAM-100',
  'A&B-20',
  'NETFLIX-US-20',
  'FR-7D',
  '0027001',
  '194512345678',
  'GC-2.5',
  '5"-CARD',
);

describe('a SKU', () => {
  it.each([
    ['in other letters', 'steam-20', 'STEAM-20'],
    ['with a space behind it', 'STEAM-20 ', 'STEAM-20'],
    ['with a tab and a line break', '\tSTEAM-20\r\n', 'STEAM-20'],
    ['with spaces in it', 'STEAM - 20', 'STEAM-20'],
    ['with a no-break space', 'STEAM\u00a0-20', 'STEAM-20'],
    ['with a zero-width space', 'STEAM-\u200b20', 'STEAM-20'],
    ['with a byte order mark', '\ufeffSTEAM-20', 'STEAM-20'],
    ['with a control character', 'STEAM-20\u0007', 'STEAM-20'],
    ['with an en dash', 'STEAM\u201320', 'STEAM-20'],
    ['with a minus', 'STEAM\u221220', 'STEAM-20'],
    ['in full width', 'ＳＴＥＡＭ－２０', 'STEAM-20'],
    ['in Cyrillic letters', 'ЅТЕАМ-20', 'STEAM-20'],
    ['in Greek letters', 'ΝΕΤFLΙΧ-US-20', 'NETFLIX-US-20'],
    ['with an entity', 'A&amp;B-20', 'A&B-20'],
    ['with an entity by number', 'A&#038;B-20', 'A&B-20'],
    ['with an entity in hexadecimal', 'A&#x26;B-20', 'A&B-20'],
    ['encoded twice', 'A&amp;amp;B-20', 'A&B-20'],
    ['with an encoded dash', 'STEAM&#8211;20', 'STEAM-20'],
    ['with an apostrophe of a spreadsheet', "'0027001", '0027001'],
    ['as a formula', '="0027001"', '0027001'],
    ['in quotes', '“STEAM-20”', 'STEAM-20'],
    ['with curled quotes', '5”-card', '5"-CARD'],
    ['as a number with a fraction', '194512345678.0', '194512345678'],
  ])('%s is the SKU of the map', (_, written, sku) => {
    expect(skus.get(written)).toMatchObject({ variant: sku });
    expect(skus.has(written)).toBe(true);
  });

  it('is found as it is written first', () => {
    const both = new SkuMap([
      ['a', { ...card, variant: 'small' }],
      ['A ', { ...card, variant: 'large' }],
    ]);
    expect([both.get('a'), both.get('A ')]).toMatchObject([
      { variant: 'small' },
      { variant: 'large' },
    ]);
  });

  it.each([
    ['STEAM20', 'STEAM-20'],
    ['STEAM_20', 'STEAM-20'],
    ['STEAM/20', 'STEAM-20'],
    ['STEAM-2O', 'STEAM-20'],
    ['5TEAM-20', undefined],
    ['FR-7D.', 'FR-7D'],
    ['NETFL1X-US-20', 'NETFLIX-US-20'],
    ['NETFIX-US-20', undefined],
    ['27001', '0027001'],
    ['STEAM-20-1', 'STEAM-20'],
    ['STEAM-20-copy', 'STEAM-20'],
    ['STEAM-20 (Copy)', 'STEAM-20'],
    ['STEAM-20-Copy-2', 'STEAM-20'],
    ['STEAM-20 (1)', 'STEAM-20'],
    ['STAEM-20', 'STEAM-20'],
    ['NETFLXI-US-20', 'NETFLIX-US-20'],
    // All of these are other products.
    ['STEAM-10', undefined],
    ['STEAM-200', undefined],
    ['STEAM-50', undefined],
    ['STEAM-02', undefined],
    ['STEAM', undefined],
    ['STEAM-20-EU', undefined],
    ['NETFLIX-UK-20', undefined],
    ['NETFLIX-SU-20', undefined],
    ['NETFLIX-US-25', undefined],
    ['FR-30D', undefined],
    ['DE-7D', undefined],
    ['GC-25', undefined],
    ['194512345679', undefined],
    ['MUG', undefined],
    ['', undefined],
    ['---', undefined],
    ['copy', undefined],
  ])('%j is near %s', (written, near) => {
    expect(skus.has(written)).toBe(false);
    expect(skus.near(written)).toBe(near);
  });

  it.each([
    ['1.94512E+11', 'looks changed by a spreadsheet'],
    ['12-Jan', 'looks changed by a spreadsheet'],
    ['2026-01-12', 'looks changed by a spreadsheet'],
    ['old 1', 'the SKU map had before'],
    ['STEAM 20 copy', 'is not in the SKU map, which has "STEAM-20"'],
    ['MAR-20', null],
    ['1E5', null],
    ['', null],
  ])('%j is ours because it %s', (written, why) => {
    expect(skus.whyOurs(written, ['old1'])).toBe(why);
  });

  it('without a character that counts is never found', () => {
    const empty = mapOf(' ', '\u200b');
    expect([empty.has(''), empty.has('  '), empty.near(''), empty.normalForms]).toEqual([
      false,
      false,
      undefined,
      [],
    ]);
  });

  it('has one normal form, whatever it is', () => {
    const parts = fc.constantFrom(
      '&amp;',
      '&#x41;',
      '&#99999999;',
      "'",
      '="',
      '"',
      '.0',
      '7',
      'İ',
      'Ａ',
      '\u00a0',
      'ﬀ',
      'И',
      '–',
      '´',
      '²',
      '\ud800',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(parts).map((some) => some.join('')),
    );
    fc.assert(
      fc.property(text, (sku) => {
        const normal = normalSku(sku);
        expect(normalSku(normal)).toBe(normal);
        expect(normal).not.toMatch(/\s/);
        expect(normalSku(` ${sku.toUpperCase().toLowerCase()}\u200b`)).toBe(
          normalSku(sku.toUpperCase().toLowerCase()),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('that is very long costs little', () => {
    const start = performance.now();
    expect(skus.whyOurs('x'.repeat(2_000_000), [])).toBeNull();
    expect(skus.whyOurs('&amp;'.repeat(400_000), [])).toBeNull();
    expect(performance.now() - start).toBeLessThan(1000);
  });
});

describe('a quoted text', () => {
  it.each([
    ['STEAM\u00a020', '"STEAM\\u00a020"'],
    ['STEAM-20 ', '"STEAM-20 "'],
    ['\u200bA\n', '"\\u200bA\\u000a"'],
    ['日本 é', '"日本 é"'],
    ['x'.repeat(80), `"${'x'.repeat(63)}…"`],
  ])('shows what nobody sees in %j', (text, shown) => {
    expect(quoted(text)).toBe(shown);
  });
});
