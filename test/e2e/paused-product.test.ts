import { describe, expect, it } from 'vitest';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

interface ShownPause {
  readonly scope: string;
  readonly reason: string;
  readonly since: string;
  readonly holds_up: number;
}

/** The longest id that an order may have: a command carries it to the worker. */
const longest = 'c'.repeat(128);

const why = ['--reason', 'wrong price at the supplier'];

describe('a product that a person paused', () => {
  it.each([
    ['variant:card', { variant: 'card' }],
    [`variant:${longest}`, { variant: longest }],
    ['plan:plan', { plan: 'plan' }],
  ])(
    'is bought when it is resumed, and meanwhile only the others are: %s',
    async (scope, product) => {
      const world = await WorkerWithFakeApi.open({
        variants: { card: {}, [longest]: {}, other: {} },
        plans: { plan: {} },
      });
      await world.prove({ variant: 'other' });
      await world.ask('queue', 'pause', scope, ...why);
      world.order('paused', 3, product);
      await world.until(() => world.states('paused')['pending'] === 3);
      world.order('other', 5, { variant: 'other' });
      await world.untilState('other', 'fulfilled', 5);
      expect(world.states('paused')).toEqual({ pending: 3 });

      const health = async (): Promise<{ status: string; pauses: readonly ShownPause[] }> =>
        JSON.parse((await world.health()).text);
      // What it holds up may be a second old.
      await world.until(async () => (await health()).pauses[0]?.holds_up === 3);
      const { status, pauses } = await health();
      expect(status).toBe('warn');
      expect(pauses).toEqual([
        { scope, reason: 'manual', since: expect.stringMatching(/^\d{4}-.*Z$/), holds_up: 3 },
      ]);
      const { pauses: explained } = JSON.parse(await world.ask('queue', 'status', '--explain'));
      expect(explained).toMatchObject([
        { scope, message: 'wrong price at the supplier', holds_up: 3 },
      ]);
      const { entries } = JSON.parse(await world.ask('orders', 'show', 'paused-1'));
      expect(entries[0].paused_by).toMatchObject([
        { scope, reason: 'manual', since: pauses[0]?.since },
      ]);

      await world.ask('queue', 'resume', scope, ...why);
      await world.untilState('paused', 'fulfilled', 3);
      await world.until(async () => (await health()).status === 'pass');
    },
  );
});
