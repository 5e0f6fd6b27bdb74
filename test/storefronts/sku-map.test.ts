import { describe, expect, it } from 'vitest';
import { readSkuMap } from '../../src/storefronts/sku-file.ts';

const mistaken = `skus:
  A: { type: gift_card_order, variant: v,
       varient: w }
  B:
    type: gift_card_order
    quantity: 0
    variant: v
`;

describe('a SKU map', () => {
  it.each([';', '\t'])('may have another separator than a comma: %j', (separator) => {
    const text =
      '\uFEFFsku,type,variant,quantity\r\n"A,B",gift_card_order,v,2\r\nC;D,gift_card_order,w,1\r\n';
    const rows = text.replaceAll(/(?<!A),/g, separator).replace('C;D', '"C;D"');
    expect([...readSkuMap(rows, 'csv').keys()]).toEqual(['A,B', 'C;D']);
  });

  it.each([
    ['yaml', ''],
    ['yaml', 'skus:\n'],
    ['yaml', 'skus: {}\n'],
    ['csv', 'sku,type,variant\n'],
  ] as const)('without a SKU is refused as such (%s, %j)', (format, content) => {
    expect(() => readSkuMap(content, format)).toThrow('names no SKU: add at least one');
  });

  it('has the same content in YAML and in CSV', () => {
    const yaml = readSkuMap(
      'skus:\n  A-1: { type: gift_card_order, variant: v, quantity: 3, currency: EUR }\n  "0012": { type: esim_order, plan: p, days: 7 }\n',
      'yaml',
    );
    const csv = readSkuMap(
      '\uFEFFsku,type,variant,plan,days,quantity,currency\r\nA-1,gift_card_order,v,,,3,EUR\r\n0012,esim_order,,p,7,,\r\n',
      'csv',
    );
    expect(csv).toEqual(yaml);
    expect([...yaml.keys()]).toEqual(['A-1', '0012']);
  });

  it.each([
    [
      'yaml',
      'skus:\n  A: { type: esim_order, plan: p }\n  __proto__: { type: esim_order, plan: q }\n',
    ],
    ['csv', 'sku,type,plan\nA,esim_order,p\n__proto__,esim_order,q\n'],
  ] as const)('takes any name for a SKU (%s)', (format, content) => {
    const map = readSkuMap(content, format);
    expect([...map.keys()]).toEqual(['A', '__proto__']);
    expect(map.get('__proto__')).toMatchObject({ plan: 'q' });
  });

  it('has the rules of a SKU in both forms', () => {
    const yaml = readSkuMap(
      'skus:\n  A: { type: gift_card_order, variant: v, split: true, partial: false, fallback_currency: EUR, wait_h: 48, not_after: 2026-12-31T23:59:59Z }\n',
      'yaml',
    );
    const csv = readSkuMap(
      'sku,type,variant,split,partial,fallback_currency,wait_h,not_after\nA,gift_card_order,v,true,FALSE,EUR,48,2026-12-31T23:59:59Z\n',
      'csv',
    );
    expect(csv).toEqual(yaml);
    expect(yaml.get('A')).toMatchObject({ split: true, partial: false, wait_h: 48 });
  });

  it.each([
    ['an unknown type', 'yaml', 'skus: { A: { type: card, variant: v } }', 'skus.A'],
    ['a mistyped field', 'yaml', 'skus: { A: { type: gift_card_order, varient: v } }', 'skus.A'],
    ['no product', 'yaml', 'skus: { A: { type: esim_order } }', 'skus.A.plan'],
    [
      'a quantity of none',
      'yaml',
      'skus: { A: { type: gift_card_order, variant: v, quantity: 0 } }',
      'skus.A.quantity',
    ],
    [
      'a SKU twice',
      'yaml',
      'skus:\n  A: { type: esim_order, plan: p }\n  A: { type: esim_order, plan: q }',
      'line 3: the key "A" is there twice',
    ],
    [
      'a field twice',
      'yaml',
      'skus: { A: { type: esim_order, plan: p, plan: q } }',
      'the key "plan" is there twice',
    ],
    [
      'a SKU twice',
      'csv',
      'sku,type,plan\nA,esim_order,p\nA,esim_order,q\n',
      'line 3: the SKU "A" is there twice; first in line 2',
    ],
    [
      'two SKUs that differ in case only',
      'yaml',
      'skus:\n  A-1: { type: esim_order, plan: p }\n  B: { type: esim_order, plan: p }\n  a-1: { type: esim_order, plan: q }\n',
      /line 2, skus\.A-1: "A-1" and "a-1" count as one SKU.*line 4, skus\.a-1: "A-1" and "a-1" count as one SKU/s,
    ],
    [
      'two SKUs that differ in a dash only',
      'csv',
      'sku,type,plan\nA-1,esim_order,p\nA–1,esim_order,q\n',
      /line 2, skus\.A-1: .*line 3, skus\.A–1: /s,
    ],
    ['an incomplete row', 'csv', 'sku,type,plan\nA,esim_order\n', 'line 2: is not CSV'],
    [
      'a rule in words',
      'csv',
      'sku,type,plan,split\nA,esim_order,p,maybe\n',
      'line 2, skus.A.split',
    ],
    [
      'a date for a time',
      'yaml',
      'skus: { A: { type: esim_order, plan: p, not_after: 2026-12-31 } }',
      'skus.A.not_after',
    ],
    ['days in words', 'csv', 'sku,type,plan,days\nA,esim_order,p,seven\n', 'skus.A.days'],
    ['a list in place of a map', 'yaml', '- A\n', 'mistakes'],
    ['a syntax error', 'yaml', 'skus:\n  A: {', 'line 2: is not YAML'],
    ['mistakes in several places', 'yaml', mistaken, 'line 3, skus.A: '],
    ['mistakes in several places', 'yaml', mistaken, 'line 6, skus.B.quantity: '],
    [
      'a mistyped column',
      'csv',
      'sku,type,plan\n\nA,esim_order,p\nB,esim_ordr,p\n',
      'line 4, skus.B.type: ',
    ],
  ] as const)('with %s (%s) is refused as a whole', (_, format, content, problem) => {
    expect(() => readSkuMap(content, format)).toThrow(problem);
  });
});
