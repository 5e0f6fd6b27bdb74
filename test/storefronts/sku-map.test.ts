import { describe, expect, it } from 'vitest';
import { readSkuMap } from '../../src/storefronts/sku-map.ts';

describe('a SKU map', () => {
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
    ['an unknown type', 'yaml', 'skus: { A: { type: card, variant: v } }', 'skus.A'],
    ['a mistyped field', 'yaml', 'skus: { A: { type: gift_card_order, varient: v } }', 'skus.A'],
    ['no product', 'yaml', 'skus: { A: { type: esim_order } }', 'skus.A.plan'],
    [
      'a quantity of none',
      'yaml',
      'skus: { A: { type: gift_card_order, variant: v, quantity: 0 } }',
      'skus.A.quantity',
    ],
    ['a SKU twice', 'yaml', 'skus:\n  A: { type: esim_order, plan: p }\n  A: { type: esim_order, plan: q }', 'unique'],
    ['a SKU twice', 'csv', 'sku,type,plan\nA,esim_order,p\nA,esim_order,q\n', '"A" twice'],
    ['an incomplete row', 'csv', 'sku,type,plan\nA,esim_order\n', 'not CSV'],
    ['days in words', 'csv', 'sku,type,plan,days\nA,esim_order,p,seven\n', 'skus.A.days'],
    ['a list in place of a map', 'yaml', '- A\n', 'mistakes'],
    ['a syntax error', 'yaml', 'skus: {', 'not YAML'],
  ] as const)('with %s (%s) is refused as a whole', (_, format, content, problem) => {
    expect(() => readSkuMap(content, format)).toThrow(problem);
  });
});
