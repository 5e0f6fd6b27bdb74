import { describe, expect, it } from 'vitest';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

const dear = { prices: { USD: 2000, EUR: 2000 } };

describe('an order that its balance does not cover', () => {
  it('waits alone: others of the same balance are bought, and after a deposit it is, too', async () => {
    const world = await WorkerWithFakeApi.open({
      variants: { card: {}, dear },
      balances: { USD: 1000 },
    });
    await world.prove({ variant: 'card' });
    world.order('dear', 1, { variant: 'dear' });
    await world.untilState('dear', 'waiting', 1);
    world.order('card', 30, { variant: 'card' });
    await world.untilState('card', 'fulfilled', 30);
    // Between two tries it waits; a try may be under way just now.
    expect(world.api.ledger.sold('dear')).toBe(0);
    await world.untilState('dear', 'waiting', 1);
    expect(await world.pauses()).toEqual([]);
    world.api.balances.set('USD', 5000);
    await world.untilState('dear', 'fulfilled', 1);
    expect(world.api.ledger.sold('dear')).toBe(1);
  });

  it('pauses its balance after three of them, and only that; a deposit resumes it', {
    timeout: 90_000,
  }, async () => {
    const world = await WorkerWithFakeApi.open({
      variants: { card: {} },
      balances: { USD: 7, EUR: 1000 },
    });
    const { api } = world;
    await world.prove({ variant: 'card' });
    world.order('usd', 20, { variant: 'card' });
    await world.untilPaused('balance:USD', 'insufficient_balance');
    expect((await world.health()).status).toBe('warn');
    const refused = (): number => api.log.count((call) => call.http === 402);
    // Calls that were under way when the third was refused are all that comes after it.
    expect(refused()).toBeLessThanOrEqual(10);
    world.order('eur', 20, { variant: 'card', currency: 'EUR' });
    await world.untilState('eur', 'fulfilled', 20);
    // One trial at a time.
    expect(refused()).toBeLessThanOrEqual(20);
    api.balances.set('USD', 1000);
    await world.untilState('usd', 'fulfilled', 20);
    await world.until(async () => (await world.pauses()).length === 0);
    expect(api.ledger.orders).toHaveLength(41);
  });

  it('lets the cheap ones of its balance through while three dear ones wait', {
    timeout: 90_000,
  }, async () => {
    const world = await WorkerWithFakeApi.open({
      variants: { card: {}, dear },
      balances: { USD: 1000 },
    });
    await world.prove({ variant: 'card' });
    world.order('dear', 4, { variant: 'dear' });
    await world.untilPaused('balance:USD', 'insufficient_balance');
    world.order('card', 20, { variant: 'card' });
    await world.untilState('card', 'fulfilled', 20);
    expect(world.api.ledger.sold('dear')).toBe(0);
    await world.untilState('dear', 'waiting', 4);
  });
});

describe('a product without a price in the currency of the order', () => {
  it('is charged to the fallback balance of the order', async () => {
    const world = await WorkerWithFakeApi.open({
      variants: { card: {}, euros: { prices: { EUR: 5 } } },
    });
    await world.prove({ variant: 'card' });
    world.order('other', 2, { variant: 'euros', fallback: 'EUR' });
    await world.until(
      () => world.installation.results().get('shop/other-2')?.state === 'completed',
    );
    expect(
      world.api.ledger.orders
        .filter((order) => order.product === 'euros')
        .map((order) => order.currency),
    ).toEqual(['EUR', 'EUR']);
  });
});
