import { describe, expect, it } from 'vitest';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

/** What the shop was told about an order of one line. */
const told = (world: WorkerWithFakeApi, orderId: string): string | undefined =>
  world.installation.results().get(`shop/${orderId}`)?.state;

describe('a call that a gateway repeats, and whose second copy is refused because of the first', () => {
  it('is bought once, and its shop is told so, whatever its rules allow instead', {
    timeout: 90_000,
  }, async () => {
    const world = await WorkerWithFakeApi.open({
      variants: {
        card: {},
        dear: { prices: { USD: 10, EUR: 9 } },
        last: { stock: 1 },
        four: { stock: 4 },
      },
      balances: { USD: 1000, EUR: 1000 },
    });
    const { api } = world;
    await world.prove({ variant: 'card' });
    await world.until(
      () => api.log.count(({ kind, http }) => kind === 'lookup' && http === 200) > 0,
    );
    api.repeatsOrders = true;
    world.order('last', 1, { variant: 'last' });
    world.order('four', 1, { variant: 'four', quantity: 4, partial: true });
    await world.until(
      () => told(world, 'last-1') !== undefined && told(world, 'four-1') !== undefined,
    );
    api.balances.set('USD', 15);
    world.order('dear', 1, { variant: 'dear', fallback: 'EUR' });
    await world.until(() => told(world, 'dear-1') !== undefined);
    for (const id of ['last-1', 'four-1', 'dear-1']) expect(told(world, id), id).toBe('completed');
    expect(
      api.ledger.orders.map(
        ({ product, quantity, currency }) => `${product} ${quantity} ${currency}`,
      ),
    ).toEqual(['card 1 USD', 'last 1 USD', 'four 4 USD', 'dear 1 USD']);
  });

  it('is refused as before when a lookup does not find it, after one lookup', {
    timeout: 90_000,
  }, async () => {
    const world = await WorkerWithFakeApi.open({
      variants: { card: {}, none: { stock: 0 }, dear: { prices: { USD: 2000, EUR: 9 } } },
      balances: { USD: 1000, EUR: 1000 },
    });
    const { api } = world;
    await world.prove({ variant: 'card' });
    await world.until(
      () => api.log.count(({ kind, http }) => kind === 'lookup' && http === 200) > 0,
    );
    world.order('none', 1, { variant: 'none' });
    world.order('dear', 1, { variant: 'dear', fallback: 'EUR' });
    await world.until(
      () => told(world, 'none-1') !== undefined && told(world, 'dear-1') !== undefined,
    );
    expect(told(world, 'none-1')).toBe('failed');
    expect(api.ledger.orders.map(({ product, currency }) => `${product} ${currency}`)).toEqual([
      'card USD',
      'dear EUR',
    ]);
    const refused = api.log.all.filter(
      ({ kind, http }) => kind === 'order' && http !== null && http >= 400,
    );
    const checks = api.log.all.filter(({ kind, http }) => kind === 'lookup' && http === 404);
    expect(checks).toHaveLength(refused.length);
    expect(new Set(checks.map(({ reference }) => reference))).toEqual(
      new Set(refused.map(({ reference }) => reference)),
    );
  });
});
