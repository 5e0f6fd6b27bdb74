import { stepsOf } from '../support/steps.ts';
import { afterEach, describe, expect, it } from 'vitest';
import {
  withoutAnswer,
  type LookupOutcome,
  type OutcomeRow,
} from '../../src/core/answers/outcome.ts';
import { OrderSyncError } from '../../src/core/order-sync-error.ts';
import type { AttemptDeps } from '../../src/buying/run-call.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { LookupCheck } from '../../src/buying/proofs/lookup-check.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { HandClock } from '../support/hand-clock.ts';
import { answer, close, fulfilled, line, Outbox } from '../support/outbox.ts';
import { wrappedStore } from '../support/wrapped-store.ts';

let outbox: Outbox | null = null;
afterEach(async () => {
  await outbox?.close();
  outbox = null;
});

/** Checks the lookup of an order that was bought; the lookup ends in this row. */
async function checked(row: OutcomeRow): Promise<AttemptDeps> {
  outbox = await Outbox.open();
  const { store } = outbox;
  await outbox.accept([line()]);
  await stepsOf(store).closeAttempt(close(await outbox.opened(), fulfilled));
  const failed = {
    kind: 'failed',
    outcome: { ...withoutAnswer(row, true, 'no'), http: 403 },
  } as const;
  const deps = attemptDeps(store, { lookUp: async () => failed });
  await deps.lookups.tryOne(deps, new AbortController().signal);
  return deps;
}

describe('a lookup that only checks whether lookups work', () => {
  it.each([
    ['ip_not_allowed', 'key:main'],
    ['invalid_key', 'key:main'],
    ['account_not_allowed', 'account'],
    ['api_disabled', 'account'],
  ] as const)('pauses the key or account that the API denies: %s', async (row, scope) => {
    const { pauses } = await checked(row);
    expect(pauses.all).toMatchObject([{ scope, reason: row, openedBy: 'worker' }]);
  });

  it('makes the key back off after a 429', async () => {
    const { gate, pauses } = await checked('rate_limited');
    expect(pauses.all).toEqual([]);
    expect(gate.usage()[0]?.backOffMs).toBeGreaterThan(4000);
    expect(gate.tryTake('spend')).toBeNull();
  });

  it('pauses nothing when it only fails', async () => {
    const { gate, pauses } = await checked('dropped');
    expect(pauses.all).toEqual([]);
    expect(gate.tryTake('spend')).toBe('main');
  });
});

it.each([
  ['one that failed is repeated after a minute', 'failed', 60_000],
  ['one that found nothing is repeated after ten minutes', 'absent', 600_000],
] as const)('of lookups that only check whether lookups work, %s', async (_what, kind, againMs) => {
  outbox = await Outbox.open();
  const { store } = outbox;
  await outbox.accept([line()]);
  await stepsOf(store).closeAttempt(close(await outbox.opened(), fulfilled));
  const failed = {
    kind: 'failed',
    outcome: withoutAnswer('dropped', true, 'the connection ended'),
  } as const;
  let calls = 0;
  const lookUp = async () => {
    calls += 1;
    if (calls > 1) return { kind: 'found', answer } as const;
    return kind === 'failed' ? failed : ({ kind } as const);
  };
  const usual = attemptDeps(store, { lookUp });
  const clock = new HandClock();
  const deps = { ...usual, clock, gate: new BudgetGate(['main'], usual.limits, clock) };
  const found: boolean[] = [];
  for (const now of [0, againMs - 1, againMs]) {
    clock.now = now;
    await deps.lookups.tryOne(deps, new AbortController().signal);
    found.push(deps.lookups.hasFound('gift_card_order', deps.wholesale));
  }
  expect([calls, found]).toEqual([2, [false, false, true]]);
});

it('a found top-up proves lookups of both kinds, also when the worker died between the two proofs', async () => {
  outbox = await Outbox.open();
  const { store } = outbox;
  const wholesale = { lookupPath: () => '/esim/orders/{key}' };
  let proofs = 0;
  const dying = wrappedStore(store, (name, step) => async (...values) => {
    if (name === 'buying.lookups.prove') proofs += 1;
    if (proofs === 2) throw new Error('the worker died');
    return step(...values);
  });
  await expect(
    new LookupCheck(stepsOf(dying)).recordFound('esim_topup', wholesale),
  ).rejects.toThrow('the worker died');
  const next = new LookupCheck(stepsOf(store));
  await next.refresh();
  await next.recordFound('esim_topup', wholesale);
  expect(next.hasFound('esim_topup', wholesale)).toBe(true);
  expect(next.hasFound('esim_order', wholesale)).toBe(true);
});

it('believes lookups from the record of the proof on, although the disk is full when proofs are read', async () => {
  outbox = await Outbox.open();
  const full = wrappedStore(outbox.store, (name, step) => async (...values) => {
    if (name === 'buying.lookups.proven') throw new OrderSyncError('DISK_FULL', 'The disk is full');
    return step(...values);
  });
  const lookups = new LookupCheck(stepsOf(full));
  const wholesale = { lookupPath: () => '/orders/{key}' };
  await lookups.recordFound('gift_card_order', wholesale);
  expect(lookups.hasFound('gift_card_order', wholesale)).toBe(true);
  expect(lookups.hasFound('esim_order', wholesale)).toBe(false);
});

describe('a lookup that does not find what was bought', () => {
  const withPath = (path: string | null) => ({ lookupPath: () => path });
  const refused = (row: OutcomeRow, http: number | null) =>
    ({ kind: 'failed', outcome: { ...withoutAnswer(row, true, 'no'), http } }) as const;

  /** Looks up the order that was bought. Returns the rows of the attention list about it. */
  async function asked(
    answers: readonly LookupOutcome[],
    paths: readonly (string | null)[] = answers.map(() => '/orders/{key}'),
  ): Promise<readonly (readonly string[])[]> {
    outbox = await Outbox.open();
    const { store } = outbox;
    await outbox.accept([line()]);
    await stepsOf(store).closeAttempt(close(await outbox.opened(), fulfilled));
    const left = [...answers];
    const usual = attemptDeps(store, { lookUp: async () => left.shift() ?? { kind: 'absent' } });
    const rows: string[][] = [];
    for (const path of paths) {
      const deps = { ...usual, wholesale: { ...usual.wholesale, ...withPath(path) } };
      await deps.lookups.tryOne(deps, new AbortController().signal);
      rows.push(store.read.attention(9, { kind: 'lookup' }).map(({ message }) => message ?? ''));
    }
    return rows;
  }

  it.each([
    ['the API does not know it', { kind: 'absent' } as const],
    ['something else answers', refused('foreign_refusal', 404)],
    ['a page answers', refused('unreadable_success', 200)],
  ])(
    'needs attention until one is found under a corrected path, which is tried at once: %s',
    async (_what, answered) => {
      const found = { kind: 'found', answer } as const;
      const paths = ['/orders/{key}', '/orders/by-reference/{key}'];
      expect(await asked([answered, found], paths)).toEqual([
        [expect.stringContaining('at /orders/{key} does not find the order os-')],
        [],
      ]);
    },
  );

  it('is not told of where the call was denied or brought no answer, or nobody looks up any more', async () => {
    for (const answered of [
      refused('invalid_key', 401),
      refused('dropped', null),
      refused('server_error', 500),
    ])
      expect(await asked([answered])).toEqual([[]]);
    const rows = await asked([{ kind: 'absent' }], ['/orders/{key}', null]);
    expect(rows.map(({ length }) => length)).toEqual([1, 0]);
  });
});
