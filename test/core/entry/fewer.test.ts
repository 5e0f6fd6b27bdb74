import { describe, expect, it } from 'vitest';
import { decideSubmission } from '../../../src/buying/decision/decide-submission.ts';
import { lineStateOf, orderStateOf } from '../../../src/core/result/result-document.ts';
import {
  facts,
  noJitter,
  outcomeUnknown,
  now,
  outcome,
  policy,
  refused,
} from '../../support/facts.ts';

describe('an order that is out of stock and allows fewer units', () => {
  const order = facts({ state: 'sending', quantity: 5, rules: { partial: true } });
  const sizes = (changes: Partial<typeof order>): readonly (number | null)[] =>
    refused({ ...order, ...changes }, 'out_of_stock').replacements.map((part) => part.quantity);

  it('is split in two, three times at most, and only if it allows that', () => {
    expect(sizes({})).toEqual([3, 2]);
    expect(sizes({ generation: 2, part: 3 })).toEqual([3, 2]);
    expect(sizes({ generation: 3 })).toEqual([]);
    expect(sizes({ quantity: 1 })).toEqual([]);
    expect(sizes({ rules: { split: true } })).toEqual([]);
    // A limit that was learned says nothing about the stock.
    expect(sizes({ knownLimit: 1 })).toEqual([3, 2]);
  });

  it('is not split while its own first attempt may have emptied the stock, nor after its deadline', () => {
    const unclear = { ...order, ...outcomeUnknown, state: 'sending' } as const;
    expect(
      decideSubmission(unclear, outcome('out_of_stock'), policy, now, noJitter).replacements,
    ).toEqual([]);
    expect(sizes({ notAfterMs: now })).toEqual([]);
  });
});

describe('the result of a line with several entries', () => {
  it('is partial when only some of it was bought, and so is that of the order', () => {
    expect(lineStateOf(['fulfilled', 'rejected'])).toBe('partial');
    expect(lineStateOf(['refunded', 'expired', 'fulfilled'])).toBe('partial');
    expect(orderStateOf(['partial'])).toBe('partial');
    expect(orderStateOf(['partial', 'rejected'])).toBe('partial');
  });

  it('is not final while one of the entries is open', () => {
    expect(lineStateOf(['fulfilled', 'rejected', 'waiting'])).toBe('waiting');
    expect(lineStateOf(['fulfilled', 'needs_review'])).toBe('needs_review');
    expect(lineStateOf(['rejected', 'expired'])).toBe('rejected');
    expect(lineStateOf(['fulfilled', 'fulfilled'])).toBe('fulfilled');
    expect(orderStateOf(['fulfilled', 'rejected'])).toBe('partial');
    expect(orderStateOf(['rejected'])).toBe('failed');
  });
});
