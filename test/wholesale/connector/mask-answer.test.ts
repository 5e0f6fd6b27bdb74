import { describe, expect, it } from 'vitest';
import type { ExactJson } from '../../../src/core/exact-json.ts';
import { maskedAnswer } from '../../../src/wholesale/connector/mask-answer.ts';
import { readWire } from '../../../src/wholesale/connector/wire.ts';

const code = 'QWER-7KQ2-ZXCV';
const lpa = 'LPA:1$smdp.example.com$MATCH-4711-XY';

function masked(body: ExactJson, changes: unknown = {}, order = body): string {
  const wire = readWire({ answer: changes }).answer;
  return maskedAnswer(body, { family: 'gift_card', wire, order, known: ['steam-10'] }) ?? '';
}

describe('an answer that is kept', () => {
  it('shows what is no code, and of everything else the form', () => {
    const body = {
      order: {
        number: 'W-1001',
        reference: 'os-abcd',
        status: 'SHIPPED',
        total: '18.90',
        currency: 'USD',
        note: 'Hi 5',
      },
      variant: 'steam-10',
      codes: [
        { code, pin: '4711', type: 'text', status: 'pending', redeem: 'https://shop.example/x1' },
      ],
    };
    expect(JSON.parse(masked(body))).toEqual({
      order: {
        number: 'W-1001',
        reference: 'os-abcd',
        status: 'SHIPPED',
        total: '18.90',
        currency: 'USD',
        note: 'AA 9',
      },
      variant: 'steam-10',
      codes: [
        {
          code: 'AAAA-9AA9-AAAA',
          pin: '9999',
          type: 'AAAA',
          status: 'pending',
          redeem: 'https://AAAA.AAAAAAA/A9',
        },
      ],
    });
  });

  it('shows the words of code and message of the error body, and what may be a code in neither', () => {
    const body = { error: { code: `sold_${code}`, message: `Sold before: ${code}, 2 left` } };
    expect(JSON.parse(masked(body))).toEqual({
      error: { code: '***', message: 'Sold before: ***, 2 left' },
    });
  });

  it('shows code and message of the error body, and no other value of it', () => {
    const body = { error: { code: 'out_of_stock', message: 'None left', detail: code } };
    expect(JSON.parse(masked(body))).toEqual({
      error: { code: 'out_of_stock', message: 'None left', detail: 'AAAA-9AA9-AAAA' },
    });
  });

  it('shows the order of a list that is ours in clear, and the others by their form', () => {
    const [other, ours] = [
      { number: 'W-1', codes: [code] },
      { number: 'W-2', codes: [code] },
    ];
    expect(JSON.parse(masked({ orders: [other, ours] }, {}, ours))).toEqual({
      orders: [
        { number: 'A-9', codes: ['AAAA-9AA9-AAAA'] },
        { number: 'W-2', codes: ['AAAA-9AA9-AAAA'] },
      ],
    });
  });

  // What a wrong mapping takes for the number, the status or the cost, or does not know at all.
  const wrong = [
    {},
    { number: ['code', 'codes'], status: ['pin'], cost: ['price'] },
    { codes: { lists: ['nothing'] } },
    { envelopes: ['codes', 'data', 'order'] },
    { number: ['id'], codes: { lists: ['units'], code: ['id'] } },
  ];
  const places: readonly ((unit: string) => ExactJson)[] = [
    (unit) => ({ number: '1', codes: [{ code: unit, pin: '4711-0815' }] }),
    (unit) => ({ number: '1', codes: [unit] }),
    (unit) => ({ number: '1', codes: { [unit]: { pin: unit } } }),
    (unit) => ({
      data: {
        id: '1',
        items: [{ id: unit, status: unit, number: unit, deliveries: [{ secret: unit }] }],
      },
    }),
    (unit) => ({ data: [{ attributes: { units: [{ value: { inner: `Your code: ${unit}` } }] } }] }),
    (unit) => ({ order: { esim: { activation: { code: unit } } } }),
    (unit) => ({ error: { code: 'x', message: 'no', units: [unit] } }),
  ];
  it.each(wrong)('has no code in it, whatever the mapping says: %j', (changes) => {
    for (const place of places) {
      for (const unit of [code, lpa, 'abcdefghijk'.toUpperCase()]) {
        const text = masked(place(unit), changes);
        expect(text.length).toBeGreaterThan(10);
        expect(text).not.toContain(unit.split('$').at(-1));
      }
    }
  });

  it('is not kept when it is longer than 32 KiB', () => {
    expect(maskedAnswer({ codes: Array.from({ length: 9000 }, () => 'abc') }, part)).toBeNull();
  });
  const part = {
    family: 'gift_card',
    wire: readWire(undefined).answer,
    order: {},
    known: [],
  } as const;
});
