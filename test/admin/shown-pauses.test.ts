import { expect, it } from 'vitest';
import { healthRoutes } from '../../src/admin/health-server.ts';
import { pausesShown } from '../../src/admin/health-checks.ts';
import type { PauseEffect } from '../../src/store/read/pause-effects.ts';
import { HandClock } from '../support/hand-clock.ts';

const sinceMs = Date.parse('2026-11-21T12:00:00.000Z');
const since = '2026-11-21T12:00:00.000Z';

const pause = (scope: string, holdsUp: number): PauseEffect => ({
  scope,
  reason: 'answer_mismatch',
  message: 'the API wrote this',
  openedBy: 'cli:anna',
  sinceMs,
  probeAtMs: null,
  probes: 0,
  holdsUp,
  affects: () => {
    throw new Error('nobody asks for the money');
  },
});

/** What `/healthz` answers, each time with the next of these lists of pauses. */
function health(...lists: readonly (readonly PauseEffect[])[]) {
  const clock = new HandClock(0);
  const left = [...lists];
  const pauses = pausesShown({ pauses: () => left.shift() ?? [] }, clock);
  const routes = healthRoutes({ checks: [], pauses, draining: () => false, version: '1' });
  return { clock, ask: async () => JSON.parse(await (await routes.request('/healthz')).text()) };
}

it('shows each pause with its reason, its start and what it holds up, without its message', async () => {
  const { ask } = health([pause('variant:a', 3), pause('family:esim', 7)]);
  expect(await ask()).toEqual({
    status: 'pass',
    draining: false,
    version: '1',
    checks: {},
    pauses: [
      { scope: 'family:esim', reason: 'answer_mismatch', since, holds_up: 7 },
      { scope: 'variant:a', reason: 'answer_mismatch', since, holds_up: 3 },
    ],
    pauses_not_shown: 0,
  });
});

it('shows the 50 pauses that hold up the most, and counts the rest', async () => {
  const { ask } = health(
    Array.from({ length: 53 }, (_, index) => pause(`variant:${index}`, index)),
  );
  const { pauses, pauses_not_shown: more } = await ask();
  expect(pauses).toHaveLength(50);
  expect(pauses[49]).toMatchObject({ scope: 'variant:3' });
  expect(more).toBe(3);
});

it('counts a backlog at most once a second', async () => {
  const { clock, ask } = health([pause('account', 1)], [pause('account', 2)]);
  const heldUp = async () => (await ask()).pauses[0].holds_up;
  expect(await heldUp()).toBe(1);
  clock.now += 999;
  expect(await heldUp()).toBe(1);
  clock.now += 1;
  expect(await heldUp()).toBe(2);
});

it('shows no pauses when they cannot be read, and still every check', async () => {
  const pauses = () => {
    throw new Error('SQLITE_IOERR');
  };
  const checks = [{ name: 'folder', readiness: false, check: () => 'pass' as const }];
  const routes = healthRoutes({ checks, pauses, draining: () => false, version: '1' });
  const answer = await routes.request('/healthz');
  expect(await answer.json()).toEqual({
    status: 'pass',
    draining: false,
    version: '1',
    checks: { folder: 'pass' },
  });
});
