import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { drainedAt, explainEntry, generalReasons, movingDrainedAt } from '../../src/cli/queue-explanation.ts';
import { keyViews, type Situation } from '../../src/cli/queue-situation.ts';
import type { StoredBackOff, HeldSlot, QueuedEntry, QueueFacts } from '../../src/store/read/queue-facts.ts';
import type { Pause } from '../../src/store/submission/submission.ts';
import { folderWith } from '../config/config-file.ts';
import { installation, nowMs, sandboxConfig } from './installation.ts';
import { fillOutbox, openOutbox } from './sample-outbox.ts';

const at = (seconds: number): string => new Date(nowMs + seconds * 1000).toISOString();
const nowMono = 1_000_000;

interface Changes {
  readonly keys?: number;
  readonly facts?: Partial<QueueFacts>;
  readonly pauses?: readonly Pause[];
  readonly workerAnswers?: boolean;
}

/** An outbox with 30 orders of one shop to send, on a machine where nothing stands in the way. */
function situation({ keys = 1, facts = {}, pauses = [], workerAnswers = true }: Changes = {}): Situation {
  const names = Array.from({ length: keys }, (_, index) => `{ name: k${index}, value: sandbox-key-${index} }`);
  const text = sandboxConfig('.').replace(/keys: .*/, `keys: [${names.join(', ')}]`);
  const cwd = folderWith({ 'c.yaml': text });
  return {
    nowMs,
    nowMono,
    bootId: 'boot',
    config: loadConfig({ file: 'c.yaml', cwd, environment: {} }).config,
    pauses,
    workerAnswers,
    facts: {
      slots: [],
      rests: [],
      lanes: [{ source: 'shop', name: 'pending shop|USD', due: 30 }],
      outcomeUnknown: 0,
      unknownOutcomeSends: 0,
      toSend: { count: 30, standing: 0, lastDueMs: nowMs },
      openCalls: 0,
      freeBytes: 1e12,
      ...facts,
    },
  };
}

const entry = (changes: Partial<QueuedEntry> = {}): QueuedEntry => ({
  reference: 'os-1',
  source: 'shop',
  state: 'pending',
  nextStep: 'send',
  operation: 'gift_card_order',
  currency: 'USD',
  lane: 'shop|USD',
  dueAtMs: nowMs,
  notAfterMs: null,
  reviewReason: null,
  before: 0,
  replacedBy: [],
  blockedBy: null,
  ...changes,
});

const pause = (scope: string, changes: Partial<Pause> = {}): Pause => ({
  scope,
  reason: 'invalid_key',
  message: 'wrong key',
  openedBy: 'worker',
  sinceMs: nowMs - 60_000,
  probeAtMs: nowMs + 120_000,
  probes: 0,
  ...changes,
});

const rest = (keyName: string, blockedForMs: number, throttledForMs: number): StoredBackOff => ({
  keyName,
  bootId: 'boot',
  stampedMono: nowMono - 5000,
  blockedUntilMono: nowMono + blockedForMs,
  throttledUntilMono: nowMono + throttledForMs,
  rateLimitedAtMs: nowMs - 5000,
});

const used = (keyName: string, count: number): HeldSlot[] =>
  (['orders', 'requests'] as const).flatMap((limitName) =>
    Array.from({ length: count }, () => ({ keyName, limitName, bootId: 'boot', settledMono: nowMono - 20_000 })),
  );

