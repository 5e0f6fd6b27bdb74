import { describe, expect, it } from 'vitest';
import { decideSubmission } from '../../../src/core/decision/decide-submission.ts';
import { lineStateOf, orderStateOf } from '../../../src/core/result/result-document.ts';
import { facts, half, outcomeUnknown, now, outcome, policy } from '../../support/facts.ts';

describe('an order that is out of stock and takes fewer', () => {
  const order = facts({ state: 'sending', quantity: 5, rules: { partial: true } });
  const sizes = (changes: Partial<typeof order>): readonly (number | null)[] =>
    decideSubmission({ ...order, ...changes }, outcome('out_of_stock'), policy, now, half).replacements.map(
      (part) => part.quantity,
    );

  it('is ordered in halves, three times over at most, and never without saying so', () => {
    expect(sizes({})).toEqual([3, 2]);
    expect(sizes({ generation: 2, part: 3 })).toEqual([3, 2]);
    expect(sizes({ generation: 3 })).toEqual([]);
    expect(sizes({ quantity: 1 })).toEqual([]);
    expect(sizes({ rules: { split: true } })).toEqual([]);
    // A limit that was learned says nothing about the stock.
    expect(sizes({ knownLimit: 1 })).toEqual([3, 2]);
  });

  it('is not halved while its own first order may have emptied the stock, nor after its deadline', () => {
    expect(sizes({ ...outcomeUnknown, state: 'sending' })).toEqual([]);
    expect(sizes({ notAfterMs: now })).toEqual([]);
  });
});

describe('a line of several entries', () => {
  it('is told as bought in part when some of it was bought, and the order with it', () => {
    expect(lineStateOf(['fulfilled', 'rejected'])).toBe('partial');
    expect(lineStateOf(['refunded', 'expired', 'fulfilled'])).toBe('partial');
    expect(orderStateOf(['partial'])).toBe('partial');
    expect(orderStateOf(['partial', 'rejected'])).toBe('partial');
  });

  it('is not told as anything final while one of them is open', () => {
    expect(lineStateOf(['fulfilled', 'rejected', 'waiting'])).toBe('waiting');
    expect(lineStateOf(['fulfilled', 'needs_review'])).toBe('needs_review');
    expect(lineStateOf(['rejected', 'expired'])).toBe('rejected');
    expect(lineStateOf(['fulfilled', 'fulfilled'])).toBe('fulfilled');
    expect(orderStateOf(['fulfilled', 'rejected'])).toBe('partial');
    expect(orderStateOf(['rejected'])).toBe('failed');
  });
});
