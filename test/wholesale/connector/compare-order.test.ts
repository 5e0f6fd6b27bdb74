import { describe, expect, it } from 'vitest';
import type { Purchase } from '../../../src/core/order/purchase.ts';
import { findDifference } from '../../../src/wholesale/connector/compare-order.ts';
import { parseExactJsonBytes } from '../../../src/core/exact-json.ts';
import { readWire, wireSchema, type Wire } from '../../../src/wholesale/connector/wire.ts';

const card: Purchase = {
  operation: 'gift_card_order',
  variant: 'steam-10',
  plan: null,
  iccid: null,
  quantity: 2,
  days: null,
  currency: 'USD',
};
const daily = { ...card, operation: 'esim_order', variant: null, plan: 'fr-1gb', days: 7 } as const;
const topup = {
  ...card,
  operation: 'esim_topup',
  variant: null,
  plan: 'p',
  quantity: null,
  iccid: '8988211000000000001',
} as const;

function difference(
  body: unknown,
  ordered: Purchase = card,
  wire: Wire = readWire(undefined),
): string | null {
  const json = parseExactJsonBytes(Buffer.from(JSON.stringify(body)));
  if (json === undefined) throw new Error('not JSON');
  return findDifference(json, ordered, wire);
}

describe('the order that a lookup found', () => {
  it.each([
    [
      'a part of another product',
      { reference: 'os-1', variant: 'steam-1' },
      card,
      'product "steam-1"',
    ],
    [
      'another number as its product',
      { reference: 'os-1', variant: '12.5' },
      { ...card, variant: '12' },
      '"12.5"',
    ],
    [
      'another product',
      { reference: 'os-1', variant: 'steam-20' },
      card,
      'product "steam-20", but "steam-10" was ordered',
    ],
    [
      'another quantity',
      { data: { reference: 'os-1', quantity: 3 } },
      card,
      'quantity "3", but "2" was ordered',
    ],
    [
      'another balance',
      { reference: 'os-1', currency: 'eur' },
      card,
      'currency "EUR", but "USD" was ordered',
    ],
    [
      'another plan',
      { reference: 'os-1', plan: 'de-1gb' },
      daily,
      'product "de-1gb", but "fr-1gb" was ordered',
    ],
    ['other days', { reference: 'os-1', days: 30 }, daily, 'days "30", but "7" was ordered'],
    [
      'another eSIM',
      { reference: 'os-1', iccid: '8988211000000000002' },
      topup,
      'iccid "8988211000000000002"',
    ],
  ])('differs from the purchase when it shows %s', (_what, body, ordered, sentence) => {
    expect(difference(body, ordered)).toContain(sentence);
  });

  it.each([
    [
      'everything as it was asked',
      { reference: 'os-1', variant: 'steam-10', quantity: '2.0', currency: 'usd' },
      card,
    ],
    ['nothing of it', { reference: 'os-1', status: 'completed' }, card],
    ['the product as an object', { reference: 'os-1', variant: { id: 7, name: 'Steam 10' } }, card],
    ['the product under another name', { reference: 'os-1', product: 'Steam Wallet 10 USD' }, card],
    ['the product in another spelling', { reference: 'os-1', variant: ' STEAM-10' }, card],
    ['the product as a number', { reference: 'os-1', variant: 12 }, { ...card, variant: '12' }],
    [
      'the product as a decimal number',
      { reference: 'os-1', variant: '12.0' },
      { ...card, variant: '12' },
    ],
    [
      'a smaller quantity, perhaps what was delivered so far',
      { reference: 'os-1', quantity: 1 },
      card,
    ],
    ['a quantity in words', { reference: 'os-1', quantity: 'two' }, card],
    ['a balance by its name', { reference: 'os-1', currency: 'US dollars' }, card],
    ['the eSIMs that it brought', { reference: 'os-1', iccid: '8988211000000000002' }, daily],
    [
      'something else, for a cancel',
      { reference: 'os-1', plan: 'x' },
      { ...topup, operation: 'esim_cancel' } as const,
    ],
  ])('does not differ from the purchase when it shows %s', (_what, body, ordered) => {
    expect(difference(body, ordered)).toBeNull();
  });

  it('is compared only in the fields that the mapping lists', () => {
    const wire = wireSchema.parse({ lookup: { compare: ['quantity'] } });
    expect(difference({ reference: 'os-1', variant: 'other', quantity: 2 }, card, wire)).toBeNull();
    expect(difference({ reference: 'os-1', variant: 'other', quantity: 3 }, card, wire)).toContain(
      'quantity',
    );
  });
});
