import { stepsOf } from '../support/steps.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  EntryExplanation,
  QueueExplanation,
} from '../../src/core/operator/queue-explanation.ts';
import type { EntryAction } from '../../src/core/operator/operator-decision.ts';
import type { Settlement } from '../../src/buying/decision/settlement.ts';
import type { PresentTime } from '../../src/core/time/wall-clock.ts';
import type { QueueFacts } from '../../src/store/read/queue-facts.ts';
import type { Pause } from '../../src/store/entries/pauses.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { explain } from '../../src/buying/queue/explain-queue.ts';
import { HandClock } from '../support/hand-clock.ts';
import { close, closeConfirmed, emptyBalance, line, nothing, Outbox } from '../support/outbox.ts';

const nowMs = Date.parse('2026-11-21T12:00:00.000Z');
const startMs = 1_000_000;
const at = (seconds: number): string => new Date(nowMs + seconds * 1000).toISOString();
const limits = { windowMs: 60_000, requests: 60, orders: 20, transitMs: 5000 };

let outbox: Outbox;
let clock: HandClock;
let gate: BudgetGate;

beforeEach(async () => {
  outbox = await Outbox.open();
  clock = new HandClock(nowMs - startMs);
  clock.now = startMs;
  useKeys(1);
});
afterEach(() => outbox.close());

function useKeys(count: number): void {
  const names = Array.from({ length: count }, (_, index) => `k${index}`);
  gate = new BudgetGate(names, limits, clock);
}

/** Accepts so many orders of one shop, due now. Returns their references. */
async function orders(
  count: number,
  changes: Parameters<typeof line>[0] = {},
): Promise<readonly string[]> {
  const lines = Array.from({ length: count }, (_, index) =>
    line({ orderId: `o${index}`, ...changes }),
  );
  const accepted = await outbox.accept(lines, null, nowMs);
  return accepted.map(({ reference }) => reference ?? '');
}

const pause = (scope: string, changes: Partial<Pause> = {}) =>
  outbox.store.pauses.open({
    scope,
    reason: 'invalid_key',
    message: 'wrong key',
    openedBy: 'worker',
    probeAtMs: nowMs + 120_000,
    nowMs: nowMs - 60_000,
    ...changes,
  });

/** Claims the next entry and settles it. Returns its reference. */
async function settleNext(settlement: Partial<Settlement>): Promise<string> {
  const attempt = await outbox.opened({ nowMs, steadyMs: clock.now });
  await stepsOf(outbox.store).closeAttempt(
    close(attempt, { ...nothing, ...settlement }, { nowMs }),
  );
  return attempt.entry.reference;
}

const decide = (reference: string, order: EntryAction) =>
  outbox.store.operator.actOnEntry({
    reference,
    order,
    actor: 'cli:anna',
    reason: 'asked by the shop',
    nowMs,
    steadyMs: clock.now,
    referenceExpiryMs: 86_400_000,
    lookupFamilies: ['gift_card', 'esim'],
  });

/** A 429 to a call of the key, 5 s ago. */
async function rateLimited(keyName: string, backOffMs: number): Promise<void> {
  clock.now -= 5000;
  const backOff = gate.rateLimited(keyName, clock.now + 5000 + backOffMs);
  await stepsOf(outbox.store).budget.recordBackOff(backOff, clock.wallMs());
  clock.now += 5000;
}

/** Orders that the key bought 20 s ago. */
function bought(keyName: string, count: number): void {
  for (const limitName of ['orders', 'requests'] as const) {
    gate.restore(
      Array.from({ length: count }, () => ({
        keyName,
        limitName,
        settledMs: clock.now - 20_000,
      })),
    );
  }
}

interface Changes {
  readonly isWorkerRunning?: boolean;
  readonly facts?: Partial<QueueFacts>;
  readonly present?: PresentTime;
}

const exactNow: PresentTime = { earliestMs: nowMs, latestMs: nowMs };

const sources = ({ isWorkerRunning = true, facts = {}, present = exactNow }: Changes) => ({
  read: {
    queueFacts: () => ({ ...outbox.store.read.queueFacts(), ...facts }),
    queuedEntry: (reference: string) => outbox.store.read.queuedEntry(reference),
  },
  nowMs,
  maxUnknownOutcomes: 5,
  minFreeBytes: 104_857_600,
  worker: isWorkerRunning ? { gate, concurrency: 8, present } : null,
});

function explainedEntry(reference: string | undefined, changes: Changes = {}): EntryExplanation {
  const explained = explain(sources(changes), reference ?? 'none');
  if (explained.kind !== 'queued_entry') throw new Error('an entry was asked for');
  return explained.explanation;
}

function explainedQueue(changes: Changes = {}): QueueExplanation {
  const explained = explain(sources(changes), null);
  if (explained.kind !== 'queue') throw new Error('the queue was asked for');
  return explained.explanation;
}

