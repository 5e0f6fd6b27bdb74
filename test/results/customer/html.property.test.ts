import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Unit } from '../../../src/core/answers/order-answer.ts';
import { renderOrder } from '../../../src/results/customer/render-order.ts';
import { elementsOf, emptyLine, programTemplates, shownValues } from './rendering.ts';

/** What an attacker, or a careless supplier, would write in the place of a code. */
const strange = [
  '</bdi><script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '<!--',
  '-->',
  ']]>',
  '</div></div></p>',
  '<plaintext>',
  '{{code}}',
  '{{{pin}}}',
  '{{#lines}}',
  '&lt;b&gt; &amp; &#60; &nbsp;',
  '\u2069\u202E\u2066',
  ' two  spaces ',
  'line\nfeed\r\nand\rreturn\ttab',
  '\u00A0\u3000\uFEFF',
  '\u0085\u2028',
  '<svg/onload=alert(1)>',
  'javascript:alert(1)',
  'https://a.example/"><script>',
  'https://a.example/?a=1&lt=2&copy=3',
  'data:image/png;base64,AAAA" onload="alert(1)',
  'LPA:1$a.example$<b>"&\'',
];
const value = fc
  .oneof(fc.constantFrom(...strange), fc.string({ unit: 'binary', maxLength: 20 }), fc.string({ maxLength: 20 }))
  .map((text) => text.replaceAll('\0', '') || 'x');

const cardFields = ['code', 'pin', 'serial', 'url', 'expires_at'] as const;
const esimFields = ['iccid', 'lpa', 'smdp_address', 'matching_id', 'confirmation_code', 'expires_at'] as const;
const record = (fields: readonly (keyof Unit)[]): fc.Arbitrary<Unit> =>
  fc.record(Object.fromEntries(fields.map((field) => [field, value])));

/** Tags and names of attributes of a page, in their order: no value may change them. */
const skeletonOf = (html: string): readonly string[] =>
  elementsOf(html).map(({ tag, attributes }) => `${tag} ${Object.keys(attributes).join(' ')}`);

interface Order {
  readonly orderId: string;
  readonly card: Unit;
  readonly esim: Unit;
}

function render({ orderId, card, esim }: Order) {
  const lines = [{ ...emptyLine, giftCards: [card], esims: [esim] }];
  return renderOrder(programTemplates, { orderId, lines }, new Map());
}

/** The addresses are links, or are not, by their own value; they are judged one by one. */
const withoutLinks = (skeleton: readonly string[]): readonly string[] =>
  skeleton.filter((element) => !element.startsWith('a ') && element !== 'img src alt style');

describe('no value of a unit', () => {
  const plain: Order = {
    orderId: '1001',
    card: Object.fromEntries(cardFields.map((field) => [field, `card ${field}`])),
    esim: Object.fromEntries(esimFields.map((field) => [field, `esim ${field}`])),
  };
  const orders = fc.record({
    orderId: value,
    card: record(cardFields),
    esim: record([...esimFields, 'apple_install_url']),
  });

  it('changes the page around it, and each is in it exactly once and unaltered', () => {
    fc.assert(
      fc.property(orders, (order) => {
        const { html } = render(order);
        const calm = render(plain).html;
        expect(withoutLinks(skeletonOf(html))).toEqual(withoutLinks(skeletonOf(calm)));
        const { card, esim } = order;
        const expected = [
          order.orderId,
          ...cardFields.map((field) => card[field]),
          ...esimFields.map((field) => esim[field]),
        ];
        expect(shownValues(html).toSorted()).toEqual(expected.map(String).toSorted());
        for (const { attributes } of elementsOf(html).filter(({ tag }) => tag === 'a')) {
          expect(Object.keys(attributes)).toEqual(['href', 'style']);
          expect(new URL(attributes['href'] ?? '').protocol).toBe('https:');
        }
      }),
      { numRuns: Number(process.env['FUZZ_RUNS'] ?? 400) },
    );
  });

  it('is altered in the plain text, or stands there twice', () => {
    fc.assert(
      fc.property(value, (code) => {
        const without = render({ ...plain, card: { code: '' } }).text;
        const card = { code: `BEGIN${code}END` };
        const { text } = render({ ...plain, card });
        expect(text.split(card.code)).toHaveLength(2);
        expect(without).not.toContain('BEGIN');
      }),
    );
  });

  it.each(['A\0B', 'A\uD800B'])('that a page cannot show unaltered is shown in another form', (code) => {
    expect(() => render({ ...plain, card: { code } })).toThrow('a value has a character that a page cannot show');
  });
});
