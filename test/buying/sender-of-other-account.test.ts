import { stepsOf } from '../support/steps.ts';
import { onTestFinished, expect, it } from 'vitest';
import type { LookupOutcome } from '../../src/core/answers/outcome.ts';
import { keyOfOtherAccount } from '../../src/store/entries/pauses.ts';
import { Attempt } from '../../src/buying/run-call.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { takeKey } from '../../src/buying/proofs/budgeted-read.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { entries } from '../support/operator.ts';
import { answer, close, line, nothing, Outbox } from '../support/outbox.ts';

const main = { keyName: 'main', keyValue: 'value-main' };
const spare = { keyName: 'spare', keyValue: 'value-spare' };

const ofOtherAccount = { reason: keyOfOtherAccount, openedBy: 'worker' };

/** The key `spare` sent an entry, and is paused since. No lookup has found an order yet. */
async function sentByPausedKey(shown: LookupOutcome, paused = ofOtherAccount) {
  const box = await Outbox.open();
  onTestFinished(() => box.close());
  const steps = stepsOf(box.store);
  const usual = attemptDeps(box.store, { lookUp: async () => shown });
  const deps = {
    ...usual,
    gate: new BudgetGate(['main', 'spare'], usual.limits, usual.clock),
    keyValue: (name: string) => `value-${name}`,
  };
  const attempts = new Attempt(deps);
  const keys = [main, spare].map(({ keyName, keyValue }) => ({ name: keyName, value: keyValue }));
  await box.store.adoptKeys({ keys, nowMs: 1000, whileRunning: false });
  await box.accept([line()]);
  const nowMs = deps.clock.wallMs();
  const sent = close(await box.opened({ ...spare, nowMs }), {
    ...nothing,
    nextStep: 'send',
    dueAtMs: 0,
  });
  await steps.closeAttempt({ ...sent, nowMs });
  await steps.accountKeys.prove(main.keyValue);
  await box.store.pauses.open({
    ...paused,
    scope: 'key:spare',
    message: '',
    probeAtMs: null,
    nowMs,
  });
  await deps.pauses.refresh();
  return {
    /** What becomes of the entry when `main` sends. */
    claimed: async () => {
      const claim = box.claim({ ...main, nowMs, resend: attempts.resend });
      expect(await steps.openAttempt(claim)).toBeNull();
      return entries(box)[0];
    },
    lookedUp: async () => {
      const steadyMs = deps.clock.steadyMs() + 3_600_000;
      const lookup = { step: 'lookup', nowMs: deps.clock.wallMs(), steadyMs } as const;
      expect(await steps.openAttempt(box.claim({ ...lookup, ...main }))).toBeNull();
      const attempt = await box.opened({ ...lookup, ...spare });
      const key = takeKey(deps, 'read', [main.keyName]);
      if (key === null) throw new Error('a slot is free');
      await attempts.run(attempt, key, new AbortController().signal);
      return entries(box)[0];
    },
  };
}

it('an order that a key of another account sent is settled by a lookup with that key', async () => {
  const sender = await sentByPausedKey({ kind: 'found', answer });
  expect(await sender.claimed()).toMatchObject({
    state: 'unknown',
    next_step: 'lookup',
    review_reason: null,
  });
  expect(await sender.lookedUp()).toMatchObject({
    state: 'fulfilled',
    order_number: answer.orderNumber,
  });
});

it('an operator is asked when that key does not find it three times, because no lookup has found an order yet', async () => {
  const sender = await sentByPausedKey({ kind: 'absent' });
  await sender.claimed();
  for (const absences of [1, 2])
    expect(await sender.lookedUp()).toMatchObject({
      state: 'unknown',
      next_step: 'lookup',
      absences,
    });
  expect(await sender.lookedUp()).toMatchObject({ state: 'needs_review', outcome_unknown: 1 });
});

it('such an order waits while an operator has paused that key, and an operator is asked when the worker has', async () => {
  const waiting = await sentByPausedKey(
    { kind: 'absent' },
    { reason: 'a new key comes tomorrow', openedBy: 'anna' },
  );
  expect(await waiting.claimed()).toMatchObject({
    state: 'unknown',
    next_step: 'send',
    review_reason: null,
  });
  const denied = await sentByPausedKey(
    { kind: 'absent' },
    { reason: 'key_revoked', openedBy: 'worker' },
  );
  expect(await denied.claimed()).toMatchObject({ state: 'needs_review', outcome_unknown: 1 });
});
