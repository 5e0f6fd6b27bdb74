import { describe, expect, it } from 'vitest';
import type { EndedCall } from '../../src/core/scopes/judge-call.ts';
import { ProvenProducts } from '../../src/submit/proven-products.ts';

const product = 'variant:card';
const call = (purpose: EndedCall['purpose'], row: EndedCall['row']): EndedCall => ({
  entryId: 1,
  scopes: { product, family: 'family:gift_card', balance: null },
  namesEsim: false,
  purpose,
  row,
  isAccepted: row === 'accepted',
  isAnswered: true,
  isUnread: false,
  isProvenAbsent: false,
  sentMono: 0,
  endedMono: 0,
  trialOf: [],
  message: '',
});

describe('a product that was bought', () => {
  it.each<[EndedCall['row'], boolean]>([
    ['server_error', false],
    ['answer_mismatch', false],
    ['out_of_stock', true],
    ['rate_limited', true],
  ])('whose next order ends with %s is sound: %s', (row, isSound) => {
    const products = new ProvenProducts(1);
    products.record(call('submit', 'accepted'), 0);
    products.record(call('submit', row), 1000);
    expect(products.isSound(product)).toBe(isSound);
    expect(products.wasBought(product)).toBe(true);
  });

  it('is sound again as soon as a lookup finds the order whose answer showed other goods', () => {
    const products = new ProvenProducts(1);
    products.record(call('submit', 'accepted'), 0);
    products.record(call('submit', 'answer_mismatch'), 1000);
    products.record(call('lookup', 'accepted'), 2000);
    expect(products.isSound(product)).toBe(true);
  });
});
