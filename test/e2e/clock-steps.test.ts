import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { complete, neverDelivers } from '../support/fake-api/behaviours.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

describe('a wall clock that was wrong and is set right while the worker runs', () => {
  it.each([
    ['110 minutes ahead', 110 * minute],
    ['5 days ahead', 5 * day],
    ['3 weeks behind', -21 * day],
  ])(
    '%s: retries, deliveries and pauses are due as before',
    { timeout: 60_000 },
    async (_name, offsetMs) => {
      const world = await WorkerWithFakeApi.open(
        {
          variants: {
            card: {},
            dear: { prices: { USD: 2000 } },
            later: { behaviour: neverDelivers },
          },
          balances: { USD: 1000 },
        },
        {},
        { clockOffsetMs: offsetMs },
      );
      const { api, installation } = world;
      await world.prove({ variant: 'card' });
      await world.worker.line((line) => line.msg === 'result delivered');
      // A delivery that fails, an order without its units, one that waits for money, and a pause.
      const inTheWay = join(installation.folder, 'results/shop');
      rmSync(inTheWay, { recursive: true });
      writeFileSync(inTheWay, '');
      world.order('late', 1, { variant: 'card' });
      await world.worker.line((line) => line.msg === 'a result could not be delivered');
      world.order('later', 1, { variant: 'later' });
      await world.untilState('later', 'placed', 1);
      world.order('dear', 1, { variant: 'dear' });
      await world.untilState('dear', 'waiting', 1);
      api.condition = 'disabled';
      world.order('paused', 3, { variant: 'card' });
      await world.untilPaused('account', 'api_disabled');

      world.setClock(0);
      rmSync(inTheWay);
      api.condition = 'open';
      api.balances.set('USD', 10_000);
      for (const order of api.ledger.orders) order.show = complete;
      await world.untilState('paused', 'fulfilled', 3);
      await world.untilState('dear', 'fulfilled', 1);
      await world.untilState('later', 'fulfilled', 1);
      await world.until(() => installation.results().get('shop/late-1')?.state === 'completed');
      expect(await world.pauses()).toEqual([]);
      expect(api.ledger.orders).toHaveLength(7);
    },
  );
});