describe('why an entry is not sent', () => {
  it('there is no reason when it is its turn', async () => {
    const [first] = await orders(30);
    expect(explainedEntry(first)).toEqual({
      worker_answers: true,
      reference: first,
      state: 'pending',
      reasons: [],
      calls_ahead: 0,
      per_minute: 20,
      starts_at: at(0),
    });
  });

  const cases: readonly {
    readonly because: string;
    readonly given: () => Promise<void>;
    readonly changes?: Changes;
    readonly reason: string;
    readonly startsAt: string | null;
  }[] = [
    {
      because: 'the API asked the only key to back off',
      given: () => rateLimited('k0', 30_000),
      reason: `the key k0 is backing off until ${at(30)}: the API answered 429 at ${at(-5)}`,
      startsAt: at(30),
    },
    {
      because: 'the only key is throttled after a 429',
      given: () => rateLimited('k0', -1),
      reason: `the key k0 is throttled to one call in 3.3 s until ${at(59.999)}, because of a 429 at ${at(-5)}`,
      startsAt: at(0),
    },
    {
      because:
        'the API asked for a back-off before the worker was restarted, and it lasts until then',
      given: async () => {
        await rateLimited('k0', 30_000);
        gate = new BudgetGate(['k0'], limits, clock);
        gate.restoreBackOffs(await stepsOf(outbox.store).budget.restoreBackOffs());
      },
      reason: `the key k0 is backing off until ${at(30)}: the API answered 429 at ${at(-5)}`,
      startsAt: at(30),
    },
    {
      because: 'the only key is paused',
      given: async () => {
        gate.excludeKeys((name) => name === 'k0');
        await pause('key:k0');
      },
      reason: `key:k0 is paused since ${at(-60)} by worker: invalid_key: wrong key; it holds up 0 entries; tried again at ${at(120)}`,
      startsAt: null,
    },
    {
      because: 'the account is paused',
      given: () => pause('account', { reason: 'api_disabled', message: 'maintenance' }),
      reason: `account is paused since ${at(-60)} by worker: api_disabled: maintenance; it holds up 9 entries; tried again at ${at(120)}`,
      startsAt: null,
    },
    {
      because: 'its balance is paused',
      given: () => pause('balance:USD', { reason: 'insufficient_balance', message: 'too low' }),
      reason: `balance:USD is paused since ${at(-60)} by worker: insufficient_balance: too low; it holds up 9 entries; tried again at ${at(120)}`,
      startsAt: null,
    },
    {
      because: 'an operator paused its family',
      given: () =>
        pause('family:gift_card', {
          reason: 'manual',
          message: 'stocktaking',
          openedBy: 'cli:anna',
          probeAtMs: null,
        }),
      reason: `family:gift_card is paused since ${at(-60)} by cli:anna: manual: stocktaking; it holds up 9 entries`,
      startsAt: null,
    },
    {
      because: 'its product is paused',
      given: () =>
        pause('variant:steam-10', { reason: 'order_absent', message: '3 entries in a row' }),
      reason: `variant:steam-10 is paused since ${at(-60)} by worker: order_absent: 3 entries in a row; it holds up 9 entries; tried again at ${at(120)}`,
      startsAt: null,
    },
    {
      because: 'too many outcomes of its product are unknown',
      given: async () => {
        for (let call = 0; call < 2; call += 1) await settleNext({});
      },
      reason:
        'the outcome of 2 other entries of variant:steam-10 is unknown; nothing new of this product is bought until one outcome is known',
      startsAt: null,
    },
    {
      because: 'too many outcomes are unknown',
      given: async () => {
        for (const variant of ['b', 'c', 'd']) await orders(1, { orderId: variant, variant });
        for (let call = 0; call < 5; call += 1) await settleNext({});
      },
      reason:
        'the outcome of 5 entries is unknown; nothing new is bought while 5 or more are unknown',
      startsAt: null,
    },
    {
      because: 'the disk is nearly full',
      given: () => Promise.resolve(),
      changes: { facts: { freeBytes: 1000 } },
      reason: 'the disk of the outbox is nearly full: 1000 bytes are free, 104857600 are needed',
      startsAt: null,
    },
    {
      because: 'no worker runs',
      given: () => Promise.resolve(),
      changes: { isWorkerRunning: false },
      reason:
        'no worker answers: nothing is sent until a worker runs; start it with `order-sync run`',
      startsAt: null,
    },
    {
      because: 'as many calls are in flight as may be',
      given: async () => {
        for (let call = 0; call < 8; call += 1) await outbox.opened({ nowMs, steadyMs: clock.now });
      },
      reason: '8 calls are in flight, and submit.concurrency allows 8',
      startsAt: at(0),
    },
    {
      because: 'the budget is used up',
      given: async () => bought('k0', 20),
      reason: `the budget: 20 of 20 orders and 20 of 60 requests are used; the next call can start at ${at(40)}`,
      startsAt: at(40),
    },
  ];

  it.each(cases)('is explained when $because', async ({ given, changes, reason, startsAt }) => {
    const references = await orders(9);
    await given();
    // The first one that `given` has not claimed.
    const next = references.find(
      (reference) => outbox.store.read.queuedEntry(reference)?.state === 'pending',
    );
    const explained = explainedEntry(next, changes);
    expect(explained.reasons).toContain(reason);
    expect(explained.starts_at).toBe(startsAt);
  });

  it('is explained by its own state: an earlier entry of its eSIM, its due time, an operator, a replacement', async () => {
    const topup = {
      operation: 'esim_topup',
      variant: null,
      plan: 'es-7',
      iccid: '8900000000000000001',
    } as const;
    const [earlier] = await orders(1, { ...topup, orderId: 't1' });
    const [later] = await orders(1, { ...topup, orderId: 't2' });
    expect(explainedEntry(later).reasons).toEqual([`${earlier}, for the same eSIM, comes first`]);
    const refused = await outbox.opened({ nowMs, steadyMs: clock.now });
    const waiting = refused.entry.reference;
    const delayed = { ...emptyBalance, dueAtMs: nowMs + 5000 };
    await closeConfirmed(outbox, refused, delayed, nowMs, clock.now);
    expect(explainedEntry(waiting)).toMatchObject({
      reasons: [`it is due at ${at(5)}`],
      starts_at: at(5),
    });
    await decide(waiting, { action: 'hold' });
    expect(explainedEntry(waiting).reasons).toEqual(['it is held: asked by the shop']);
    await decide(waiting, { action: 'cancel' });
    expect(explainedEntry(waiting).reasons).toEqual(['it is cancelled, which is final']);
    const { newReference } = await decide(waiting, { action: 'reorder', confirm: waiting });
    expect(explainedEntry(waiting)).toMatchObject({
      reasons: [`it was replaced by ${newReference}`],
      starts_at: null,
    });
    const review = await settleNext({
      state: 'needs_review',
      reviewReason: 'the reference has expired',
    });
    expect(explainedEntry(review).reasons).toEqual(['it needs review: the reference has expired']);
    await orders(1, { orderId: 'late', currency: 'EUR' });
    const { entry } = await outbox.opened({ nowMs });
    expect(explainedEntry(entry.reference).reasons).toEqual(['its call is in flight']);
  });

  it('is explained by its own key where another one may be of another account', async () => {
    const keys = ['main', 'spare'].map((name) => ({ name, value: `value-${name}` }));
    await outbox.store.adoptKeys({ keys, nowMs, whileRunning: false });
    await orders(1);
    const claim = { nowMs, steadyMs: clock.now, keyName: 'main', keyValue: 'value-main' };
    const attempt = await outbox.opened(claim);
    const waiting = { ...emptyBalance, dueAtMs: clock.now, row: 'rate_limited' } as const;
    await stepsOf(outbox.store).closeAttempt(close(attempt, waiting, { nowMs }));
    expect(explainedEntry(attempt.entry.reference)).toMatchObject({
      reasons: [
        'it was sent with the key main, so only that key sends it again, until another key is known to belong to the same account',
      ],
      starts_at: at(0),
    });
  });

  it('counts what comes before: shops take turns', async () => {
    const references = await orders(25);
    await orders(1, { source: 'shop2' });
    bought('k0', 3);
    // One of the other shop may come before it; three of the twenty slots are held by what was
    // bought before.
    expect(explainedEntry(references[0])).toMatchObject({
      reasons: [],
      calls_ahead: 1,
      starts_at: at(0),
    });
    expect(explainedEntry(references[24])).toMatchObject({ calls_ahead: 25, starts_at: at(75) });
    // A shop with many orders delays a single one of another shop by one.
    const [single] = await orders(1, { source: 'shop3' });
    expect(explainedEntry(single)).toMatchObject({ calls_ahead: 2, starts_at: at(0) });
  });

  it('names the deadline that it will miss', async () => {
    const [, second] = await orders(2, { notAfterMs: nowMs + 30_000 });
    bought('k0', 20);
    expect(explainedEntry(second).reasons).toEqual([
      `the budget: 20 of 20 orders and 20 of 60 requests are used; the next call can start at ${at(40)}`,
      `the deadline is ${at(30)}; the line is not bought after that`,
    ]);
  });

  it('says that two clocks disagree about its deadline, whichever of them is right', async () => {
    const [reference] = await orders(1, { notAfterMs: nowMs + 3_600_000 });
    const between = (earliestMs: number, latestMs: number): Changes => ({
      present: { earliestMs, latestMs },
    });
    const behind = explainedEntry(reference, between(nowMs, nowMs + 5 * 86_400_000));
    expect(behind.reasons.join()).toContain('the line waits until both agree');
    expect(behind.starts_at).toBeNull();
    expect(explainedEntry(reference, between(nowMs, nowMs)).reasons).toEqual([]);
    expect(explainedEntry(reference, between(nowMs - 86_400_000, nowMs)).reasons).toEqual([]);
  });

  it('does not forecast a lookup either while nothing may be called', async () => {
    await orders(1);
    const looked = await settleNext({ dueAtMs: nowMs });
    const lookup = 'the next call is a lookup, which asks the API whether the order was bought';
    expect(explainedEntry(looked)).toMatchObject({
      reasons: [lookup],
      calls_ahead: null,
      starts_at: at(0),
    });
    await rateLimited('k0', 30_000);
    expect(explainedEntry(looked).starts_at).toBe(at(30));
    await pause('account');
    expect(explainedEntry(looked).starts_at).toBeNull();
  });

  it('a reference that is not in the outbox is not found', () => {
    expect(() => explainedEntry('os-nobody')).toThrow(
      expect.objectContaining({ code: 'NOT_FOUND' }),
    );
  });
});

