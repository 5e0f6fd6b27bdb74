import { expect, it } from 'vitest';
import { attentionReasons, type AttentionReason } from '../../../src/core/operator/attention.ts';
import { headlineOf, pauseHeadline } from '../../../src/core/operator/headline.ts';

it('says every cause in plain words, with a capital letter, and without a code', () => {
  for (const reason of Object.keys(attentionReasons)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these are its keys
    const cause = { reason: reason as AttentionReason, code: 'any', subject: null };
    expect(headlineOf(cause)).toMatch(/^[A-Z][^_%]+[^.]$/);
  }
});

it('names what it is about: a product as it is, a scope in words', () => {
  const of = (reason: AttentionReason, subject: string, code = 'any') =>
    headlineOf({ reason, code, subject });
  expect(of('rejected', 'steam-usd-20')).toBe('The supplier refuses steam-usd-20');
  expect(of('rejected', 'steam-$&', 'out_of_stock')).toBe('steam-$& is out of stock');
  expect(of('key_denied', 'key:main')).toBe('The supplier refuses the key "main"');
  expect(pauseHeadline('balance:EUR', 'insufficient_balance', 'balance_too_low')).toBe(
    'The EUR balance is too low',
  );
  expect(pauseHeadline('account', 'api_unreachable')).toBe('The supplier does not answer');
  expect(pauseHeadline('variant:a:b', 'mismatch')).toBe('a:b is paused');
  expect(of('sink_paused', 'folder')).toBe('No results reach folder');
  expect(pauseHeadline('account', 'manual')).toBe('Everything is paused by an operator');
  expect(pauseHeadline('family:esim', 'mismatch')).toBe('Buying of eSIMs is paused');
  expect(headlineOf({ reason: 'price_rose', code: 'price_rose', subject: null })).toBe(
    'A product costs more than before',
  );
  expect(of('gone_in_shop', 'a-5')).toBe('The shop has deleted an order: a-5');
});
