import { describe, expect, it } from 'vitest';
import { mayBeElsewhere } from '../../../src/core/entry/after-loss.ts';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import { judgeResend } from '../../../src/core/entry/resend.ts';
import type { EntryFacts } from '../../../src/buying/decision/settlement.ts';
import { answer, facts, noJitter, now, outcome, policy, saidBefore } from '../../support/facts.ts';

const absent = { kind: 'absent' } as const;
const found = { kind: 'found', answer: answer() } as const;
const stage = (
  recoveryStage: 'own_reference' | 'replacement',
  changes: Partial<EntryFacts> = {},
): EntryFacts =>
  facts({ state: 'unknown', outcomeUnknown: true, recoveryStage, ...saidBefore, ...changes });

describe('after the loss of an outbox', () => {
  it('an entry is looked up before it is sent, if lookups are possible', () => {
    const unsent = {
      notAfterMs: null,
      firstSentAtMs: null,
      recoveryStage: 'own_reference',
      mayBeElsewhere: false,
      canLookUp: true,
    } as const;
    expect(judgeResend(unsent, policy, now)).toEqual({ step: 'lookup' });
    expect(judgeResend({ ...unsent, canLookUp: false }, policy, now)).toEqual({ step: 'send' });
    expect(judgeResend({ ...unsent, recoveryStage: 'done' }, policy, now)).toEqual({
      step: 'send',
    });
  });

  it('an entry that may have another reference is not sent when lookups are impossible', () => {
    const blind = {
      notAfterMs: null,
      firstSentAtMs: null,
      recoveryStage: 'own_reference',
      mayBeElsewhere: true,
      canLookUp: false,
    } as const;
    expect(judgeResend(blind, policy, now)).toMatchObject({ step: 'review' });
    expect(judgeResend({ ...blind, canLookUp: true }, policy, now)).toEqual({ step: 'lookup' });
    expect(judgeResend({ ...blind, recoveryStage: 'none' }, policy, now)).toEqual({ step: 'send' });
  });

  it('an entry is looked up under its own reference, then under that of its replacement, and then sent', () => {
    const own = decideLookup(stage('own_reference'), absent, policy, now, noJitter);
    expect(own).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      recoveryStage: 'replacement',
      outcomeUnknown: true,
    });
    const other = decideLookup(stage('replacement'), absent, policy, now, noJitter);
    expect(other).toMatchObject({
      state: 'unknown',
      nextStep: 'send',
      recoveryStage: 'done',
      outcomeUnknown: true,
    });
    expect(decideLookup(stage('own_reference'), found, policy, now, noJitter).state).toBe(
      'fulfilled',
    );
  });

  it('an entry is replaced by the order that is found on its other balance', () => {
    const rules = { fallback_currency: 'EUR' };
    const settlement = decideLookup(stage('replacement', { rules }), found, policy, now, noJitter);
    expect(settlement).toMatchObject({
      state: 'rejected',
      row: 'insufficient_balance',
      answer: null,
    });
    expect(settlement.replacements).toEqual([
      { generation: 1, part: 0, quantity: 1, currency: 'EUR' },
    ]);
  });

  it.each([
    ['a person ordered it anew', {}],
    ['it was bought in parts', { split: true }],
    ['it may have been either', { split: true, fallback_currency: 'EUR' }],
    ['a part of it, or the other balance', { partial: true, fallback_currency: 'EUR' }],
    [
      'parts by either rule, or the other balance',
      { split: true, partial: true, fallback_currency: 'EUR' },
    ],
  ])('an entry needs review when another replacement is found: %s', (_why, rules) => {
    const settlement = decideLookup(
      stage('replacement', { rules, quantity: 4 }),
      found,
      policy,
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({
      state: 'needs_review',
      outcomeUnknown: true,
      replacements: [],
    });
  });

  it('an entry that may have been charged to another balance is not sent while no lookup has ever found an order', () => {
    const blind = { ...policy, lookupsProven: false };
    const rules = { fallback_currency: 'EUR' };
    expect(decideLookup(stage('replacement', { rules }), absent, blind, now, noJitter).state).toBe(
      'needs_review',
    );
    expect(decideLookup(stage('replacement'), absent, blind, now, noJitter)).toMatchObject({
      state: 'unknown',
      nextStep: 'send',
    });
  });

  it('an order that allows fewer units is never sent whole: its parts are looked up, also after its deadline', () => {
    const order = stage('own_reference', { rules: { partial: true }, quantity: 5 });
    for (const notAfterMs of [null, now - 1]) {
      const settlement = decideLookup({ ...order, notAfterMs }, absent, policy, now, noJitter);
      expect(settlement).toMatchObject({
        state: 'rejected',
        outcomeUnknown: false,
        recoveryStage: 'done',
      });
      expect(settlement.replacements.map((part) => part.quantity)).toEqual([3, 2]);
    }
    const smallest = decideLookup(
      { ...order, generation: 3, part: 7 },
      absent,
      policy,
      now,
      noJitter,
    );
    expect(smallest).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      recoveryStage: 'replacement',
    });
  });

  it('an order that allows fewer units needs review when its parts may be on either balance', () => {
    const rules = { partial: true, fallback_currency: 'EUR' };
    const own = decideLookup(
      stage('own_reference', { rules, quantity: 5 }),
      absent,
      policy,
      now,
      noJitter,
    );
    expect(own).toMatchObject({ state: 'unknown', recoveryStage: 'replacement' });
    const both = decideLookup(
      stage('replacement', { rules, quantity: 5 }),
      absent,
      policy,
      now,
      noJitter,
    );
    expect(both).toMatchObject({ state: 'needs_review', outcomeUnknown: true });
  });

  it('an order that allows fewer units is looked up again when lookups were proven only after it was not found', () => {
    const order = stage('replacement', { rules: { partial: true }, quantity: 5 });
    const other = decideLookup(order, absent, policy, now, noJitter);
    expect(other).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      recoveryStage: 'own_reference',
      absences: 0,
    });
    const blind = decideLookup(order, absent, { ...policy, lookupsProven: false }, now, noJitter);
    expect(blind).toMatchObject({ state: 'needs_review' });
  });

  it.each(['own_reference', 'replacement'] as const)(
    'nothing is decided while the call may still arrive, at the stage %s',
    (recoveryStage) => {
      const late = { inFlightWindowLeftMs: 9000, inFlightWindowEndMs: now + 9000, quantity: 4 };
      const again = {
        state: 'unknown',
        nextStep: 'lookup',
        recoveryStage,
        replacements: [],
        dueAtMs: now + 9000,
      };
      const order = stage(recoveryStage, { ...late, rules: { partial: true } });
      expect(decideLookup(order, absent, policy, now, noJitter)).toMatchObject(again);
      const charged = stage('replacement', { ...late, rules: { fallback_currency: 'EUR' } });
      expect(decideLookup(charged, found, policy, now, noJitter)).toMatchObject({
        ...again,
        recoveryStage: 'replacement',
      });
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
    const blind = { ...policy, lookupsProven: false };
    const sameBalance = stage('replacement', { rules: { fallback_currency: 'USD' } });
    expect(decideLookup(sameBalance, absent, blind, now, noJitter)).toMatchObject({
      state: 'unknown',
      nextStep: 'send',
    });
  });

  it('a cancel is repeated after one lookup of the order of its eSIM', () => {
    const cancel = stage('own_reference', {
      operation: 'esim_cancel',
      iccid: '8988211000000000001',
    });
    const untouched = { kind: 'found', answer: answer({ units: [] }) } as const;
    const looked = decideLookup(cancel, untouched, policy, now, noJitter);
    expect(looked).toMatchObject({ state: 'unknown', nextStep: 'send', recoveryStage: 'done' });
    const again = {
      notAfterMs: null,
      firstSentAtMs: null,
      recoveryStage: looked.recoveryStage,
      mayBeElsewhere: false,
      canLookUp: true,
    };
    expect(judgeResend(again, policy, now)).toEqual({ step: 'send' });
    // Also where the order of its eSIM is not there yet, or not any more; but not after its
    // deadline.
    const sent = {
      state: 'unknown',
      nextStep: 'send',
      recoveryStage: 'done',
      outcomeUnknown: true,
    };
    expect(decideLookup({ ...cancel, absences: 0 }, absent, policy, now, noJitter)).toMatchObject(
      sent,
    );
    const late = decideLookup({ ...cancel, notAfterMs: now - 1 }, absent, policy, now, noJitter);
    expect(late.state).toBe('needs_review');
  });

  it('an entry needs review when every lookup fails until the reference expiry', () => {
    const failed = { kind: 'failed', outcome: outcome('server_error') } as const;
    const old = stage('own_reference', { createdAtMs: now - policy.referenceExpiryMs });
    expect(decideLookup(old, failed, policy, now, noJitter)).toMatchObject({
      state: 'needs_review',
      outcomeUnknown: true,
    });
    expect(
      decideLookup(stage('own_reference', { createdAtMs: now }), failed, policy, now, noJitter)
        .state,
    ).toBe('unknown');
  });

  it('an entry expires only when neither reference is found', () => {
    const late = { notAfterMs: now - 1 };
    const once = { ...late, absences: 0 };
    expect(decideLookup(stage('own_reference', once), absent, policy, now, noJitter)).toMatchObject(
      {
        state: 'unknown',
        recoveryStage: 'replacement',
      },
    );
    // The absence of its replacement says nothing about the entry itself, which was looked up once.
    const other = decideLookup(stage('replacement', late), absent, policy, now, noJitter);
    expect(other).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      recoveryStage: 'done',
      absences: 0,
      outcomeUnknown: true,
    });
    const itself = stage('replacement', { ...late, recoveryStage: 'done' });
    expect(decideLookup({ ...itself, absences: 0 }, absent, policy, now, noJitter).state).toBe(
      'unknown',
    );
    expect(decideLookup({ ...itself, absences: 1 }, absent, policy, now, noJitter).state).toBe(
      'unknown',
    );
    expect(decideLookup(itself, absent, policy, now, noJitter).state).toBe('expired');
  });
});
