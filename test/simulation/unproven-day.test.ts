import { afterAll, describe, expect, it } from 'vitest';
import {
  esimLine,
  forEver,
  plainAccount,
  plainLine,
  plainPlan,
  plainProduct,
  type RunPlan,
} from './run-plan.ts';
import { runPlan } from './run-seed.ts';
import { SimDisk } from './sim-disk.ts';
import { noTroubles, type ProductTrouble } from './troubles.ts';

const disk = new SimDisk();
afterAll(() => disk.destroy());

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const products = ['card', 'card2', 'card3', 'plan', 'plan2', 'plan3'];
const lineOf = (product: string, hour: number) => ({
  ...plainLine,
  ...(product.startsWith('plan') ? { ...esimLine, plan: product } : { variant: product }),
  orderId: `${product}-${hour}`,
});

/**
 * A day in which each product is ordered once an hour, and the worker dies twelve times, first
 * while it buys.
 */
const dayOf = (trouble: ProductTrouble): RunPlan => ({
  ...plainPlan,
  name: `a day: ${trouble.kind}`,
  account: {
    ...plainAccount,
    products: new Map(products.map((product) => [product, plainProduct])),
  },
  troubles: { ...noTroubles, products: new Map(products.map((product) => [product, trouble])) },
  batches: Array.from({ length: 24 }, (_, hour) => ({
    atMs: 10 + hour * hourMs,
    lines: products.map((product) => lineOf(product, hour)),
    againAtMs: [],
  })),
  crashes: Array.from({ length: 12 }, (_, index) => ({
    afterPorts: 20 + index * 37,
    kind: index % 2 === 0 ? 'kill' : 'power',
    downMs: 60_000,
  })),
  faultsOffMs: dayMs,
});

describe('a mapping that does not fit, over a day in which the worker dies twelve times', () => {
  it.each<ProductTrouble>([
    { ...forEver, kind: 'has_unread_field' },
    { ...forEver, kind: 'never_delivers', completeAtMs: Number.POSITIVE_INFINITY },
    { ...forEver, kind: 'shows_placeholders', afterMs: 1000 * hourMs },
  ])('buys at most two orders of each family: $kind', { timeout: 300_000 }, async (trouble) => {
    const { world, violations } = await runPlan(dayOf(trouble), disk);
    // Trial orders of products that stay sick come ever later: the run does not wait until all is
    // settled (I7).
    expect(violations.filter(({ invariant }) => invariant !== 'I7')).toEqual([]);
    // After it an operator says that the connector fits.
    const ofDay = world.api.ledger.orders.filter(({ atMs }) => atMs < dayMs);
    // The eSIMs of the simulated API have no such field.
    for (const family of trouble.kind === 'has_unread_field'
      ? ['gift_card']
      : ['gift_card', 'esim']) {
      const bought = ofDay.filter((order) => order.family === family).length;
      expect(bought, family).toBeGreaterThan(0);
      expect(bought, family).toBeLessThanOrEqual(2);
    }
  });
});
