import { describe, expect, it } from 'vitest';
import { isReplacementSought, mayBeElsewhere } from '../../../src/core/entry/after-loss.ts';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import { judgeResend } from '../../../src/core/entry/resend.ts';
import type { LookupOutcome } from '../../../src/core/answers/outcome.ts';
import type {
  DecisionPolicy,
  EntryFacts,
  Settlement,
} from '../../../src/buying/decision/settlement.ts';
import { answer, facts, noJitter, now, outcome, policy } from '../../support/facts.ts';

const absent = { kind: 'absent' } as const;
const found = { kind: 'found', answer: answer() } as const;
/** An entry that a lost outbox may have sent. */
const lost = (changes: Partial<EntryFacts> = {}): EntryFacts =>
  facts({ state: 'unknown', outcomeUnknown: true, askedAfterLoss: 0, absences: 0, ...changes });
/** It is absent: what takes its place is looked up. */
const absentItself = (changes: Partial<EntryFacts> = {}): EntryFacts =>
  lost({ absences: 1, ...changes });
const look = (
  entry: EntryFacts,
  lookup: LookupOutcome = absent,
  changes: Partial<DecisionPolicy> = {},
): Settlement => decideLookup(entry, lookup, { ...policy, ...changes }, now, noJitter);

describe('after the loss of an outbox', () => {
  it('an entry is looked up before it is sent, if lookups are possible', () => {
    const unsent = {
      notAfterMs: null,
      firstSentAtMs: null,
      askedAfterLoss: 0,
      mayBeElsewhere: false,
      isEnding: false,
      canLookUp: true,
    } as const;
    expect(judgeResend(unsent, policy, now)).toEqual({ step: 'lookup' });
    expect(judgeResend({ ...unsent, canLookUp: false }, policy, now)).toEqual({ step: 'send' });
    expect(judgeResend({ ...unsent, askedAfterLoss: 1 }, policy, now)).toEqual({
      step: 'send',
    });
  });

  it('an entry that may have another reference is not sent when lookups are impossible', () => {
    const blind = {
      notAfterMs: null,
      firstSentAtMs: null,
      askedAfterLoss: 0,
      mayBeElsewhere: true,
      isEnding: false,
      canLookUp: false,
    } as const;
    expect(judgeResend(blind, policy, now)).toMatchObject({ step: 'review' });
    expect(judgeResend({ ...blind, canLookUp: true }, policy, now)).toEqual({ step: 'lookup' });
    expect(judgeResend({ ...blind, askedAfterLoss: null }, policy, now)).toEqual({ step: 'send' });
  });

  it('an entry that is found has been bought', () => {
    expect(look(lost(), found)).toMatchObject({ state: 'fulfilled', outcomeUnknown: false });
    expect(isReplacementSought(lost())).toBe(false);
  });

  it.each([{}, { fallback_currency: 'EUR' }])(
    'an entry with the rules %j needs review when an order has the reference of what takes its place',
    (rules) => {
      const settlement = look(absentItself({ rules, quantity: 4 }), found);
      expect(settlement).toMatchObject({
        state: 'needs_review',
        outcomeUnknown: true,
        answer: null,
        replacements: [],
      });
      expect(settlement.reviewReason).toContain(found.answer.orderNumber);
    },
  );

  it.each([
    ['in parts', { split: true }, {}],
    ['in fewer parts, and is late', { partial: true }, { notAfterMs: now - 1 }],
    ['in parts of the other balance', { partial: true, fallback_currency: 'EUR' }, {}],
  ])('an entry that may have been bought %s is never sent', (_how, rules, changes) => {
    const order = lost({ rules, quantity: 4, absences: 2, ...changes });
    expect(isReplacementSought(order)).toBe(false);
    for (const lookupsProven of [true, false]) {
      const settlement = look(order, absent, { lookupsProven });
      expect(settlement).toMatchObject({
        state: 'needs_review',
        outcomeUnknown: true,
        replacements: [],
      });
      expect(settlement.reviewReason).toContain('bought in parts or from the other balance');
    }
  });

  it('an entry that is on neither balance is sent only if a lookup has ever found an order', () => {
    const order = absentItself({ rules: { fallback_currency: 'EUR' }, absences: 3 });
    expect(look(order)).toMatchObject({ state: 'unknown', askedAfterLoss: 1 });
    expect(look(order, absent, { lookupsProven: false }).state).toBe('needs_review');
    // Where it may be a later one, what came before it is asked for as often.
    const later = { ...order, generation: 1, currency: 'EUR', rules: { fallback_currency: 'USD' } };
    expect(look(later)).toMatchObject({ askedAfterLoss: 0, absences: 4 });
    expect(look({ ...later, absences: 6 })).toMatchObject({ askedAfterLoss: 1 });
    // Without the rule it has one balance.
    for (const rules of [{}, { fallback_currency: 'USD' }] as const)
      expect(look({ ...order, rules }, absent, { lookupsProven: false })).toMatchObject({
        state: 'unknown',
        askedAfterLoss: 1,
      });
  });

  it.each([0, 1])(
    'nothing is decided while the call may still arrive, after %i lookups that found nothing',
    (absences) => {
      const late = { inFlightWindowLeftMs: 9000, inFlightWindowEndMs: now + 9000, quantity: 4 };
      const order = lost({ ...late, absences, rules: { partial: true } });
      const again = { state: 'unknown', nextStep: 'lookup', absences: 0, dueAtMs: now + 9000 };
      expect(look(order)).toMatchObject({ ...again, askedAfterLoss: 0 });
    },
  );

  it('an entry may have other references only as far as its rules allow', () => {
    const order = {
      operation: 'gift_card_order',
      quantity: 5,
      currency: 'USD',
      rules: {},
    } as const;
    const cases = [
      [{}, false],
      [{ rules: { split: true } }, true],
      [{ rules: { partial: true } }, true],
      [{ rules: { split: true, partial: true }, quantity: 1 }, false],
      [{ rules: { split: true, partial: true }, operation: 'esim_order' }, false],
      [{ rules: { fallback_currency: 'EUR' } }, true],
      [{ rules: { fallback_currency: 'USD' } }, false],
      [
        {
          rules: { fallback_currency: 'EUR' },
          operation: 'esim_cancel',
          quantity: null,
          currency: null,
        },
        false,
      ],
    ] as const;
    expect(cases.map(([changes]) => mayBeElsewhere({ ...order, ...changes }))).toEqual(
      cases.map(([, is]) => is),
    );
  });

  it('a cancel is repeated after one lookup of the order of its eSIM', () => {
    const cancel = lost({
      operation: 'esim_cancel',
      iccid: '8988211000000000001',
      absences: 2,
    });
    const untouched = { kind: 'found', answer: answer({ units: [] }) } as const;
    const looked = look(cancel, untouched);
    expect(looked).toMatchObject({ state: 'unknown', nextStep: 'send', askedAfterLoss: 1 });
    const again = {
      notAfterMs: null,
      firstSentAtMs: null,
      askedAfterLoss: looked.askedAfterLoss,
      mayBeElsewhere: false,
      isEnding: false,
      canLookUp: true,
    };
    expect(judgeResend(again, policy, now)).toEqual({ step: 'send' });
    // Also where the order of its eSIM is not there yet, or not any more; but not after its
    // deadline.
    const sent = {
      state: 'unknown',
      nextStep: 'send',
      askedAfterLoss: 1,
      outcomeUnknown: true,
    };
    expect(look({ ...cancel, absences: 0 })).toMatchObject(sent);
    expect(look({ ...cancel, notAfterMs: now - 1 }).state).toBe('needs_review');
  });

  it('an entry needs review when every lookup fails until the reference expiry', () => {
    const failed = { kind: 'failed', outcome: outcome('server_error') } as const;
    const old = lost({ createdAtMs: now - policy.referenceExpiryMs });
    expect(look(old, failed)).toMatchObject({
      state: 'needs_review',
      outcomeUnknown: true,
    });
    expect(look(lost({ createdAtMs: now }), failed).state).toBe('unknown');
  });

  it('an entry expires only when neither reference is found', () => {
    const late = { notAfterMs: now - 1 };
    expect(look(lost(late))).toMatchObject({ state: 'unknown', absences: 1 });
    // The absence of what takes its place says nothing about the entry itself, which was looked up
    // once.
    const other = look(absentItself({ ...late, absences: 3 }));
    expect(other).toMatchObject({ state: 'unknown', nextStep: 'lookup', absences: 0 });
    const itself = lost({ ...late, askedAfterLoss: 1 });
    expect([0, 1, 2].map((absences) => look({ ...itself, absences }).state)).toEqual([
      'unknown',
      'unknown',
      'expired',
    ]);
  });
});
