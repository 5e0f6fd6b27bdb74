import { describe, expect, it } from 'vitest';
import type { EndedCall } from '../../../src/buying/breakers/judge-call.ts';
import { Products } from '../../../src/buying/breakers/products.ts';

const product = 'variant:card';
const call = (purpose: EndedCall['purpose'], row: EndedCall['row'], name = product): EndedCall => ({
  entryId: 1,
  scopes: { product: name, family: 'family:gift_card', balance: null },
  namesEsim: false,
  purpose,
  row,
  isAccepted: row === 'accepted',
  isAnswered: true,
  isUnread: false,
  isDeniedAlone: false,
  confirmed: null,
  isProvenAbsent: false,
  endedMs: 0,
  trialOf: [],
  message: '',
});

/** A product that was bought, and what else ended since. */
function productsAfter(...ends: readonly EndedCall[]): Products {
  const products = new Products(1);
  for (const [index, end] of [call('submit', 'accepted'), ...ends].entries())
    products.record(end, index);
  return products;
}

describe('a product that was bought', () => {
  it.each<[EndedCall['purpose'], EndedCall['row'], boolean]>([
    ['submit', 'server_error', true],
    ['submit', 'deadline', true],
    ['submit', 'answer_mismatch', true],
    ['submit', 'account_not_allowed', true],
    ['submit', 'out_of_stock', false],
    ['submit', 'rate_limited', false],
    // A lookup that hangs says nothing about orders.
    ['lookup', 'deadline', false],
  ])('whose next %s ends with %s is failing: %s', (purpose, row, isFailing) => {
    const products = productsAfter(call(purpose, row));
    expect(products.isFailing(product)).toBe(isFailing);
    expect(products.isProven(product)).toBe(true);
  });

  it('fails no more as soon as a lookup finds the order whose answer showed other goods', () => {
    expect(
      productsAfter(call('submit', 'answer_mismatch'), call('lookup', 'accepted')).isFailing(
        product,
      ),
    ).toBe(false);
  });

  it('is not proven by an order whose units, when they come, have a field that is not read', () => {
    const unread = { ...call('lookup', 'accepted'), isAccepted: false, isUnread: true };
    expect(productsAfter(unread).isProven(product)).toBe(false);
  });

  it('is remembered, with what failed since, by the next worker', () => {
    const products = new Products(1);
    products.remember(['variant:a', 'variant:b'], ['variant:b', 'variant:c']);
    expect(['a', 'b', 'c'].map((name) => products.isProven(`variant:${name}`))).toEqual([
      true,
      true,
      false,
    ]);
    expect(['a', 'b', 'c'].map((name) => products.isFailing(`variant:${name}`))).toEqual([
      false,
      true,
      true,
    ]);
  });
});

describe('a product whose orders are denied', () => {
  const denied = call('submit', 'account_not_allowed');
  const other = call('submit', 'accepted', 'variant:other');

  it('is denied alone once another order was accepted after its own denial', () => {
    expect(productsAfter(denied).isDeniedAlone(product, 'invalid_key')).toBe(false);
    expect(productsAfter(denied, other).isDeniedAlone(product, 'invalid_key')).toBe(true);
    expect(productsAfter(denied, other).isDeniedAlone('variant:other', 'invalid_key')).toBe(false);
    expect(productsAfter(denied, other).isDeniedAlone(product, 'api_disabled')).toBe(false);
  });

  it('is not denied alone when it was accepted itself, or when nothing was accepted since', () => {
    expect(
      productsAfter(denied, other, call('submit', 'accepted')).isDeniedAlone(
        product,
        'invalid_key',
      ),
    ).toBe(false);
    expect(productsAfter(denied, other, denied).isDeniedAlone(product, 'invalid_key')).toBe(false);
  });
});

it('a failing product is one of many from the fourth on', () => {
  const names = ['a', 'b', 'c', 'd'].map((name) => `variant:${name}`);
  const products = productsAfter(
    ...names.slice(0, 3).map((name) => call('submit', 'server_error', name)),
  );
  expect(products.isOneOfMany('variant:a')).toBe(false);
  products.record(call('submit', 'server_error', 'variant:d'), 9);
  expect(products.isOneOfMany('variant:a')).toBe(true);
  expect(products.isOneOfMany(product)).toBe(false);
});
