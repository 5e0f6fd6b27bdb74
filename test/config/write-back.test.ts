import { describe, expect, it } from 'vitest';
import { resultSinks } from '../../src/app/open-outbox.ts';
import { load, minimal, mistakesOf } from './config-file.ts';

const sandbox = minimal.replace('wholesale:', 'wholesale:\n  environment: sandbox');
const rest = 'rest: { url: "https://shop.example.com", consumer_key: ck_1, consumer_secret: cs_1 }';
const shopOf = (...keys: string[]): string =>
  `${sandbox}intake:\n  webhook: { listen: "127.0.0.1:0", woocommerce: [{ ${['shop: main', 'source: own', 'sku_map: x', 'secrets: [{ value: a-secret-that-is-long }]', ...keys].join(', ')} }] }\n`;

describe('the configuration of write-back', () => {
  it('is off by default, and gives nobody a code unless it says so', () => {
    const off = load(shopOf(rest)).config;
    expect([off.intake.shops[0]?.writeBack, resultSinks(off).map(({ name }) => name)]).toEqual([
      null,
      ['folder', 'csv'],
    ]);
    const on = load(shopOf(rest, 'write_back: {}')).config;
    const defaults = { status: 'completed', deliverCodes: 'off', lineMeta: false };
    expect(on.intake.shops[0]?.writeBack).toEqual(defaults);
    expect(resultSinks(on)).toContainEqual({ name: 'woocommerce:main', sources: ['own'] });
  });

  it('needs the API of the shop', () => {
    expect(mistakesOf(shopOf('write_back: {}')).join()).toContain(
      'write_back needs `rest`, which is not set',
    );
  });

  it('refuses to write codes into the field that names an eSIM to top up', () => {
    const mistakes = mistakesOf(
      shopOf(rest, 'iccid_field: code', 'write_back: { line_meta: true }'),
    );
    expect(mistakes.join()).toContain(
      'line_meta writes delivered codes into the field "Code" of lines, but iccid_field',
    );
    expect(mistakesOf(shopOf(rest, 'write_back: { line_meta: true }'))).toEqual([]);
  });
});
