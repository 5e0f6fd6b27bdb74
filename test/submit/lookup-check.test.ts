import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { withoutAnswer, type OutcomeRow } from '../../src/core/decision/outcome.ts';
import { usualTries } from '../../src/core/decision/settlement.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import type { AttemptDeps } from '../../src/submit/attempt.ts';
import { BudgetGate } from '../../src/submit/budget-gate.ts';
import { LookupCheck } from '../../src/submit/lookup-check.ts';
import { Pauses } from '../../src/submit/pauses.ts';
import { close, fulfilled, line, Outbox } from '../support/outbox.ts';
import { wrappedStore } from '../support/wrapped-store.ts';

let outbox: Outbox | null = null;
afterEach(async () => {
  await outbox?.close();
  outbox = null;
});

/** A check whose one lookup ends in this row, for an order that was bought. */
async function checked(row: OutcomeRow): Promise<AttemptDeps> {
  outbox = await Outbox.open();
  const { store } = outbox;
  await outbox.accept([line()]);
  await store.submission.closeAttempt(close(await outbox.opened(), fulfilled));
  const clock = new SystemClock();
  const limits = { windowMs: 60_000, requests: 60, orders: 20, transitMs: 1000 };
  const deps: AttemptDeps = {
    store,
    wholesale: {
      render: () => ({ method: 'POST', path: '/orders', body: '{}' }),
      submit: async () => withoutAnswer('dropped', true, ''),
      canLookUp: () => true,
      lookupPath: () => '/orders/{key}',
      lookUp: async () => ({ kind: 'failed', outcome: { ...withoutAnswer(row, true, 'no'), http: 403 } }),
      probe: async () => withoutAnswer('dropped', true, ''),
    },
    gate: new BudgetGate(['main'], limits, clock),
    lookups: new LookupCheck(store),
    pauses: new Pauses({ store, clock, random: () => 0.5, retryTimeScale: 1 }),
    clock,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    limits,
    policy: {
      settlementDelayMs: 1,
      referenceExpiryMs: 1,
      placedDeadlineMs: 1,
      cancelTries: 3,
      ...usualTries,
      retryTimeScale: 1,
    },
    keyValue: () => 'key',
  };
  await deps.lookups.tryOne(deps, new AbortController().signal);
  return deps;
}

describe('a lookup that only checks whether lookups work', () => {
  it.each([
    ['ip_not_allowed', 'key:main'],
    ['invalid_key', 'key:main'],
    ['account_not_allowed', 'account'],
    ['api_disabled', 'account'],
  ] as const)('lets the scope stand still when the API turns it away: %s', async (row, scope) => {
    const { pauses } = await checked(row);
    expect(pauses.all).toMatchObject([{ scope, reason: row, openedBy: 'worker' }]);
  });

  it('leaves the key alone after a 429', async () => {
    const { gate, pauses } = await checked('rate_limited');
    expect(pauses.all).toEqual([]);
    expect(gate.usage()[0]?.backOffMs).toBeGreaterThan(4000);
    expect(gate.tryTake('spend')).toBeNull();
  });

  it('stops nothing when it only fails', async () => {
    const { gate, pauses } = await checked('dropped');
    expect(pauses.all).toEqual([]);
    expect(gate.tryTake('spend')).toBe('main');
  });
});

it('believes what a top-up proves of both kinds, also when the worker died between the two proofs', async () => {
  outbox = await Outbox.open();
  const { store } = outbox;
  const wholesale = { lookupPath: () => '/esim/orders/{key}' };
  let proofs = 0;
  const dying = wrappedStore(store, (name, step) => async (...values) => {
    if (name === 'submission.lookups.prove') proofs += 1;
    if (proofs === 2) throw new Error('the worker died');
    return step(...values);
  });
  await expect(new LookupCheck(dying).found('esim_topup', wholesale)).rejects.toThrow('the worker died');
  const next = new LookupCheck(store);
  await next.refresh();
  await next.found('esim_topup', wholesale);
  expect(next.trusts('esim_topup', wholesale)).toBe(true);
  expect(next.trusts('esim_order', wholesale)).toBe(true);
});
