import { describe, expect, it } from 'vitest';
import { after, delivers, echoes, fails, neverDelivers } from '../support/fake-api/behaviours.ts';
import { shareOfCeiling } from '../support/fake-api/calls.ts';
import type { LookupAnswer } from '../support/fake-api/fake-api.ts';
import { timeScale, WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

// CI runs it with 200 lines in windows of 12 s, where the time that a burst of calls takes matters
// less. Here the tests run beside each other, so it takes long.
const healthy = Number(process.env['HEALTHY_LINES'] ?? 30);
const windowMs = Number(process.env['WINDOW_MS'] ?? 5000);
const share = Number(process.env['CEILING_SHARE'] ?? 0.7);
const orders = 20;

/** All times of the worker as in production, in the proportion of the window. */
const inProportion = (productionMs: number): number =>
  Math.round((productionMs * windowMs) / 60_000);
const opened = (api: Parameters<typeof WorkerWithFakeApi.open>[0]): Promise<WorkerWithFakeApi> =>
  WorkerWithFakeApi.open(
    { ...api, limits: { windowMs, requests: 60, orders } },
    {
      limits: { window_ms: windowMs, requests: 60, orders, transit_ms: 20 },
      timeoutMs: inProportion(45_000),
      timeScale: (timeScale * windowMs) / 1000,
      submit: { in_flight_window_ms: inProportion(120_000) },
    },
  );

const hangs: LookupAnswer = () => 'silence';
const patienceMs = 10_000 + (healthy * windowMs) / 5;
const timeout = 20_000 + 2 * patienceMs;

/**
 * How near to the ceiling all orders were sent, from the window before the first healthy one to the
 * last healthy one, and how many of these were others.
 */
function measured(world: WorkerWithFakeApi): { share: number; others: number } {
  const { log } = world.api;
  const [, first] = log.ordersOf('good');
  const last = log.ordersOf('good').at(-1);
  const sent = log.all.filter(
    (call) =>
      call.kind === 'order' &&
      call.atMs > (first?.atMs ?? 0) - windowMs &&
      call.atMs <= (last?.atMs ?? 0),
  );
  const others = sent.filter(
    (call) => call.product !== 'good' && call.atMs >= (first?.atMs ?? 0),
  ).length;
  return { share: shareOfCeiling(sent, orders, windowMs), others };
}

// What the last test has, too, is tested by itself only in full size.
const isFull = process.env['HEALTHY_LINES'] !== undefined;

describe.runIf(isFull)('lookups that hang', () => {
  it(`do not keep ${healthy} orders from being sent`, { timeout }, async () => {
    const world = await opened({ variants: { good: {}, late: { behaviour: neverDelivers } } });
    const { api } = world;
    await world.prove({ variant: 'good' });
    world.order('late', 16, { variant: 'late' });
    await world.untilState('late', 'placed', 16);
    api.lookups = hangs;
    await api.until(
      () => api.log.count((call) => call.kind === 'lookup' && call.http === null) >= 2,
    );
    world.order('good', healthy, { variant: 'good' });
    await world.untilState('good', 'fulfilled', healthy, patienceMs);
    expect(measured(world).share).toBeGreaterThan(share);
    expect(api.limited).toBe(0);
  });
});

describe.runIf(isFull)('orders that take long', () => {
  it('do not keep lookups from being made', { timeout }, async () => {
    const slow = { behaviour: after(inProportion(24_000), delivers) };
    const world = await opened({
      variants: { good: {}, slow, late: { behaviour: neverDelivers } },
    });
    const { api } = world;
    await world.prove({ variant: 'good' });
    world.order('late', 4, { variant: 'late' });
    await world.untilState('late', 'placed', 4);
    world.order('slow', healthy, { variant: 'slow' });
    await api.until(() => api.ledger.sold('slow') > 0);
    const before = api.log.all.length;
    await api.until(() => api.ledger.sold('slow') >= healthy / 2, patienceMs);
    const meanwhile = api.log.all.slice(before);
    expect(meanwhile.filter((call) => call.kind === 'lookup').length).toBeGreaterThan(4);
  });
});

describe('everything at once', () => {
  it(`does not keep ${healthy} healthy orders from the ceiling of the budget`, {
    timeout,
  }, async () => {
    const world = await opened({
      variants: {
        good: {},
        sick: { behaviour: fails },
        dear: { prices: { USD: 1_000_000 } },
        odd: { behaviour: echoes({ variant: 'another' }) },
        late: { behaviour: neverDelivers },
        silent: { behaviour: () => 'silence' },
      },
      balances: { USD: 100_000 },
    });
    const { api } = world;
    await world.prove({ variant: 'good' });
    world.order('late', 8, { variant: 'late' });
    await world.untilState('late', 'placed', 8);
    api.lookups = hangs;
    world.order('sick', 6, { variant: 'sick' });
    world.order('dear', 1, { variant: 'dear' });
    world.order('odd', 3, { variant: 'odd' });
    world.order('silent', 4, { variant: 'silent' });
    world.order('good', healthy, { variant: 'good' });
    await world.until(() => (world.states('good')['fulfilled'] ?? 0) >= healthy / 2, patienceMs);
    expect((await world.health()).status).toBe('warn');
    expect(await world.pauses()).toContain('variant:odd: answer_mismatch');
    await world.untilState('good', 'fulfilled', healthy, patienceMs);
    const found = measured(world);
    expect(found.share, JSON.stringify(found)).toBeGreaterThan(share);
    // The others take few of the slots, so nearly all are for what can be bought.
    expect(found.others).toBeLessThanOrEqual(Math.max(5, healthy / 20));
    expect(api.limited).toBe(0);
    // Nothing was sold twice, and nothing is lost: each line was sold, or is still open or flagged.
    expect(api.ledger.sold('good')).toBe(healthy + 1);
    expect(api.ledger.sold('odd')).toBeLessThanOrEqual(3);
    expect(api.ledger.sold('late')).toBe(8);
    expect(api.ledger.sold('sick') + api.ledger.sold('dear') + api.ledger.sold('silent')).toBe(0);
    const open = world.installation.query<{ n: number }>(
      "SELECT count(*) AS n FROM outbox WHERE state NOT IN ('fulfilled', 'rejected', 'expired', 'cancelled')",
    );
    expect(open).toEqual([{ n: 8 + 6 + 1 + 3 + 4 }]);
  });
});
