import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import {
  answersLookups,
  complete,
  neverDelivers,
  page,
  type Answer,
  type FakeApi,
  type LookupAnswer,
} from '../../support/fake-api.ts';
import { timeScale } from '../../support/worker-with-fake-api.ts';
import {
  become,
  deposit,
  health,
  orders,
  paused,
  pauses,
  play,
  sold,
  states,
  type Scenario,
  type Step,
  type World,
} from './scenario.ts';

// CI runs it with 20,000 lines for 60 s.
const pending = Number(process.env['DOWN_LINES'] ?? 15);
const downMs = Number(process.env['DOWN_MS'] ?? 1000);

const isIn = (condition: FakeApi['condition']): Step => {
  return ({ api }) => void (api.condition = condition);
};
const comesBack: Step = async ({ api }) => {
  api.condition = 'open';
  if (!api.isListening) await api.listen();
};

/** Only probes are made while nothing reaches the API, and few lines are logged. */
const costsLittle: Step = async (world) => {
  const { api, worker, installation } = world;
  // Intake has taken in everything, and the calls that were under way are over.
  const all = (): number => Object.values(world.states('card')).reduce((sum, n) => sum + n, 0);
  const isSending = (): boolean => world.states('card')['sending'] !== undefined;
  await world.until(() => all() === pending && !isSending(), 60_000);
  await worker.line((line) => line.msg === 'order file accepted' && line['accepted'] === pending);
  const sql = 'SELECT count(*) AS n FROM attempt_log';
  const attempts = (): number => installation.query<{ n: number }>(sql)[0]?.n ?? 0;
  const before = { attempts: attempts(), lines: worker.log.length, calls: api.calls.length };
  await delay(downMs);
  // What is looked up after a call without an answer waits, too.
  expect(attempts() - before.attempts).toBe(0);
  // From one second on, doubled up to a minute; each is up to two calls.
  const mostProbes = 20 + (2 * downMs) / (54_000 * timeScale);
  expect(api.calls.length - before.calls).toBeLessThanOrEqual(mostProbes);
  // A reminder every five minutes, and what ends of the calls that were under way.
  const mostLines = 8 + Math.ceil(downMs / (300_000 * timeScale));
  expect(worker.log.length - before.lines).toBeLessThanOrEqual(mostLines);
};

const isBoughtFromSoon: Step = async (world) => {
  const { api, worker } = world;
  const returnedAt = performance.now();
  const before = api.orders.length;
  await api.until(() => api.orders.length > before);
  // At most 60 s, at the scale of this test, and what a call and a claim take.
  expect(performance.now() - returnedAt).toBeLessThan(60_000 * timeScale + 1500);
  // In the long version all of it would take too long.
  const some = Math.min(pending, 100);
  await world.until(() => (world.states('card')['fulfilled'] ?? 0) >= some);
  expect(api.sold('card')).toBeGreaterThan(some);
  const isPaused = async (): Promise<boolean> =>
    (await world.pauses()).some((pause) => pause.includes('api_unreachable'));
  await world.until(async () => !(await isPaused()));
  const told = worker.log.filter((line) => line.msg.includes('api_unreachable'));
  expect(told.length).toBeLessThanOrEqual(6);
};

const outage = (name: string, begins: Step): Scenario => ({
  name: `${name} costs little, is shown, and is bought from soon after its return`,
  proven: 'card',
  steps: [
    begins,
    orders('card', pending),
    paused('account', 'api_unreachable'),
    costsLittle,
    health('warn'),
    async (world) =>
      expect(await world.ask('queue', 'status', '--explain')).toContain('api_unreachable'),
    // Intake still takes in orders.
    orders('late', 20, { variant: 'card' }),
    become('late', 'pending', 20, 3000),
    comesBack,
    isBoughtFromSoon,
  ],
});

