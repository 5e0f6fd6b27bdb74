import { describe, expect, it } from 'vitest';
import { decideLookup } from '../../../src/buying/decision/decide-lookup.ts';
import { decideSubmission } from '../../../src/buying/decision/decide-submission.ts';
import { decisionTable } from '../../../src/buying/decision/decision-table.ts';
import { canTransition, type EntryState } from '../../../src/core/entry/states.ts';
import { operations, type Operation } from '../../../src/core/order/purchase.ts';
import { keyDenials, outcomeRows, type OutcomeRow } from '../../../src/core/answers/outcome.ts';
import type { EntryFacts } from '../../../src/buying/decision/settlement.ts';
import { wholesaleErrors } from '../../../src/core/answers/wholesale-errors.ts';
import {
  answer,
  facts,
  noJitter,
  outcomeUnknown,
  now,
  outcome,
  policy,
  refused,
  saidBefore,
} from '../../support/facts.ts';

it('the outcomes that deny a key are those that pause it', () => {
  const rows = outcomeRows.filter((row) => decisionTable[row].clean.pause === 'key');
  expect(rows).toEqual(keyDenials);
});

describe('the decision about a submission', () => {
  it('has a cell for every row and column, and each leads to a state that may follow "sending"', () => {
    for (const row of outcomeRows) {
      for (const operation of operations) {
        for (const history of [{}, outcomeUnknown]) {
          const settlement = decideSubmission(
            facts({ operation, ...history }),
            outcome(row),
            policy,
            now,
            noJitter,
          );
          expect(canTransition('sending', settlement.state), `${row} ${operation}`).toBe(true);
        }
      }
    }
    expect(Object.keys(decisionTable).toSorted()).toEqual([...outcomeRows].toSorted());
  });

  it('never believes a rejection while the outcome of an earlier attempt is unknown: the success of that attempt may have caused it', () => {
    const refusals: OutcomeRow[] = [
      'not_found',
      'insufficient_balance',
      'currency_unavailable',
      'invalid_request',
      'order_refused',
      'invalid_variant',
      'out_of_stock',
      'limit_exceeded',
      'not_api_sellable',
      'plan_unknown',
      'plan_unorderable',
      'topup_not_allowed',
      'not_cancellable',
      'unlisted_code',
      'code_out_of_place',
    ];
    for (const row of refusals) {
      for (const operation of operations) {
        const { state, error } = decideSubmission(
          facts({ operation, ...outcomeUnknown }),
          outcome(row),
          policy,
          now,
          noJitter,
        );
        const meaning = state === 'unknown' && error?.buffered === true ? 'to be resolved' : state;
        expect(['to be resolved', 'needs_review'], `${row} ${operation}`).toContain(meaning);
      }
    }
  });

  it('rejects only for a row of Spec 7, and only when no earlier outcome is unknown', () => {
    const rejecting = outcomeRows.filter((row) =>
      Object.values(decisionTable[row]).some((cell) => cell.verdict === 'reject'),
    );
    const codes = new Set(wholesaleErrors.map((row) => row.code));
    for (const row of rejecting) expect(codes.has(row) || row.startsWith('plan_'), row).toBe(true);
    for (const row of rejecting) {
      expect(decisionTable[row].outcomeUnknown.verdict).not.toBe('reject');
      expect(decisionTable[row].cancelOutcomeUnknown.verdict).not.toBe('reject');
    }
  });

  it('leaves an order that was never sent as never sent, and does not count the attempt', () => {
    const settlement = decideSubmission(
      facts(),
      outcome('unreachable', { sent: false }),
      policy,
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({
      state: 'pending',
      counted: false,
      outcomeUnknown: false,
      dueAtMs: now + 5000,
    });
  });

  it.each([
    'dropped',
    'headers_timeout',
    'cut_answer',
    'deadline',
    'foreign_server_error',
    'server_error',
    'unreadable_success',
    'foreign_refusal',
    'crashed',
    'shutdown',
  ] as const)('makes the outcome unknown when the call was perhaps processed: %s', (row) => {
    const settlement = decideSubmission(facts(), outcome(row), policy, now, noJitter);
    expect(settlement).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      outcomeUnknown: true,
      inFlightWindowEndMs: now + policy.inFlightWindowMs,
    });
  });

  it.each(['invalid_key', 'ip_not_allowed', 'account_not_allowed', 'api_disabled'] as const)(
    'rejects no order because of the account or the key, and pauses sending: %s',
    (row) => {
      const settlement = decideSubmission(facts(), outcome(row), policy, now, noJitter);
      expect(settlement.state).toBe('waiting');
      expect(settlement.pause).toMatchObject({
        kind: row === 'invalid_key' || row === 'ip_not_allowed' ? 'key' : 'account',
        reason: row,
      });
      expect(
        decideSubmission(facts(outcomeUnknown), outcome(row), policy, now, noJitter).state,
      ).toBe('unknown');
    },
  );

  it('waits at least as long as a 429 asks, and counts no attempt', () => {
    const settlement = decideSubmission(
      facts(),
      outcome('rate_limited', { http: 429, retryAfterMs: 30_000 }),
      policy,
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({
      state: 'waiting',
      counted: false,
      dueAtMs: now + 30_000,
      pause: null,
    });
  });

  it('decides by the units that are there, and believes no word that says that they are', () => {
    const ordered = facts({ quantity: 2 });
    const one = decideSubmission(
      ordered,
      outcome('accepted', { answer: answer({ status: 'completed', statusClass: 'done' }) }),
      policy,
      now,
      noJitter,
    );
    expect(one).toMatchObject({ state: 'placed', nextStep: 'lookup' });
    const two = answer({
      status: 'processing',
      statusClass: 'pending',
      units: [{ code: 'A' }, { code: 'B' }],
    });
    // A word that says "not yet" is believed: the codes may still change.
    const early = decideSubmission(
      ordered,
      outcome('accepted', { answer: two }),
      policy,
      now,
      noJitter,
    );
    expect(early).toMatchObject({
      state: 'placed',
      nextStep: 'lookup',
      answer: { units: two.units },
    });
    const states = ([status, statusClass]: readonly [string | null, 'done' | 'none']) => {
      const done = outcome('accepted', { answer: { ...two, status, statusClass } });
      return decideSubmission(ordered, done, policy, now, noJitter);
    };
    for (const known of [
      ['completed', 'done'],
      [null, 'none'],
      ['200', 'none'],
    ] as const)
      expect(states(known).state).toBe('fulfilled');
    // Nobody knows what another word says.
    for (const word of ['reversed', 'partially_refunded', 'on hold'])
      expect(states([word, 'none'])).toMatchObject({
        state: 'needs_review',
        reviewReason: expect.stringContaining(`status is "${word}"`),
      });
  });

  it('flags for review what no lookup can complete', () => {
    const early = answer({ status: 'processing', statusClass: 'pending' });
    const blind = { ...policy, canLookUp: false };
    const settlement = decideSubmission(
      facts(),
      outcome('accepted', { answer: early }),
      blind,
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({
      state: 'needs_review',
      reviewReason:
        'accepted with all units, but its status is "processing", and orders cannot be looked up',
      answer: { units: early.units },
    });
  });

  it('flags a cancel for review whose answer says that it failed', () => {
    const cancel = facts({ operation: 'esim_cancel', iccid: '8900000000000000000' });
    const failed = answer({ status: 'failed', statusClass: 'failed', units: [] });
    expect(
      decideSubmission(cancel, outcome('accepted', { answer: failed }), policy, now, noJitter)
        .state,
    ).toBe('needs_review');
    const cancelled = answer({ status: 'cancelled', statusClass: 'failed', units: [] });
    expect(
      decideSubmission(cancel, outcome('accepted', { answer: cancelled }), policy, now, noJitter)
        .state,
    ).toBe('fulfilled');
  });

  it('treats a refunded order as a success (Spec 7)', () => {
    const refunded = answer({ status: 'refunded', statusClass: 'refunded', units: [] });
    expect(
      decideSubmission(facts(), outcome('accepted', { answer: refunded }), policy, now, noJitter)
        .state,
    ).toBe('refunded');
  });

  it('waits for stock until the deadline of the order, and rejects at once an order without a deadline', () => {
    expect(refused(facts(), 'out_of_stock').state).toBe('rejected');
    const patient = facts({ notAfterMs: now + 3_600_000 });
    expect(refused(patient, 'out_of_stock')).toMatchObject({
      state: 'waiting',
      dueAtMs: now + 300_000,
    });
  });

  it('repeats a rejected cancel after about a minute, three times in all, and a run of 429s uses up none of them', () => {
    const cancel = facts({
      operation: 'esim_cancel',
      state: 'waiting',
      lastRow: 'rate_limited',
      tries: 7,
    });
    const first = refused(cancel, 'not_cancellable');
    expect(first).toMatchObject({ state: 'waiting', tries: 1, dueAtMs: now + 67_000 });
    const second = refused({ ...cancel, lastRow: 'not_cancellable', tries: 1 }, 'not_cancellable');
    expect(second).toMatchObject({ state: 'waiting', tries: 2 });
    const third = refused({ ...cancel, lastRow: 'not_cancellable', tries: 2 }, 'not_cancellable');
    // An earlier copy of a call may have cancelled it.
    expect(third).toMatchObject({
      state: 'needs_review',
      reviewReason: expect.stringContaining('whether an earlier call'),
    });
    expect(refused(cancel, 'order_refused').state).toBe('needs_review');
    expect(refused(cancel, 'not_found').state).toBe('needs_review');
  });

  it('flags an entry for review when its outcome is still unknown at the reference expiry', () => {
    const old = facts({ ...outcomeUnknown, firstSentAtMs: now - policy.referenceExpiryMs });
    const settlement = decideSubmission(old, outcome('dropped'), policy, now, noJitter);
    expect(settlement).toMatchObject({ state: 'needs_review', outcomeUnknown: true });
  });

  it('keeps the in-flight window of an entry that needs review: the call may still be processed', () => {
    const old = facts({ state: 'sending', firstSentAtMs: now - policy.referenceExpiryMs });
    const settlement = decideSubmission(old, outcome('headers_timeout'), policy, now, noJitter);
    const delay = { inFlightWindowEndMs: now + policy.inFlightWindowMs };
    expect(settlement).toMatchObject({ state: 'needs_review', outcomeUnknown: true, ...delay });
  });
});

describe('the decision about a lookup', () => {
  const buffered = {
    row: 'out_of_stock',
    code: 'out_of_stock',
    message: 'Fewer than 1 are available.',
  } as const;

  it('gives nobody the units of an answer that is about another order', () => {
    for (const state of ['sending', 'unknown'] as const) {
      const shown = answer({ orderNumber: 'X-1', reference: 'os-of-others' });
      const mixedUp = outcome('answer_mismatch', { http: 200, answer: shown });
      const settlement = decideSubmission(
        facts({ ...outcomeUnknown, state }),
        mixedUp,
        policy,
        now,
        noJitter,
      );
      expect(settlement).toMatchObject({
        state: 'unknown',
        outcomeUnknown: true,
        nextStep: 'lookup',
        pause: null,
      });
      expect(settlement).toMatchObject({
        inFlightWindowEndMs: now + policy.inFlightWindowMs,
        answer: null,
      });
      const message = 'the message of answer_mismatch (order number "X-1")';
      expect(settlement.error).toEqual({ code: 'answer_mismatch', message, buffered: true });
      const blind = decideSubmission(
        facts({ state }),
        mixedUp,
        { ...policy, canLookUp: false },
        now,
        noJitter,
      );
      expect(blind).toMatchObject({ state: 'needs_review', answer: null });
      expect(blind.reviewReason).toBe(
        `answered answer_mismatch: ${message}, and the order cannot be looked up`,
      );
    }
  });

  it('settles other goods without another reference only by a lookup that repeats what was ordered: perhaps they were not swapped', () => {
    const entry = facts({ state: 'sending' });
    const goods = outcome('answer_mismatch', { http: 200, answer: answer() });
    const { error } = decideSubmission(entry, goods, policy, now, noJitter);
    const kept = {
      row: 'answer_mismatch',
      code: error?.code ?? null,
      message: error?.message ?? '',
    } as const;
    const asked = facts({ ...outcomeUnknown, buffered: kept });
    const silent = decideLookup(asked, { kind: 'found', answer: answer() }, policy, now, noJitter);
    expect(silent).toMatchObject({
      state: 'needs_review',
      row: 'answer_mismatch',
      outcomeUnknown: true,
      answer: null,
    });
    expect(silent.reviewReason).toContain('GC-1');
    const clear = decideLookup(
      asked,
      { kind: 'found', answer: answer(), repeatsGoods: true },
      policy,
      now,
      noJitter,
    );
    expect(clear.state).toBe('fulfilled');
    const swapped = outcome('answer_mismatch', {
      http: 200,
      answer: answer({ reference: 'os-of-others' }),
    });
    expect(decideSubmission(entry, swapped, policy, now, noJitter).error?.code).toBe(
      'answer_mismatch',
    );
  });

  it('settles such an answer by a lookup of its own reference, and asks an operator only when that finds nothing', () => {
    const mixedUp = {
      row: 'answer_mismatch',
      code: 'answer_mismatch',
      message: 'for os-2 (order number "X-1")',
    } as const;
    const entry = facts({ ...outcomeUnknown, buffered: mixedUp });
    expect(
      decideLookup(entry, { kind: 'found', answer: answer() }, policy, now, noJitter).state,
    ).toBe('fulfilled');
    expect(decideLookup(entry, { kind: 'absent' }, policy, now, noJitter).state).toBe('unknown');
    const last = { ...entry, ...saidBefore, inFlightWindowLeftMs: 0 };
    for (const lookupsProven of [true, false]) {
      const settlement = decideLookup(
        last,
        { kind: 'absent' },
        { ...policy, lookupsProven },
        now,
        noJitter,
      );
      expect(settlement).toMatchObject({
        state: 'needs_review',
        outcomeUnknown: true,
        row: 'answer_mismatch',
        answer: null,
      });
      expect(settlement.reviewReason).toContain('X-1');
    }
  });

  it('settles an unknown outcome when the order is found', () => {
    const settlement = decideLookup(
      facts(outcomeUnknown),
      { kind: 'found', answer: answer() },
      policy,
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({ state: 'fulfilled', outcomeUnknown: false });
  });

  it('flags another purchase under the same reference for review, with both values, and gives its units to nobody', () => {
    const differs = 'the order found under this reference has the product "b", asked was "a"';
    for (const state of ['unknown', 'placed'] as const) {
      const settlement = decideLookup(
        facts({ ...outcomeUnknown, state }),
        { kind: 'found', answer: answer(), differs },
        policy,
        now,
        noJitter,
      );
      expect(settlement).toMatchObject({
        state: 'needs_review',
        outcomeUnknown: true,
        answer: null,
      });
      expect(settlement.reviewReason).toBe(`${differs} (order number "GC-1")`);
    }
  });

  it('sends the same reference again when the order is absent and nothing was rejected (Spec 7, retry rule 1)', () => {
    const settlement = decideLookup(
      facts(outcomeUnknown),
      { kind: 'absent' },
      policy,
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({ state: 'unknown', nextStep: 'send', outcomeUnknown: true });
  });

  it('believes a rejection only when the order is still absent after the in-flight window', () => {
    const early = decideLookup(
      facts({ ...outcomeUnknown, buffered }),
      { kind: 'absent' },
      policy,
      now,
      noJitter,
    );
    expect(early).toMatchObject({
      state: 'unknown',
      nextStep: 'lookup',
      dueAtMs: now + 60_000,
      row: 'out_of_stock',
    });
    expect(early.error?.buffered).toBe(true);
    const delayOver = facts({
      ...outcomeUnknown,
      ...saidBefore,
      inFlightWindowLeftMs: 0,
      buffered,
    });
    const late = decideLookup(delayOver, { kind: 'absent' }, policy, now, noJitter);
    expect(late).toMatchObject({ state: 'rejected', outcomeUnknown: false });
    expect(late.error).toEqual({
      code: 'out_of_stock',
      message: buffered.message,
      buffered: false,
    });
  });

  it('does not believe an absence while no lookup has ever found an order: the path may be wrong', () => {
    const unproven = facts({ ...outcomeUnknown, ...saidBefore, inFlightWindowLeftMs: 0, buffered });
    const settlement = decideLookup(
      unproven,
      { kind: 'absent' },
      { ...policy, lookupsProven: false },
      now,
      noJitter,
    );
    expect(settlement).toMatchObject({ state: 'needs_review', outcomeUnknown: true });
  });

  it('changes nothing when the lookup fails, and keeps the buffered rejection', () => {
    const states: EntryState[] = ['unknown', 'placed'];
    for (const state of states) {
      const failed = { kind: 'failed', outcome: outcome('dropped') } as const;
      const settlement = decideLookup(
        facts({ ...outcomeUnknown, state, buffered }),
        failed,
        policy,
        now,
        noJitter,
      );
      expect(settlement).toMatchObject({ state, nextStep: 'lookup', row: 'out_of_stock' });
      expect(settlement.error?.buffered).toBe(true);
    }
  });

  it('flags an accepted order for review when it is not found', () => {
    const placed = facts({ state: 'placed', ...saidBefore });
    expect(decideLookup(placed, { kind: 'absent' }, policy, now, noJitter).state).toBe(
      'needs_review',
    );
  });

  it('pauses a scope that the API denies, also when the reference of the entry has expired', () => {
    const old = facts({ ...outcomeUnknown, firstSentAtMs: now - policy.referenceExpiryMs });
    const shut = outcome('api_disabled');
    const pause = { kind: 'account', reason: 'api_disabled' };
    const asked = decideLookup(old, { kind: 'failed', outcome: shut }, policy, now, noJitter);
    expect(asked).toMatchObject({ state: 'needs_review', pause });
    const sent = decideSubmission({ ...old, state: 'sending' }, shut, policy, now, noJitter);
    expect(sent).toMatchObject({ state: 'needs_review', pause });
  });

  it('counts the deadline for the units from the acceptance, however long the order waited before', () => {
    const pending = answer({ units: [], status: 'processing', statusClass: 'pending' });
    const waited = facts({ state: 'sending', firstSentAtMs: now - 2 * policy.placedDeadlineMs });
    const placed = decideSubmission(
      waited,
      outcome('accepted', { answer: pending }),
      policy,
      now,
      noJitter,
    );
    const shown = facts({
      ...waited,
      state: 'placed',
      inFlightWindowEndMs: placed.inFlightWindowEndMs,
    });
    const found = { kind: 'found', answer: pending } as const;
    const polled = decideLookup(shown, found, policy, now + 5000, noJitter);
    expect(polled).toMatchObject({
      state: 'placed',
      inFlightWindowEndMs: placed.inFlightWindowEndMs,
    });
    expect(decideLookup(shown, found, policy, now + policy.placedDeadlineMs, noJitter).state).toBe(
      'needs_review',
    );
  });

  it('looks up once more after the deadline for the units when the worker died during the last lookup', () => {
    const late = facts({
      state: 'placed',
      firstSentAtMs: now - policy.placedDeadlineMs,
      inFlightWindowEndMs: null,
    });
    const crashed = { kind: 'failed', outcome: outcome('crashed') } as const;
    expect(decideLookup(late, crashed, policy, now, noJitter)).toMatchObject({
      state: 'placed',
      nextStep: 'lookup',
    });
    const found = { kind: 'found', answer: answer() } as const;
    expect(decideLookup(late, found, policy, now, noJitter).state).toBe('fulfilled');
  });

  it('flags an order for review at the deadline for its units, also when every lookup fails', () => {
    const placed = facts({
      state: 'placed',
      firstSentAtMs: 0,
      inFlightWindowEndMs: policy.inFlightWindowMs,
    });
    const failed = { kind: 'failed', outcome: outcome('server_error') } as const;
    const early = decideLookup(placed, failed, policy, policy.placedDeadlineMs - 1, noJitter);
    expect(early).toMatchObject({ state: 'placed', nextStep: 'lookup' });
    const late = decideLookup(placed, failed, policy, policy.placedDeadlineMs, noJitter);
    // It was accepted, whatever the lookups say: a retry by an operator must ask, and not send.
    expect(late).toMatchObject({ state: 'needs_review', row: 'accepted', outcomeUnknown: false });
  });

  it('keeps an order that was just accepted when a lookup does not show it yet', () => {
    const pending = answer({ units: [], status: 'processing', statusClass: 'pending' });
    const placed = decideSubmission(
      facts({ state: 'sending' }),
      outcome('accepted', { answer: pending }),
      policy,
      now,
      noJitter,
    );
    expect(placed.inFlightWindowEndMs).toBe(now + policy.inFlightWindowMs);
    const shown = facts({ state: 'placed', inFlightWindowEndMs: placed.inFlightWindowEndMs });
    expect(
      decideLookup(
        { ...shown, inFlightWindowLeftMs: 115_000 },
        { kind: 'absent' },
        policy,
        now + 5000,
        noJitter,
      ),
    ).toMatchObject({
      state: 'placed',
      nextStep: 'lookup',
      answer: null,
    });
    const sought = { ...shown, ...saidBefore };
    expect(decideLookup(sought, { kind: 'absent' }, policy, now + 120_000, noJitter).state).toBe(
      'needs_review',
    );
  });

  it('flags an order for review when its units do not come', () => {
    const placed = facts({
      state: 'placed',
      quantity: 2,
      firstSentAtMs: now - policy.placedDeadlineMs,
    });
    expect(
      decideLookup(placed, { kind: 'found', answer: answer() }, policy, now, noJitter).state,
    ).toBe('needs_review');
    const young = facts({ state: 'placed', quantity: 2, firstSentAtMs: now });
    expect(
      decideLookup(young, { kind: 'found', answer: answer() }, policy, now, noJitter),
    ).toMatchObject({
      state: 'placed',
      tries: 1,
    });
  });

  describe('of a cancel', () => {
    const iccid = '8900000000000000000';
    const cancel: Partial<EntryFacts> = {
      operation: 'esim_cancel' satisfies Operation,
      iccid,
      ...outcomeUnknown,
    };

    it('confirms the cancel when the order is refunded or the eSIM is cancelled', () => {
      const refunded = answer({ status: 'refunded', statusClass: 'refunded' });
      expect(
        decideLookup(facts(cancel), { kind: 'found', answer: refunded }, policy, now, noJitter)
          .state,
      ).toBe('fulfilled');
      const oneOfTwo = answer({
        units: [{ iccid: '8900000000000000018' }, { iccid, status: 'cancelled' }],
      });
      expect(
        decideLookup(facts(cancel), { kind: 'found', answer: oneOfTwo }, policy, now, noJitter)
          .state,
      ).toBe('fulfilled');
    });

    it('does not confirm it when another eSIM of the same order was refunded', () => {
      const other = { iccid: '8900000000000000018', status: 'cancelled' };
      const still = answer({
        status: 'refunded',
        statusClass: 'refunded',
        units: [other, { iccid, status: 'new' }],
      });
      expect(
        decideLookup(facts(cancel), { kind: 'found', answer: still }, policy, now, noJitter),
      ).toMatchObject({
        state: 'unknown',
        nextStep: 'send',
      });
      const silent = answer({
        status: 'refunded',
        statusClass: 'refunded',
        units: [{ iccid: other.iccid }, { iccid }],
      });
      expect(
        decideLookup(facts(cancel), { kind: 'found', answer: silent }, policy, now, noJitter).state,
      ).toBe('unknown');
    });

    it('flags it for review when the order of the eSIM is not found, which proves nothing', () => {
      const settlement = decideLookup(
        facts({ ...cancel, ...saidBefore, inFlightWindowEndMs: now - 1 }),
        { kind: 'absent' },
        policy,
        now,
        noJitter,
      );
      expect(settlement).toMatchObject({ state: 'needs_review', outcomeUnknown: true });
    });

    it('repeats it when nothing was cancelled, and flags it for review when it was rejected while its outcome was unknown', () => {
      const untouched = {
        kind: 'found',
        answer: answer({ units: [{ iccid, status: 'active' }] }),
      } as const;
      expect(decideLookup(facts(cancel), untouched, policy, now, noJitter)).toMatchObject({
        state: 'unknown',
        nextStep: 'send',
      });
      const installed = {
        row: 'not_cancellable',
        code: 'not_cancellable',
        message: 'installed',
      } as const;
      expect(
        decideLookup(facts({ ...cancel, buffered: installed }), untouched, policy, now, noJitter)
          .state,
      ).toBe('needs_review');
    });
  });
});
