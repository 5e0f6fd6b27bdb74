import { describe, expect, it } from 'vitest';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import { judgeResend } from '../../../src/core/entry/resend.ts';
import {
  answer,
  facts,
  noJitter,
  outcomeUnknown,
  now,
  policy,
  refused,
  saidBefore,
} from '../../support/facts.ts';

const absent = { kind: 'absent' } as const;
/** Its outcome is unknown; its deadline and its in-flight window are over; not found so far. */
const late = {
  ...outcomeUnknown,
  ...saidBefore,
  notAfterMs: now - 1,
  inFlightWindowEndMs: now,
  inFlightWindowLeftMs: 0,
} as const;

describe('an entry with an unknown outcome, after its deadline,', () => {
  it('expires when a lookup after the in-flight window proves that nothing was bought', () => {
    const settlement = decideLookup(facts(late), absent, policy, now, noJitter);
    expect(settlement).toMatchObject({
      state: 'expired',
      outcomeUnknown: false,
      inFlightWindowEndMs: null,
      counted: false,
    });
    expect(settlement.error).toMatchObject({ code: 'not_after_passed', buffered: false });
  });

  it('is looked up again while the first call may still arrive', () => {
    const settlement = decideLookup(
      facts({ ...late, inFlightWindowLeftMs: 7000 }),
      absent,
      policy,
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      dueAtMs: now + 7000,
      outcomeUnknown: true,
    });
  });

  it('needs review when an absence proves nothing', () => {
    const settlement = decideLookup(
      facts(late),
      absent,
      { ...policy, lookupsProven: false },
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({ state: 'needs_review', outcomeUnknown: true });
  });

  it('is fulfilled when the order is found, however late', () => {
    expect(
      decideLookup(facts(late), { kind: 'found', answer: answer() }, policy, now, noJitter).state,
    ).toBe('fulfilled');
  });

  it('needs review if it is a cancel, because the order need not show what became of its eSIM', () => {
    const cancel = facts({ ...late, operation: 'esim_cancel', iccid: '8900000000000000000' });
    const untouched = { kind: 'found', answer: answer({ units: [] }) } as const;
    expect(decideLookup(cancel, untouched, policy, now, noJitter)).toMatchObject({
      state: 'needs_review',
      outcomeUnknown: true,
    });
    const early = { ...cancel, inFlightWindowLeftMs: 7000 };
    expect(decideLookup(early, untouched, policy, now, noJitter)).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
    });
    const gone = { kind: 'found', answer: answer({ status: 'cancelled', units: [] }) } as const;
    expect(decideLookup(cancel, gone, policy, now, noJitter).state).toBe('fulfilled');
  });

  it('is not bought in parts and not from another balance', () => {
    const rules = { split: true, fallback_currency: 'EUR' };
    const order = facts({ state: 'sending', quantity: 4, rules, notAfterMs: now });
    const above = refused(order, 'limit_exceeded');
    expect(above).toMatchObject({ state: 'rejected', replacements: [] });
    expect(refused(order, 'insufficient_balance')).toMatchObject({
      state: 'waiting',
      replacements: [],
    });
    const buffered = {
      row: 'limit_exceeded',
      code: 'limit_exceeded',
      message: 'too many',
    } as const;
    const absentLate = decideLookup(
      facts({ ...late, quantity: 4, rules, buffered }),
      absent,
      policy,
      now,
      noJitter,
    );
    expect(absentLate).toMatchObject({ state: 'rejected', replacements: [] });
    const inTime = refused({ ...order, notAfterMs: now + 1 }, 'limit_exceeded');
    expect(inTime.replacements).toHaveLength(2);
  });
});

describe('a reference that is to be sent again', () => {
  const young = {
    notAfterMs: null,
    firstSentAtMs: now - 1000,
    askedAfterLoss: null,
    mayBeElsewhere: false,
    isEnding: false,
    canLookUp: true,
  } as const;

  it('is sent before its deadline and its expiry', () => {
    expect(judgeResend(young, policy, now)).toEqual({ step: 'send' });
    expect(judgeResend({ ...young, notAfterMs: now + 1 }, policy, now)).toEqual({ step: 'send' });
  });

  it.each([
    ['its deadline has passed', { notAfterMs: now }],
    ['the API may have forgotten it', { firstSentAtMs: now - policy.referenceExpiryMs }],
  ])('is looked up instead, or needs review, when %s', (_why, changes) => {
    expect(judgeResend({ ...young, ...changes }, policy, now)).toEqual({ step: 'lookup' });
    expect(judgeResend({ ...young, ...changes, canLookUp: false }, policy, now)).toMatchObject({
      step: 'review',
    });
  });
});