const text = 'x'.repeat(1000);
const products = Array.from({ length: 1500 }, () => ({ variant: 'card', text }));
const large: Answer = { http: 200, body: { products } };
const behindProxy: LookupAnswer = () => page(404);

const switchedOff = (name: string, lookups: LookupAnswer, catalogue: Answer): Scenario => ({
  name: `is switched off for a while is bought from again by itself, ${name}`,
  proven: 'card',
  steps: [
    ({ api }) => void Object.assign(api, { lookups, catalogue }),
    isIn('disabled'),
    orders('card', 5),
    paused('account', 'api_disabled'),
    ({ api }) => api.until(() => api.count((c) => c.http === 503 && c.kind !== 'order') > 0),
    health('warn'),
    comesBack,
    // Where no probe can tell, the trial orders that failed have made the delay long.
    become('card', 'fulfilled', 5),
    pauses(),
    // It was asked for an order that it never sold, and for its catalogue only where that said
    // nothing.
    ({ api, installation }) => {
      const rows = installation.query<{ reference: string }>('SELECT reference FROM outbox');
      const ours = rows.map((row) => row.reference);
      const probes = api.calls.filter(({ kind }) => kind === 'lookup');
      expect(probes.some(({ reference }) => !ours.includes(reference ?? ''))).toBe(true);
      const isAsked = api.calls.some((call) => call.kind === 'products');
      expect(isAsked).toBe(lookups !== answersLookups);
    },
  ],
});

const outages: readonly Scenario[] = [
  outage('refuses connections', ({ api }) => api.close()),
  outage('never answers', isIn('silent')),
  outage("answers with a proxy's page", isIn('page_503')),
  {
    name: 'refuses connections is told by one order',
    proven: 'card',
    steps: [
      ({ api }) => api.close(),
      orders('lone', 1, { variant: 'card' }),
      paused('account', 'api_unreachable'),
      health('warn'),
      async (world) => expect(await world.ask('queue', 'status')).toContain('api_unreachable'),
      comesBack,
      become('lone', 'fulfilled', 1),
      pauses(),
    ],
  },
  switchedOff('with a catalogue of more than 1 MiB', answersLookups, large),
  switchedOff('with such a catalogue, where a proxy answers lookups', behindProxy, large),
  switchedOff('where a proxy answers lookups and the catalogue', behindProxy, page(405)),
  {
    name: 'answers 404 because base_url has a path too much ends no paid order: each is looked at by an operator',
    api: { variants: { card: {} }, plans: { plan: {}, other: {} } },
    basePath: '/v1',
    worker: { timeScale: 1 },
    steps: [
      orders('cards', 15, { variant: 'card' }),
      orders('sims', 8, { plan: 'plan' }),
      orders('others', 7, { plan: 'other' }),
      paused('variant:card'),
      paused('plan:plan'),
      paused('plan:other'),
      (world) => {
        const of = (state: string): readonly number[] =>
          ['cards', 'sims', 'others'].map((name) => world.states(name)[state] ?? 0);
        expect(of('rejected')).toEqual([0, 0, 0]);
        // Each waits for an operator, who reads where to look; the others were not sent.
        const reviewed = of('needs_review').reduce((sum, count) => sum + count, 0);
        expect(reviewed).toBeGreaterThanOrEqual(8);
        expect(reviewed).toBeLessThanOrEqual(16);
        const [row] = world.installation.query<{ review_reason: string }>(
          "SELECT review_reason FROM outbox WHERE state = 'needs_review' AND operation = 'esim_order'",
        );
        expect(row?.review_reason).toContain('are its path and wholesale.base_url right?');
      },
    ],
  },
];
play('an API that', outages);

const minute = 60_000;
const day = 24 * 60 * minute;

async function clockOf(world: World): Promise<{ status: string; aheadMs: number }> {
  const { checks, details } = JSON.parse((await world.health()).text);
  return { status: checks['clock'] ?? '', aheadMs: details?.clock?.ahead_ms ?? 0 };
}
const inTheWay = ({ installation }: World): string => join(installation.folder, 'results/shop');

