import { describe, expect, it } from 'vitest';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

const day = 86_400_000;

async function clockOf(world: WorkerWithFakeApi): Promise<{ status: string; aheadMs: number }> {
  const {
    checks,
    details,
  }: { checks: Record<string, string>; details?: { clock?: { ahead_ms: number } } } = JSON.parse(
    (await world.health()).text,
  );
  return { status: checks['clock'] ?? '', aheadMs: details?.clock?.ahead_ms ?? 0 };
}

describe('a machine whose clock is wrong', () => {
  it('is told by the Date of the answers of the API, in health and in the log', async () => {
    const world = await WorkerWithFakeApi.open({});
    world.api.clockAheadMs = -5 * day;
    world.order('card', 3, { variant: 'card' });
    await world.untilState('card', 'fulfilled', 3);
    await world.worker.line((line) =>
      line.msg.startsWith("the clock of this machine differs from the API's"),
    );
    const clock = await clockOf(world);
    expect(clock.status).toBe('warn');
    expect(Math.abs(clock.aheadMs - 5 * day)).toBeLessThanOrEqual(2000);
    expect((await world.health()).status).toBe('warn');
  });

  it('five days ahead lets no order expire; once it is right, orders are bought until their deadlines', async () => {
    const world = await WorkerWithFakeApi.open({}, {}, { clockOffsetMs: 5 * day });
    world.order('card', 3, { variant: 'card' });
    await world.untilState('card', 'fulfilled', 3);
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const anHourAgo = new Date(Date.now() - 3_600_000).toISOString();
    world.order('timely', 1, { variant: 'card', notAfter: inAnHour });
    world.order('late', 1, { variant: 'card', notAfter: anHourAgo });
    // The line that is late by both clocks expires; at that moment the other one could have, too.
    await world.untilState('late', 'expired', 1);
    expect(world.states('timely')).toEqual({ pending: 1 });
    world.setClock(0);
    await world.untilState('timely', 'fulfilled', 1);
    expect(world.api.ledger.orders).toHaveLength(4);
  });

  it('is not called wrong because of one answer of a proxy with another clock', async () => {
    const world = await WorkerWithFakeApi.open({});
    world.order('card', 4, { variant: 'card' });
    await world.untilState('card', 'fulfilled', 4);
    world.api.clockAheadMs = -5 * day;
    world.order('odd', 1, { variant: 'card' });
    await world.untilState('odd', 'fulfilled', 1);
    expect((await clockOf(world)).status).toBe('pass');
    expect((await world.health()).status).toBe('pass');
  });
});