describe('when everything is sent, about', () => {
  it.each([
    [1, 20, at(87)],
    [2, 40, at(0)],
    [5, 100, at(0)],
  ])(
    'with %s keys, 30 orders are sent at %s a minute, by %s',
    async (keys, perMinute, drainedAt) => {
      useKeys(keys);
      await orders(30);
      expect(explainedQueue()).toMatchObject({
        to_send: 30,
        per_minute: perMinute,
        drained_at: drainedAt,
      });
    },
  );

  it('calls in flight are usual work, and no note', async () => {
    await orders(9);
    for (let call = 0; call < 8; call += 1) await outbox.opened({ nowMs, steadyMs: clock.now });
    expect(explainedQueue()).toMatchObject({ notes: [], reasons: [] });
  });

  it('counts what is free now', async () => {
    await orders(30);
    useKeys(2);
    bought('k1', 20);
    expect(explainedQueue()).toMatchObject({
      drained_at: at(43.5),
      limits: [
        { limit: 'orders', used: 20, capacity: 40, next_free_at: at(0) },
        { limit: 'requests', used: 20, capacity: 120, next_free_at: at(0) },
      ],
    });
  });

  it('counts neither a paused key nor the free slots of one that backs off', async () => {
    await orders(30);
    useKeys(2);
    await rateLimited('k1', 10_000);
    expect(explainedQueue().keys.map((key) => key.state)).toEqual(['ready', 'backing_off']);
    expect(explainedQueue()).toMatchObject({ per_minute: 38, drained_at: at(45.789) });
    gate.excludeKeys((name) => name === 'k1');
    await pause('key:k1');
    expect(explainedQueue()).toMatchObject({
      drained_at: at(87),
      keys: [
        { name: 'k0', state: 'ready', since: null, until: null },
        { name: 'k1', state: 'paused', since: at(-60), until: null },
      ],
      limits: [{ capacity: 20 }, { capacity: 60 }],
    });
  });

  it('leaves out what a pause or its own time holds up', async () => {
    await orders(20);
    await orders(10, { currency: 'EUR', source: 'shop2' });
    await pause('balance:EUR');
    await settleNext({
      state: 'waiting',
      nextStep: 'send',
      outcomeUnknown: false,
      dueAtMs: nowMs + 86_400_000,
    });
    expect(explainedQueue()).toMatchObject({
      to_send: 30,
      to_send_paused: 10,
      to_send_waiting: 1,
      reasons: [],
      drained_at: at(0),
      pauses: [{ scope: 'balance:EUR', opened_by: 'worker', since: at(-60), probe_at: at(120) }],
    });
    await pause('account');
    expect(explainedQueue().drained_at).toBeNull();
    expect(explainedQueue().reasons).toHaveLength(1);
  });

  it('without a worker, what the outbox knows is told, and nothing is estimated', async () => {
    await orders(30);
    await settleNext({});
    await pause('balance:EUR');
    expect(explainedQueue({ isWorkerRunning: false })).toEqual({
      worker_answers: false,
      to_send: 29,
      to_send_paused: 0,
      to_send_waiting: 0,
      outcome_unknown: 1,
      free_bytes: expect.any(Number),
      reasons: [],
      notes: [
        'no worker answers: nothing is sent until a worker runs; start it with `order-sync run`',
      ],
      pauses: [
        expect.objectContaining({ scope: 'balance:EUR', reason: 'invalid_key', since: at(-60) }),
      ],
      keys: [],
      limits: [],
      per_minute: 0,
      drained_at: null,
    });
  });
});