/** A delivery that fails, an order without its units, one that waits for money, and a pause. */
const wrongClock = (name: string, clockOffsetMs: number): Scenario => ({
  name: `${name} and is set right while the worker runs: retries, deliveries and pauses are due as before`,
  clockOffsetMs,
  api: {
    variants: {
      card: {},
      dear: { prices: { USD: 2000 } },
      later: { behaviour: neverDelivers },
    },
    balances: { USD: 1000 },
  },
  proven: 'card',
  steps: [
    ({ worker }) => worker.line((line) => line.msg === 'result delivered'),
    (world) => {
      rmSync(inTheWay(world), { recursive: true });
      writeFileSync(inTheWay(world), '');
    },
    orders('late', 1, { variant: 'card' }),
    ({ worker }) => worker.line((line) => line.msg === 'a result could not be delivered'),
    orders('later', 1),
    become('later', 'placed', 1),
    orders('dear', 1),
    become('dear', 'waiting', 1),
    isIn('disabled'),
    orders('paused', 3, { variant: 'card' }),
    paused('account', 'api_disabled'),
    (world) => {
      world.setClock(0);
      rmSync(inTheWay(world));
    },
    comesBack,
    deposit('USD', 9000),
    ({ api }) => {
      for (const order of api.orders) order.show = complete;
    },
    become('paused', 'fulfilled', 3),
    become('dear', 'fulfilled', 1),
    become('later', 'fulfilled', 1),
    (world) =>
      world.until(() => world.installation.results().get('shop/late-1')?.state === 'completed'),
    pauses(),
    sold({ card: 5, later: 1, dear: 1 }),
  ],
});

/** The deadline of an order, so far from now. */
const deadline = (ms: number): string => new Date(Date.now() + ms).toISOString();

const clocks: readonly Scenario[] = [
  wrongClock('is 110 minutes ahead', 110 * minute),
  wrongClock('is 5 days ahead', 5 * day),
  wrongClock('is 3 weeks behind', -21 * day),
  {
    name: 'differs is told by the Date of the answers of the API, in health and in the log',
    steps: [
      ({ api }) => void (api.clockAheadMs = -5 * day),
      orders('card', 3),
      become('card', 'fulfilled', 3),
      ({ worker }) =>
        worker.line((line) =>
          line.msg.startsWith("the clock of this machine differs from the API's"),
        ),
      async (world) => {
        const clock = await clockOf(world);
        expect(clock.status).toBe('warn');
        expect(Math.abs(clock.aheadMs - 5 * day)).toBeLessThanOrEqual(2000);
      },
      health('warn'),
    ],
  },
  {
    name: 'is five days ahead lets no order expire; once it is right, orders are bought until their deadlines',
    clockOffsetMs: 5 * day,
    steps: [
      orders('card', 3),
      become('card', 'fulfilled', 3),
      orders('timely', 1, { variant: 'card', notAfter: deadline(60 * minute) }),
      orders('late', 1, { variant: 'card', notAfter: deadline(-60 * minute) }),
      // The line that is late by both clocks expires; at that moment the other one could have, too.
      become('late', 'expired', 1),
      states('timely', { pending: 1 }),
      (world) => world.setClock(0),
      become('timely', 'fulfilled', 1),
      sold({ card: 4 }),
    ],
  },
  {
    name: 'is right is not called wrong because of one answer of a proxy with another clock',
    steps: [
      orders('card', 4),
      become('card', 'fulfilled', 4),
      ({ api }) => void (api.clockAheadMs = -5 * day),
      orders('odd', 1, { variant: 'card' }),
      become('odd', 'fulfilled', 1),
      async (world) => expect((await clockOf(world)).status).toBe('pass'),
      health('pass'),
    ],
  },
];
play('a machine whose clock', clocks);
