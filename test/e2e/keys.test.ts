import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { faultRuleSchema, type FaultRuleInput } from '../../sandbox/settings/fault-rules.ts';
import { Installation, order, projectRoot, type WorkerProcess } from '../support/worker-process.ts';

const key = (name: string): { name: string; value: string } => ({
  name,
  value: `sandbox-key-${name}`,
});
const accounts = [
  { id: 'acme', balances: { USD: '1000.00' }, keys: [key('main'), key('next')] },
  { id: 'other', balances: { USD: '1000.00' }, keys: [key('foreign')] },
];
const named = (name: string, value: string) => ({ name, value: `sandbox-key-${value}` });

async function installed(
  keys: readonly { name: string; value: string }[],
  faults: FaultRuleInput[] = [],
) {
  const installation = await Installation.open({
    sandbox: { accounts, faults, limits: { enabled: false } },
    keys,
  });
  onTestFinished(() => installation.close());
  return installation;
}

const orders = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `${order(from + index)}\n`).join('');

/** The references that each account bought. */
function bought({ sandbox }: Installation): Record<string, readonly string[]> {
  const all = sandbox.ledger().orders;
  return Object.fromEntries(
    accounts.map(({ id }) => [
      id,
      all.filter(({ account }) => account === id).map(({ reference }) => reference),
    ]),
  );
}

const states = (place: Installation): Record<string, number> =>
  Object.fromEntries(
    place
      .query<{ state: string; count: number }>(
        'SELECT state, count(*) AS count FROM outbox GROUP BY state',
      )
      .map(({ state, count }) => [state, count]),
  );
const pauses = (place: Installation) =>
  place.query<{ scope: string; reason: string }>(
    "SELECT scope, reason FROM pauses WHERE scope LIKE 'key:%'",
  );
const otherAccount = (name: string) => ({ scope: `key:${name}`, reason: 'key_of_other_account' });

/** Drops orders and waits until that many are fulfilled in all. */
async function buy(place: Installation, from: number, count: number, inAll: number): Promise<void> {
  place.drop(`${from}.ndjson`, orders(from, count));
  await expect.poll(() => states(place)['fulfilled'], { timeout: 20_000 }).toBe(inAll);
}

const lost = (position: number, count: number): FaultRuleInput => ({
  fault: { fault: 'lost_answer' },
  match: { operation: 'gift_card_order' },
  at: Array.from({ length: count }, (_, index) => position + index),
});

async function reloadWith(
  place: Installation,
  worker: WorkerProcess,
  keys: unknown,
): Promise<void> {
  place.configure((config) => (config.wholesale.keys = keys));
  expect(await worker.reload()).toMatchObject({ msg: 'reloaded' });
}

describe('a key that was replaced by one of another account', () => {
  it('buys nothing there, and what was open is bought once, with the key that sent it', {
    timeout: 90_000,
  }, async () => {
    // Lookups hang, so that the outcomes stay open until the key is replaced.
    const hanging: FaultRuleInput = {
      fault: { fault: 'answer', status: 500, when: 'before' },
      match: { operation: 'gift_card_lookup' as const, key: 'main' },
    };
    const place = await installed([named('main', 'main')], [lost(5, 4)]);
    const worker = place.start();
    await worker.started();
    await buy(place, 1, 4, 4);
    await place.sandbox.operate((operator) =>
      operator.faults.restart([hanging, lost(1, 4)].map((rule) => faultRuleSchema.parse(rule))),
    );
    place.drop('open.ndjson', orders(101, 4));
    await expect.poll(() => bought(place)['acme']?.length, { timeout: 20_000 }).toBe(8);
    await reloadWith(place, worker, [named('main', 'foreign')]);
    place.drop('new.ndjson', orders(201, 4));
    await expect.poll(() => pauses(place), { timeout: 20_000 }).toEqual([otherAccount('main')]);
    expect(place.query('SELECT kind, reason, scope FROM outbox_attention')).toContainEqual({
      kind: 'pause',
      reason: 'key_of_other_account',
      scope: 'key:main',
    });
    await place.sandbox.operate((operator) => operator.faults.restart([]));
    await reloadWith(place, worker, [named('main', 'next')]);
    await expect.poll(() => states(place), { timeout: 30_000 }).toEqual({ fulfilled: 12 });
    expect(bought(place)).toMatchObject({ other: [] });
    expect(new Set(bought(place)['acme']).size).toBe(12);
    await worker.end('SIGTERM');
  });
});

describe('two keys of two accounts', () => {
  it('never buy the same on both, and the one that does not know what the other bought is flagged', {
    timeout: 90_000,
  }, async () => {
    const faults: FaultRuleInput[] = [
      {
        fault: { fault: 'lost_answer' },
        match: { operation: 'gift_card_order' },
        probability: 0.4,
      },
    ];
    const place = await installed([named('main', 'main'), named('spare', 'foreign')], faults);
    const worker = place.start();
    await worker.started();
    for (let batch = 0; batch < 4; batch += 1) {
      place.drop(`${batch}.ndjson`, orders(batch * 4, 4));
      await expect
        .poll(() => (states(place)['pending'] ?? 0) + (states(place)['sending'] ?? 0))
        .toBe(0);
    }
    await expect.poll(() => pauses(place).length, { timeout: 30_000 }).toBe(1);
    place.drop('last.ndjson', orders(100, 8));
    await expect
      .poll(() => (states(place)['fulfilled'] ?? 0) + (states(place)['needs_review'] ?? 0), {
        timeout: 30_000,
      })
      .toBe(24);
    const { acme = [], other = [] } = bought(place);
    expect(acme.filter((reference) => other.includes(reference))).toEqual([]);
    expect(acme.length + other.length).toBe(24);
    await worker.end('SIGTERM');
  });
});

