import SqliteDatabase from 'better-sqlite3';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Outcome } from '../../src/core/answers/outcome.ts';
import { AlertLoop } from '../../src/results/alerts/alert-loop.ts';
import { alertPace } from '../../src/results/settings.ts';
import { WriteBack } from '../../src/results/write-back.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import type { MachineClock } from '../support/machine-clock.ts';
import { Receiver, takes } from '../support/receiver.ts';
import { ended, VirtualWorker, type End } from '../support/virtual-worker.ts';

// The sending and delivering parts of the worker and its alerts, on virtual time and a real
// database. The attention list asks SQLite for the time, which here is that of the machine, too.

const minuteMs = 60_000;
const days = Number(process.env['MONTH_DAYS'] ?? 30);

/** The connections to databases that were opened since. */
function connectionsFromNow(): readonly SqliteDatabase.Database[] {
  const opened: SqliteDatabase.Database[] = [];
  const { prototype } = SqliteDatabase;
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the connection below
  const { pragma } = prototype;
  prototype.pragma = function noted(...values) {
    if (!opened.includes(this)) opened.push(this);
    return pragma.apply(this, values);
  };
  onTestFinished(() => {
    prototype.pragma = pragma;
  });
  return opened;
}

const outages = {
  unreachable: { outcome: () => ended('unreachable'), tookMs: 5 },
  silent: { outcome: () => ended('headers_timeout'), tookMs: 30_000 },
  'a page of its proxy': { outcome: () => ended('foreign_unavailable', 503), tookMs: 20 },
  'in maintenance': { outcome: () => ended('api_disabled', 503), tookMs: 20 },
  broken: { outcome: () => ended('server_error', 500), tookMs: 20 },
} as const;
type Outage = keyof typeof outages;
const kinds: readonly Outage[] = [
  'unreachable',
  'silent',
  'a page of its proxy',
  'in maintenance',
  'broken',
];

/** How a call ends during an outage; null: there is none. */
function endOf<T>(outage: Outage | null, of: (outcome: Outcome) => T): End<T> | null {
  if (outage === null) return null;
  const { outcome, tookMs } = outages[outage];
  return { end: of(outcome()), tookMs };
}

async function startWorker() {
  const connections = connectionsFromNow();
  const worker = await VirtualWorker.start({ maxIdleDelayMs: 5000 });
  const { machine, outbox, api } = worker;
  for (const connection of connections.filter(({ open }) => open)) {
    connection.function('unixepoch', { varargs: true }, (...values) =>
      values.includes('subsec') ? machine.wallMs() / 1000 : Math.floor(machine.wallMs() / 1000),
    );
    // Views may call it.
    connection.pragma('trusted_schema = ON');
  }
  const receiver = await Receiver.open(takes);
  const state: { api: Outage | null; isSinkDown: boolean } = { api: null, isSinkDown: false };
  const deps = {
    store: outbox.store,
    clock: machine,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
  };
  const deliver = async (): Promise<void> => {
    await machine.sleep(20);
    if (state.isSinkDown) throw new Error('the receiver answered 503');
  };
  const deliveries = new WriteBack({ ...deps, maxIdleDelayMs: 5000 }, [
    { name: 'folder', deliver },
  ]);
  const settings = {
    name: 'ops',
    url: receiver.url,
    format: 'json',
    to: null,
    from: null,
  } as const;
  // The post is real: it may take any virtual time.
  const pace = { ...alertPace(1), connectMs: 1e9, totalMs: 1e9 };
  const facts = { version: '1', instance: 'i', pagesUrl: () => null, troubles: async () => [] };
  const alerts = new AlertLoop({ ...settings, ...pace }, { ...deps, ...facts });
  onTestFinished(async () => {
    const stopped = Promise.all([alerts.stop(), deliveries.stop()]);
    machine.pass(3_600_000);
    await stopped;
    await receiver.close();
  });
  const { submit, lookUp, probe } = api;
  api.submit = (product) => endOf(state.api, (outcome) => outcome) ?? submit(product);
  api.lookUp = () =>
    endOf(state.api, (outcome) => ({ kind: 'failed', outcome }) as const) ?? lookUp();
  api.probe = () => endOf(state.api, () => 'closed' as const) ?? probe();
  await deliveries.start();
  alerts.start();
  return { worker, machine, state, receiver };
}

/**
 * Lets time pass: where nothing happens a minute at once, else from one moment at which something
 * wakes up to the next.
 */
const pass = (machine: MachineClock, ms: number, step: 'next' | number = 'next'): Promise<number> =>
  machine.passUntil(() => false, ms, step);

async function live(
  { worker, machine, state }: Awaited<ReturnType<typeof startWorker>>,
  {
    untilMs,
    longestMs,
    seed,
  }: { readonly untilMs: number; readonly longestMs: number; readonly seed: number },
): Promise<{ outages: number; orders: number }> {
  const random = new SeededRandom(seed);
  const counts = { outages: 0, orders: 0 };
  const buy = async (): Promise<void> => {
    counts.orders += 1;
    await worker.accept([`card-${Math.floor(random.next() ** 3 * 20)}`]);
  };
  while (machine.steadyMs() < untilMs) {
    // An order every five minutes, as a rule.
    await pass(machine, -Math.log(1 - random.next()) * 5 * minuteMs, minuteMs);
    await buy();
    if (random.next() > 0.1) continue;
    counts.outages += 1;
    const endMs = machine.steadyMs() + longestMs * (0.1 + 0.9 * random.next());
    if (random.next() < 0.3) state.isSinkDown = true;
    else state.api = kinds[Math.floor(random.next() * kinds.length)] ?? null;
    // Orders come faster, so that the outage is met.
    while (machine.steadyMs() < endMs) {
      await buy();
      await pass(machine, Math.min(endMs - machine.steadyMs(), random.next() * 8000));
    }
    Object.assign(state, { api: null, isSinkDown: false });
    await pass(machine, 5 * minuteMs);
  }
  await pass(machine, 60 * minuteMs, minuteMs);
  return counts;
}

describe('alerts of a worker with normal traffic', () => {
  it(`do not come in ${days} days of outages of less than a minute each`, {
    timeout: 900_000,
  }, async () => {
    const running = await startWorker();
    const counts = await live(running, {
      untilMs: days * 1440 * minuteMs,
      longestMs: 59_000,
      seed: 1,
    });
    expect(counts.outages).toBeGreaterThan(15 * days);
    expect(running.receiver.posts).toEqual([]);
    expect(running.worker.counts()).toMatchObject({ fulfilled: counts.orders, needs_review: 0 });
  });

  it('come when outages last longer', { timeout: 120_000 }, async () => {
    const running = await startWorker();
    await live(running, { untilMs: 360 * minuteMs, longestMs: 240_000, seed: 1 });
    await running.receiver.arrived(1);
    expect(running.receiver.posts[0]?.body).toMatch(/"condition":"(?:pause:account|sink)"/);
  });
});
