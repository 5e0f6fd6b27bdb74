import { describe, expect, it } from 'vitest';
import { readScope, scopeFrom, scopesOf } from '../../../src/core/order/scope.ts';

const bought = { operation: 'gift_card_order', variant: 'v', plan: null, currency: 'USD' } as const;
const cancel = { operation: 'esim_cancel', variant: null, plan: null, currency: null } as const;

describe('the text of a scope', () => {
  it.each([
    ['account', { kind: 'account' }],
    ['key:main', { kind: 'key', name: 'main' }],
    ['balance:USD', { kind: 'balance', currency: 'USD' }],
    ['family:esim', { kind: 'family', family: 'esim' }],
    ['variant:steam-10', { kind: 'variant', id: 'steam-10' }],
    // The id of a product is the supplier's: it may hold anything.
    ['plan:a:b|c d', { kind: 'plan', id: 'a:b|c d' }],
    [`variant:${'x'.repeat(256)}`, { kind: 'variant', id: 'x'.repeat(256) }],
  ])('%s is read', (text, scope) => {
    expect(scopeFrom(text)).toEqual(scope);
  });

  it.each([
    '',
    'Account',
    'account:',
    'account:x',
    'key:',
    'balance:usd',
    'balance:USDX',
    'family:',
    'family:books',
    'variant:',
    'plan',
    'order:1',
    `plan:${'x'.repeat(257)}`,
    `key:${'x'.repeat(65)}`,
  ])('"%s" names none', (text) => {
    expect(scopeFrom(text)).toBeNull();
    expect(() => readScope(text)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
  });
});

it('an entry belongs to its product, its family and its balance; a cancel to its family alone', () => {
  expect(scopesOf(bought)).toEqual({
    product: 'variant:v',
    family: 'family:gift_card',
    balance: 'balance:USD',
  });
  expect(scopesOf(cancel)).toEqual({ product: null, family: 'family:esim', balance: null });
});
