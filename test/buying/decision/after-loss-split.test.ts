import { describe, expect, it } from 'vitest';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import type { EntryFacts, Settlement } from '../../../src/buying/decision/settlement.ts';
import type { OutcomeRow } from '../../../src/core/answers/outcome.ts';
import { facts, noJitter, now, policy, saidBefore } from '../../support/facts.ts';

const absent = { kind: 'absent' } as const;
const refused = (row: OutcomeRow) => ({ row, code: row, message: 'not now' });
/**
 * Looked up after a loss under both references, sent, rejected while its outcome was unknown, and
 * looked up again.
 */
const sought = (changes: Partial<EntryFacts>): Settlement =>
  decideLookup(
    facts({
      state: 'unknown',
      outcomeUnknown: true,
      recoveryStage: 'done',
      quantity: 4,
      rules: { split: true },
      ...saidBefore,
      ...changes,
    }),
    absent,
    policy,
    now,
    noJitter,
  );

describe('an order above a per-order limit, after the loss of the outbox,', () => {
  it.each<[string, Partial<EntryFacts>]>([
    ['is out of stock now', { buffered: refused('out_of_stock') }],
    [
      'is out of stock now, and may wait',
      { buffered: refused('out_of_stock'), notAfterMs: now + 1 },
    ],
    ['cannot be paid now', { buffered: refused('insufficient_balance') }],
    ['is refused now', { buffered: refused('order_refused') }],
    ['is past its deadline', { notAfterMs: now - 1 }],
    [
      'could be charged to another balance, whose parts have other references',
      {
        buffered: refused('insufficient_balance'),
        rules: { split: true, fallback_currency: 'EUR' },
      },
    ],
    [
      'is split again, and may have been charged to another balance',
      { buffered: refused('limit_exceeded'), rules: { split: true, fallback_currency: 'EUR' } },
    ],
  ])('needs review, because parts of it may be bought: it %s', (_why, changes) => {
    const settlement = sought(changes);
    expect(settlement).toMatchObject({
      state: 'needs_review',
      outcomeUnknown: true,
      replacements: [],
    });
    expect(settlement.reviewReason).toContain('may have been bought in parts');
  });

  it('is sent again later when its attempts had no clear answer and nothing has refused it', () => {
    expect(sought({ attempts: 2 })).toMatchObject({
      state: 'waiting',
      error: { code: 'order_absent' },
    });
  });

  it('is split again by the same limit, and each part is looked up', () => {
    const settlement = sought({ buffered: refused('limit_exceeded') });
    expect(settlement).toMatchObject({ state: 'rejected' });
    expect(settlement.replacements.map((part) => part.quantity)).toEqual([2, 2]);
  });

  it('skips no part that a higher limit may have allowed, although a lower limit is known now', () => {
    const refusal = { buffered: refused('limit_exceeded'), quantity: 8, knownLimit: 2 };
    const sizes = ({ replacements }: Settlement) =>
      replacements.map((part) => [part.generation, part.quantity]);
    expect(sizes(sought(refusal))).toEqual([
      [1, 4],
      [1, 4],
    ]);
    // Where nothing was lost, what is known saves the calls between.
    expect(sizes(sought({ ...refusal, recoveryStage: 'none' }))).toEqual(
      [2, 2, 2, 2].map((size) => [2, size]),
    );
  });

  it.each<[string, Partial<EntryFacts>]>([
    ['one of it was ordered', { quantity: 1 }],
    ['it must not be split', { rules: {} }],
    ['it is no gift card', { operation: 'esim_order' }],
    ['nothing was lost', { recoveryStage: 'none' }],
  ])('is rejected as usual when it has no parts: %s', (_why, changes) => {
    expect(sought({ buffered: refused('order_refused'), ...changes })).toMatchObject({
      state: 'rejected',
    });
    expect(sought({ notAfterMs: now - 1, ...changes })).toMatchObject({ state: 'expired' });
  });
});