describe('a key that was never used', () => {
  const lookups = ({ sandbox }: Installation, keyName: string) => {
    const { calls, keys } = sandbox.ledger();
    const id = keys.find(({ name }) => name === keyName)?.key;
    return calls.filter((call) => call.operation === 'gift_card_lookup' && call.key === id);
  };

  it('is asked for an order that is known before it buys; where none is known, nothing is asked', {
    timeout: 60_000,
  }, async () => {
    const place = await installed([named('main', 'main')]);
    const worker = place.start();
    await worker.started();
    await buy(place, 1, 1, 1);
    expect(place.sandbox.ledger().calls[0]).toMatchObject({ operation: 'gift_card_order' });
    await worker.line(({ msg }) => msg.startsWith('lookups work'));
    await reloadWith(place, worker, [named('main', 'next')]);
    await buy(place, 2, 3, 4);
    expect(lookups(place, 'next')).toHaveLength(1);
    expect(pauses(place)).toEqual([]);
    await worker.end('SIGTERM');
  });

  it('is refused by doctor and by a start, and used when an operator resumes it', {
    timeout: 60_000,
  }, async () => {
    const place = await installed([named('main', 'main')]);
    const worker = place.start();
    await worker.started();
    await buy(place, 1, 1, 1);
    await worker.line(({ msg }) => msg.startsWith('lookups work'));
    await worker.end('SIGTERM');
    place.configure((config) => (config.wholesale.keys = [named('main', 'foreign')]));
    const doctor = await command(place, 'doctor');
    expect(doctor.code).toBe(8);
    expect(doctor.stdout).toMatch(/fail\s+key:main: .*another account/);
    const next = place.start();
    await next.started();
    place.drop('2.ndjson', orders(2, 1));
    await expect.poll(() => states(place)).toEqual({ fulfilled: 1, pending: 1 });
    expect(pauses(place)).toEqual([otherAccount('main')]);
    expect((await command(place, 'queue', 'resume', 'key:main', '--reason', 'we moved')).code).toBe(
      0,
    );
    await expect.poll(() => states(place), { timeout: 20_000 }).toEqual({ fulfilled: 2 });
    expect(bought(place)['other']).toHaveLength(1);
    await next.end('SIGTERM');
  });
});

async function command(
  place: Installation,
  ...argv: string[]
): Promise<{ code: number; stdout: string }> {
  const args = ['bin/order-sync.js', ...argv, '--config', place.configFile];
  const child = spawn(process.execPath, args, {
    cwd: projectRoot,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  const stdout = await text(child.stdout);
  const [code] = await ended;
  return { code: Number(code), stdout };
}

/** The supplier allows 4 orders in a second. */
const windowMs = 1000;
const limits = { window_ms: windowMs, requests: 12, orders: 4, transit_ms: 100 };
const supplier = { limits: { enabled: true, window_ms: windowMs, requests: 12, orders: 4 } };

async function limited(options: Parameters<typeof Installation.open>[0]): Promise<Installation> {
  const place = await Installation.open({ limits, ...options });
  onTestFinished(() => place.close());
  return place;
}

const attention = 'SELECT kind, scope, since FROM outbox_attention';
interface Row {
  readonly kind: string;
  readonly scope: string;
  readonly since: string;
}

describe('a key that two workers use', () => {
  it('is in the attention list of a worker that gets 429 again and again within its limits, with since when', async () => {
    const first = await limited({ sandbox: supplier });
    const second = await limited({ api: first.sandbox.url });
    first.drop('a.ndjson', orders(1, 60));
    second.drop('b.ndjson', orders(1001, 60));
    const startedAt = Date.now();
    const [one, two] = [first.start(), second.start()];
    await Promise.all([one.started(), two.started()]);
    const rows = (): Row[] => [...first.query<Row>(attention), ...second.query<Row>(attention)];
    await expect
      .poll(rows, { timeout: 40_000 })
      .toContainEqual(expect.objectContaining({ kind: 'key_used_elsewhere', scope: 'key:main' }));
    for (const { since } of rows()) expect(Date.parse(since)).toBeGreaterThanOrEqual(startedAt);
    await Promise.all([one.end('SIGTERM'), two.end('SIGTERM')]);
  });

  it('is not there while one worker uses it, also after a single 429', async () => {
    const fault = { fault: 'rate_limited' as const, retry_after_s: 1 };
    const faults = [{ fault, match: { operation: 'gift_card_order' as const }, at: [3] }];
    const only = await limited({ sandbox: { ...supplier, faults } });
    only.drop('a.ndjson', orders(1, 12));
    const worker = only.start();
    await expect.poll(() => only.sandbox.ledger().orders.length, { timeout: 30_000 }).toBe(12);
    expect(worker.log.filter((line) => line['outcome'] === 'rate_limited')).toHaveLength(1);
    expect(only.query(attention)).toEqual([]);
    await worker.end('SIGTERM');
  });
});
