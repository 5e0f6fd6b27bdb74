import { describe, expect, it } from 'vitest';
import { isReplacementSought } from '../../../src/core/entry/after-loss.ts';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import type { EntryFacts, Settlement } from '../../../src/buying/decision/settlement.ts';
import {
  answer,
  facts,
  noJitter,
  outcomeUnknown,
  now,
  outcome,
  policy,
} from '../../support/facts.ts';

const absent = { kind: 'absent' } as const;
const refused = { row: 'out_of_stock', code: 'out_of_stock', message: 'none left' } as const;
const unknown: Partial<EntryFacts> = {
  ...outcomeUnknown,
  inFlightWindowEndMs: now,
  inFlightWindowLeftMs: 0,
};

/** What an entry is after a lookup, when the next one asks. */
const after = (
  entry: EntryFacts,
  { state, absences, tries, askedAfterLoss, row }: Settlement,
): EntryFacts => ({
  ...entry,
  state,
  absences,
  tries,
  askedAfterLoss,
  lastRow: row,
});
const look = (entry: EntryFacts): Settlement => decideLookup(entry, absent, policy, now, noJitter);

describe('an order that is not found', () => {
  it.each<[string, Partial<EntryFacts>, string]>([
    ['was accepted', { state: 'placed' }, 'needs_review'],
    ['was rejected while its outcome was unknown', { ...unknown, buffered: refused }, 'rejected'],
    ['is past its deadline', { ...unknown, notAfterMs: now - 1 }, 'expired'],
    [
      'is an eSIM that may be cancelled',
      { ...unknown, operation: 'esim_cancel', iccid: '89' },
      'needs_review',
    ],
    [
      'may have been bought in parts before a loss',
      { ...unknown, askedAfterLoss: 0, rules: { partial: true }, quantity: 4 },
      'needs_review',
    ],
  ])('is looked up three times before its absence ends it: the order %s', (_why, changes, end) => {
    const first = facts(changes);
    const once = look(first);
    expect(once).toMatchObject({
      state: first.state,
      nextStep: 'lookup',
      absences: 1,
      dueAtMs: now + 5000,
    });
    expect(once).toMatchObject({
      outcomeUnknown: first.outcomeUnknown,
      askedAfterLoss: first.askedAfterLoss,
      counted: false,
      replacements: [],
    });
    expect(once.error?.buffered ?? false).toBe(first.buffered !== null);
    const twice = look(after(first, once));
    expect(twice).toMatchObject({
      state: first.state,
      nextStep: 'lookup',
      absences: 2,
      dueAtMs: now + 15_000,
    });
    expect(look(after(first, twice))).toMatchObject({ state: end, absences: 0 });
  });

  it('is known not to be bought after its second ambiguous attempt, and waits to be sent again', () => {
    const first = facts({ ...unknown, attempts: 2 });
    const once = look(first);
    const twice = look(after(first, once));
    expect([once, twice].map(({ state, outcomeUnknown: isUnknown }) => [state, isUnknown])).toEqual(
      [
        ['unknown', true],
        ['unknown', true],
      ],
    );
    const waits = {
      state: 'waiting',
      nextStep: 'send',
      outcomeUnknown: false,
      inFlightWindowEndMs: null,
    };
    expect(look(after(first, twice))).toMatchObject({
      ...waits,
      dueAtMs: now + 60_000,
      error: { code: 'order_absent' },
    });
    // While the API may still process the call, an absence counts for nothing.
    const early = look(facts({ ...outcomeUnknown, attempts: 2, absences: 2 }));
    expect(early).toMatchObject({ state: 'unknown', absences: 0, dueAtMs: now + 60_000 });
  });

  it('is not sent after a loss before three lookups of what takes its place found nothing, either', () => {
    let entry = facts({ ...unknown, askedAfterLoss: 0 });
    for (const [index, dueInMs] of [0, 5000, 15_000].entries()) {
      const looked = look(entry);
      expect(looked).toMatchObject({
        state: 'unknown',
        nextStep: 'lookup',
        outcomeUnknown: true,
        askedAfterLoss: 0,
        absences: index + 1,
        dueAtMs: now + dueInMs,
      });
      entry = after(entry, looked);
      expect(isReplacementSought(entry)).toBe(true);
    }
    const asked = look(entry);
    expect(asked).toMatchObject({ nextStep: 'lookup', askedAfterLoss: 1, absences: 0 });
    expect(look(after(entry, asked))).toMatchObject({ state: 'unknown', nextStep: 'send' });
  });

  it('starts the count of absences again when it is found, but not when a lookup fails', () => {
    const sought = facts({ state: 'placed', quantity: 2, absences: 2 });
    expect(
      decideLookup(sought, { kind: 'found', answer: answer() }, policy, now, noJitter),
    ).toMatchObject({
      state: 'placed',
      absences: 0,
    });
    const failed = { kind: 'failed', outcome: outcome('dropped') } as const;
    expect(decideLookup(sought, failed, policy, now, noJitter)).toMatchObject({
      state: 'placed',
      absences: 2,
    });
  });

  it('is not counted as absent while the call may still arrive, or when the same reference is sent again', () => {
    const early = look(facts({ ...unknown, buffered: refused, inFlightWindowLeftMs: 9000 }));
    expect(early).toMatchObject({ nextStep: 'lookup', absences: 0, dueAtMs: now + 9000 });
    expect(look(facts({ state: 'placed', inFlightWindowLeftMs: 9000 }))).toMatchObject({
      state: 'placed',
      absences: 0,
    });
    expect(look(facts(unknown))).toMatchObject({ nextStep: 'send', absences: 0 });
  });

  it('is not looked up after its reference expired', () => {
    const old = facts({
      ...unknown,
      buffered: refused,
      firstSentAtMs: now - policy.referenceExpiryMs,
    });
    expect(look(old)).toMatchObject({ state: 'needs_review', outcomeUnknown: true });
  });
});