describe('why an entry is not sent', () => {
  it('says nothing when it is its turn', () => {
    expect(explainEntry(entry(), situation())).toMatchObject({ reasons: [], startsAt: at(0) });
  });

  it.each([
    [
      'a key that the API asked to leave alone',
      { facts: { rests: [rest('k0', 30_000, 900_000)] } },
      `the key k0 is left alone until ${at(30)}: the API turned a call away with 429 at ${at(-5)}`,
      at(30),
    ],
    [
      'a key that is spread out after a 429',
      { facts: { rests: [rest('k0', -1, 900_000)] } },
      `the key k0 sends one call in 3.3 s until ${at(900)}, because of a 429 at ${at(-5)}`,
      at(0),
    ],
    [
      'the same in another run of the machine, for as long again',
      { facts: { rests: [{ ...rest('k0', 30_000, 900_000), bootId: 'another' }] } },
      `the key k0 is left alone until ${at(35)}: the API turned a call away with 429 at ${at(-5)}`,
      at(35),
    ],
    [
      'a key that stands still, where there is no other',
      { pauses: [pause('key:k0')] },
      `key:k0 stands still since ${at(-60)}, by worker: invalid_key: wrong key; looked at again at ${at(120)}`,
      null,
    ],
    [
      'the account',
      { pauses: [pause('account', { reason: 'api_disabled', message: 'maintenance' })] },
      `account stands still since ${at(-60)}, by worker: api_disabled: maintenance; looked at again at ${at(120)}`,
      null,
    ],
    [
      'its balance',
      { pauses: [pause('balance:USD', { reason: 'insufficient_balance', message: 'too low' })] },
      `balance:USD stands still since ${at(-60)}, by worker: insufficient_balance: too low; looked at again at ${at(120)}`,
      null,
    ],
    [
      'its family, stopped by a person',
      {
        pauses: [
          pause('family:gift_card', {
            reason: 'manual',
            message: 'stocktaking',
            openedBy: 'cli:anna',
            probeAtMs: null,
          }),
        ],
      },
      `family:gift_card stands still since ${at(-60)}, by cli:anna: manual: stocktaking`,
      null,
    ],
    [
      'too much in doubt',
      { facts: { outcomeUnknown: 5 } },
      '5 entries are in doubt, and nothing new is bought while there are 5',
      null,
    ],
    [
      'a disk that is nearly full',
      { facts: { freeBytes: 1000 } },
      'the disk of the outbox is nearly full: 1000 bytes are free, 104857600 are needed',
      null,
    ],
    [
      'a worker that does not answer',
      { workerAnswers: false },
      'no worker answers: nothing is sent until one runs, and times count from then',
      at(0),
    ],
    ['calls that are open', { facts: { openCalls: 8 } }, '8 calls are open, and submit.concurrency allows 8', at(0)],
    [
      'the budget',
      { facts: { slots: used('k0', 20) } },
      `the budget: 20 of 20 orders and 20 of 60 requests are used, the next slot is free at ${at(40)}`,
      at(40),
    ],
  ] as const)('names %s', (_name, changes, reason, startsAt) => {
    const explained = explainEntry(entry(), situation(changes));
    expect(explained.reasons).toContain(reason);
    expect(explained.startsAt).toBe(startsAt);
  });

  it('names its own eSIM, its time, a person, and what took its place', () => {
    const reasonsOf = (changes: Partial<QueuedEntry>) => explainEntry(entry(changes), situation()).reasons;
    expect(reasonsOf({ blockedBy: 'os-0' })).toEqual(['os-0, for the same eSIM, comes first']);
    expect(reasonsOf({ dueAtMs: nowMs + 5000 })).toEqual([`it is due at ${at(5)}`]);
    expect(reasonsOf({ state: 'held', reviewReason: 'asked by the shop' })).toEqual([
      'it is held by a person: asked by the shop',
    ]);
    expect(reasonsOf({ state: 'rejected', replacedBy: ['os-2', 'os-3'] })).toEqual([
      'others took its place: os-2, os-3',
    ]);
  });

  it('does not foresee a question either while nothing may be called', () => {
    const asked = entry({ state: 'placed', nextStep: 'lookup' });
    expect(explainEntry(asked, situation()).startsAt).toBe(at(0));
    expect(explainEntry(asked, situation({ pauses: [pause('account')] })).startsAt).toBeNull();
    expect(explainEntry(asked, situation({ facts: { rests: [rest('k0', 30_000, 900_000)] } })).startsAt).toBe(at(30));
  });
});

describe('when everything is sent', () => {
  it.each([
    [1, at(60)],
    [2, at(0)],
    [5, at(0)],
  ])('with %s keys', (keys, drained) => {
    expect(drainedAt(situation({ keys }))).toBe(drained);
  });

  it('counts 230 orders and five keys as three rounds, and what is held of each', () => {
    const toSend = { count: 230, standing: 0, lastDueMs: nowMs };
    expect(drainedAt(situation({ keys: 5, facts: { toSend } }))).toBe(at(120));
    expect(drainedAt(situation({ keys: 5, facts: { toSend, slots: used('k1', 20) } }))).toBe(at(120));
    expect(drainedAt(situation({ keys: 2, facts: { slots: used('k1', 20) } }))).toBe(at(40));
  });

  it('leaves a key out that stands still, and waits for one that is left alone', () => {
    expect(drainedAt(situation({ keys: 2, pauses: [pause('key:k1')] }))).toBe(at(60));
    expect(drainedAt(situation({ keys: 2, facts: { rests: [rest('k1', 10_000, 900_000)] } }))).toBe(at(40));
    expect(keyViews(situation({ keys: 2, pauses: [pause('key:k1')] })).map((key) => key.state)).toEqual([
      'ready',
      'paused',
    ]);
  });

  it('is not foreseen while a part of it stands still, or all of it', () => {
    const part = situation({ facts: { toSend: { count: 30, standing: 10, lastDueMs: nowMs } } });
    expect([drainedAt(part), movingDrainedAt(part)]).toEqual([null, at(0)]);
    const all = situation({ pauses: [pause('account')] });
    expect([drainedAt(all), movingDrainedAt(all)]).toEqual([null, null]);
    expect(generalReasons(all)).toHaveLength(1);
  });
});

describe('order-sync queue explain, beside no worker', () => {
  it('reads from the outbox what a 429 asked for, and how much waits for a balance', async () => {
    const outbox = installation();
    await fillOutbox(outbox);
    const store = openOutbox(outbox);
    await store.submission.budget.recordBackOff(
      { keyName: 'main', blockedUntilMono: 60_000, throttledUntilMono: 900_000, throttleLengthMs: 900_000 },
      { nowMono: 0, bootId: null, nowMs },
    );
    await store.submission.pauses.open({ ...pause('balance:USD'), nowMs });
    await store.close();
    const whole = JSON.parse((await outbox.run('queue', 'explain', '--json')).stdout);
    expect(whole).toMatchObject({
      to_send: 1,
      paused_scopes: 1,
      drained_at: null,
      keys: [{ name: 'main', state: 'backing_off', until: at(60) }],
      limits: [{ next_free_at: at(60) }, { next_free_at: at(60) }],
    });
    const text = (await outbox.run('queue', 'explain')).stdout;
    expect(text).toContain('1 to send, of which 1 stand still');
    expect(text).toMatch(/main +backing off +2026-11-21 12:01:00Z/);
    expect(text).toContain('balance:USD stands still since');
  });
});
