import { expect, it } from 'vitest';
import { answersLookups } from '../support/fake-api/fake-api.ts';
import { refusal } from '../support/fake-api/answers.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

it('a cache that repeats a 404 for longer than the in-flight window lets nothing be bought twice', {
  timeout: 90_000,
}, async () => {
  const world = await WorkerWithFakeApi.open({
    variants: { card: {}, dear: { prices: { USD: 10, EUR: 9 } } },
    balances: { USD: 1000, EUR: 1000 },
  });
  const { api } = world;
  await world.prove({ variant: 'card' });
  await world.until(() => api.log.count(({ kind, http }) => kind === 'lookup' && http === 200) > 0);
  // A gateway loses the first answer, and the copy that it sends is refused because of the first.
  api.balances.set('USD', 15);
  api.repeatsOrders = true;
  let cachedAtMs: number | null = null;
  api.lookups = (order, key) => {
    cachedAtMs ??= performance.now();
    const ageMs = performance.now() - cachedAtMs;
    if (ageMs > 3000) return answersLookups(order, key);
    return {
      ...refusal(404, 'not_found'),
      headers: { age: String(Math.ceil(ageMs / 1000) + 1), 'x-cache': 'HIT' },
    };
  };
  world.order('dear', 1, { variant: 'dear', fallback: 'EUR' });
  await world.untilState('dear', 'fulfilled', 1);
  expect(api.ledger.orders.map(({ product, currency }) => `${product} ${currency}`)).toEqual([
    'card USD',
    'dear USD',
  ]);
});
