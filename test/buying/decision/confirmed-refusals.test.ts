import { describe, expect, it } from 'vitest';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import { decideSubmission } from '../../../src/buying/decision/decide-submission.ts';
import type { DecisionPolicy, Settlement } from '../../../src/buying/decision/settlement.ts';
import { decisionTable, rejections } from '../../../src/buying/decision/decision-table.ts';
import { outcomeRows, withoutAnswer, type OutcomeRow } from '../../../src/core/answers/outcome.ts';
import {
  answer,
  confirming,
  facts,
  noJitter,
  now,
  outcome,
  policy,
  refused,
} from '../../support/facts.ts';

/** Every rejection; a second copy of a call may get each of them. */
const rows = outcomeRows.filter((row) => rejections.has(decisionTable[row].clean.verdict));
const rules = { fallback_currency: 'EUR', partial: true, split: true };
const decide = (row: OutcomeRow, changes: Partial<DecisionPolicy> = {}): Settlement =>
  decideSubmission(
    facts({ state: 'sending', quantity: 4, rules }),
    outcome(row),
    { ...policy, ...changes },
    now,
    noJitter,
  );
const found = { kind: 'found', answer: answer() } as const;

describe('a rejection of an order that was sent for the first time', () => {
  it.each(rows)(
    'is looked up once before it counts, and does not count as an unknown outcome: %s',
    (row) => {
      expect(decide(row)).toMatchObject({
        state: 'unknown',
        nextStep: 'lookup',
        outcomeUnknown: false,
        counted: true,
        replacements: [],
        dueAtMs: now + 5000,
        error: { code: row, buffered: true },
      });
      const entry = facts({ state: 'sending', quantity: 1, rules });
      expect(decideLookup(confirming(entry, row), found, policy, now, noJitter).state).toBe(
        'fulfilled',
      );
      const settled = refused(entry, row);
      expect(['rejected', 'waiting', 'needs_review']).toContain(settled.state);
      expect(settled).toMatchObject({ outcomeUnknown: false, error: { code: row } });
    },
  );

  it.each(rows)('ends nothing where orders cannot be looked up: %s', (row) => {
    const settled = decide(row, { canLookUp: false });
    expect(settled).toMatchObject({ outcomeUnknown: false, replacements: [] });
    expect(['waiting', 'needs_review']).toContain(settled.state);
  });

  describe('while no lookup has found an order', () => {
    const unproven = { ...policy, lookupsProven: false };
    const failed = { kind: 'failed', outcome: withoutAnswer('dropped', true, 'cut') } as const;
    const ended = { kind: 'failed', outcome: withoutAnswer('crashed', true, '') } as const;
    const entry = confirming(facts({ state: 'sending', quantity: 4, rules }), 'order_refused');
    const review = {
      state: 'needs_review',
      outcomeUnknown: false,
      replacements: [],
      reviewReason:
        'rejected (the message of order_refused), and no lookup has found an order yet: if a proxy repeated the call, another copy of it perhaps bought the order',
      error: { code: 'order_refused', buffered: false },
    };

    it('is looked up all the same, because the first bought order may be found meanwhile', () => {
      expect(decide('order_refused', { lookupsProven: false })).toMatchObject({
        state: 'unknown',
        nextStep: 'lookup',
        outcomeUnknown: false,
        dueAtMs: now + 5000,
        error: { buffered: true },
      });
      expect(decideLookup(entry, { kind: 'absent' }, policy, now, noJitter).state).toBe('rejected');
    });

    it('needs review once a lookup does not find it, or brings no answer', () => {
      for (const lookup of [{ kind: 'absent' } as const, failed])
        expect(decideLookup(entry, lookup, unproven, now, noJitter)).toMatchObject(review);
      expect(decideLookup(entry, ended, unproven, now, noJitter).state).toBe('unknown');
    });

    it('keeps the pause of a denied lookup', () => {
      const refusal = withoutAnswer('invalid_key', true, 'No such key.');
      const lookup = { kind: 'failed', outcome: refusal } as const;
      const denied = decideLookup(entry, lookup, unproven, now, noJitter);
      expect(denied).toMatchObject({ ...review, pause: { kind: 'key', reason: 'invalid_key' } });
    });

    it('waits as before where the refusal does not end it', () => {
      const order = facts({ state: 'sending', notAfterMs: now + 1_000_000 });
      const settled = decideSubmission(order, outcome('out_of_stock'), unproven, now, noJitter);
      expect(settled.state).toBe('waiting');
    });
  });

  it('says where lookups do not work that it may have been bought, not that it was', () => {
    const { reviewReason } = decide('order_refused', { canLookUp: false });
    expect(reviewReason).toMatch(
      /the order cannot be looked up: .*, another copy of it perhaps bought the order$/,
    );
  });

  it('stays as it is while the lookup fails: it is not sent again', () => {
    const entry = confirming(facts({ state: 'sending', rules }), 'insufficient_balance');
    const failed = { kind: 'failed', outcome: withoutAnswer('dropped', true, 'cut') } as const;
    const settlement = decideLookup({ ...entry, tries: 1 }, failed, policy, now, noJitter);
    expect(settlement).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      outcomeUnknown: false,
      absences: entry.absences,
      tries: 1,
      dueAtMs: now + 45_000,
      row: 'insufficient_balance',
      error: { buffered: true },
      replacements: [],
    });
    const old = { ...entry, firstSentAtMs: now - policy.referenceExpiryMs };
    expect(decideLookup(old, failed, policy, now, noJitter).state).toBe('unknown');
  });

  it('of a cancel is settled by the order of its eSIM', () => {
    const cancel = facts({
      operation: 'esim_cancel',
      state: 'sending',
      iccid: '89',
      variant: null,
    });
    const asked = decideSubmission(cancel, outcome('not_cancellable'), policy, now, noJitter);
    expect(asked).toMatchObject({ state: 'unknown', nextStep: 'lookup', outcomeUnknown: false });
    const entry = confirming(cancel, 'not_cancellable');
    const shows = (status: string): Settlement =>
      decideLookup(
        entry,
        { kind: 'found', answer: answer({ units: [{ iccid: '89', status }] }) },
        policy,
        now,
        noJitter,
      );
    expect(shows('cancelled').state).toBe('fulfilled');
    expect(shows('active')).toMatchObject({
      state: 'waiting',
      tries: 1,
      error: { buffered: false },
    });
    expect(refused(cancel, 'not_cancellable')).toMatchObject({ state: 'waiting', tries: 1 });
    const last = { ...entry, lastRow: 'not_cancellable', tries: 2 } as const;
    for (const [status, state] of [
      ['installed', 'rejected'],
      ['topped_up', 'rejected'],
      ['delivered', 'needs_review'],
    ]) {
      const shown = answer({ units: [{ iccid: '89', ...(status && { status }) }] });
      expect(
        decideLookup(last, { kind: 'found', answer: shown }, policy, now, noJitter).state,
      ).toBe(state);
    }
    // That order exists: a lookup that does not find it, for example with a key of another account,
    // says nothing of the cancel.
    const absent = (absences: number): Settlement =>
      decideLookup({ ...entry, absences }, { kind: 'absent' }, policy, now, noJitter);
    expect(absent(entry.absences)).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      absences: 1,
      tries: entry.tries,
    });
    expect(absent(2)).toMatchObject({
      state: 'needs_review',
      reviewReason: expect.stringContaining('may have worked'),
    });
  });

  it.each([
    ['cancelled', 'fulfilled', null],
    ['installed', 'cancelled', null],
    // Its order does not say whether an earlier copy of the call was processed.
    ['delivered', 'needs_review', expect.stringContaining('was given up')],
  ])(
    'of a cancel that an operator gave up after a call is settled by the order, too: %s',
    (status, state, reviewReason) => {
      const cancel = facts({ operation: 'esim_cancel', iccid: '89', variant: null });
      const entry = { ...confirming(cancel, 'rate_limited'), isEnding: true };
      const shown = answer({ units: [{ iccid: '89', status }] });
      const settled = decideLookup(entry, { kind: 'found', answer: shown }, policy, now, noJitter);
      expect(settled).toMatchObject({ state, reviewReason });
    },
  );
});
