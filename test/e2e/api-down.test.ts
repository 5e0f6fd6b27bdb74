import { describe, expect, it } from 'vitest';
import type { FakeApi } from '../support/fake-api/fake-api.ts';
import { timeScale, WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

// CI runs it with 20,000 lines for 60 s.
const pending = Number(process.env['DOWN_LINES'] ?? 15);
const downMs = Number(process.env['DOWN_MS'] ?? 1000);

const outages: readonly [string, (api: FakeApi) => void | Promise<void>][] = [
  ['refuses connections', (api) => api.close()],
  ['never answers', (api) => void (api.condition = 'silent')],
  ["answers with a proxy's page", (api) => void (api.condition = 'page_503')],
];

async function comeBack(api: FakeApi): Promise<void> {
  api.condition = 'open';
  if (!api.isListening) await api.listen();
}

const waited = (ms: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, ms));

describe('an API that', () => {
  it.each(outages)(
    '%s costs little, is shown, and is bought from soon after its return',
    {
      timeout: 60_000 + 2 * downMs + 100 * pending,
    },
    async (_name, goDown) => {
      const world = await WorkerWithFakeApi.open({});
      const { api, worker } = world;
      await world.prove({ variant: 'card' });
      await goDown(api);
      world.order('card', pending, { variant: 'card' });
      await world.untilPaused('account', 'api_unreachable');
      // Intake has taken in everything, and the calls that were under way are over.
      const count = (): number =>
        Object.values(world.states('card')).reduce((sum, n) => sum + n, 0);
      await world.until(
        () => count() === pending && world.states('card')['sending'] === undefined,
        60_000,
      );
      await worker.line(
        (line) => line.msg === 'order file accepted' && line['accepted'] === pending,
      );
      const attempts = (): number =>
        world.installation.query<{ n: number }>('SELECT count(*) AS n FROM attempt_log')[0]?.n ?? 0;
      const before = { attempts: attempts(), lines: worker.log.length, calls: api.log.all.length };
      await waited(downMs);
      // What is looked up after a call without an answer waits, too.
      expect(attempts() - before.attempts).toBe(0);
      // Only probes, from one second on, doubled up to a minute; each is up to two calls.
      expect(api.log.all.length - before.calls).toBeLessThanOrEqual(
        20 + (2 * downMs) / (54_000 * timeScale),
      );
      // A reminder every five minutes, and what ends of the calls that were under way.
      expect(worker.log.length - before.lines).toBeLessThanOrEqual(
        8 + Math.ceil(downMs / (300_000 * timeScale)),
      );
      expect((await world.health()).status).toBe('warn');
      expect(await world.ask('queue', 'status', '--explain')).toContain('api_unreachable');
      // Intake still takes in orders.
      world.order('late', 20, { variant: 'card' });
      await world.untilState('late', 'pending', 20, 3000);

      await comeBack(api);
      const returnedAt = performance.now();
      const soldBefore = api.ledger.orders.length;
      await api.until(() => api.ledger.orders.length > soldBefore);
      // At most 60 s, at the scale of this test, and what a call and a claim take.
      expect(performance.now() - returnedAt).toBeLessThan(60_000 * timeScale + 1500);
      // In the long version all of it would take too long.
      const some = Math.min(pending, 100);
      await world.until(() => (world.states('card')['fulfilled'] ?? 0) >= some);
      expect(api.ledger.sold('card')).toBeGreaterThan(some);
      await world.until(
        async () => !(await world.pauses()).some((pause) => pause.includes('api_unreachable')),
      );
      expect(
        worker.log.filter((line) => line.msg.includes('api_unreachable')).length,
      ).toBeLessThanOrEqual(6);
    },
  );
});

it('one order is enough to show that nothing reaches the API', { timeout: 60_000 }, async () => {
  const world = await WorkerWithFakeApi.open({});
  const { api } = world;
  await world.prove({ variant: 'card' });
  await api.close();
  world.order('lone', 1, { variant: 'card' });
  await world.untilPaused('account', 'api_unreachable');
  expect((await world.health()).status).toBe('warn');
  expect(await world.ask('queue', 'status')).toContain('api_unreachable');
  await api.listen();
  await world.untilState('lone', 'fulfilled', 1);
  expect(await world.pauses()).toEqual([]);
});
