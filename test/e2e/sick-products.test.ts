import { describe, expect, it } from 'vitest';
import { page } from '../support/fake-api/answers.ts';
import {
  answersWith,
  echoes,
  fails,
  refuses,
  type Behaviour,
} from '../support/fake-api/behaviours.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

// CI runs it with 200.
const healthy = Number(process.env['HEALTHY_LINES'] ?? 20);

const isFull = process.env['HEALTHY_LINES'] !== undefined;
const silent: [string, Readonly<Record<string, Behaviour>>] = [
  "products that never answer, or with a proxy's page",
  { sick: answersWith(page(500)), silent: () => 'silence' },
];
const open = ['pending', 'sending', 'waiting', 'unknown'];

describe('a product that always fails', () => {
  const sick: readonly [string, Readonly<Record<string, Behaviour>>][] = [
    ['a product that answers 500', { sick: fails }],
    // These take longer.
    ...(isFull ? [silent] : []),
  ];

  it.each(sick)(
    `does not stop ${healthy} lines of another, and is bought once it works again: %s`,
    { timeout: 90_000 },
    async (_name, behaviours) => {
      const products = Object.keys(behaviours);
      const variants = Object.fromEntries(
        Object.entries(behaviours).map(([id, behaviour]) => [id, { behaviour }]),
      );
      const world = await WorkerWithFakeApi.open({ variants: { good: {}, ...variants } });
      const { api } = world;
      await world.prove({ variant: 'good' });
      for (const variant of products) world.order(variant, 6, { variant });
      await api.until(() => products.every((product) => api.log.ordersOf(product).length >= 2));
      world.order('good', healthy, { variant: 'good' });
      const windows = Math.ceil(healthy / 20);
      await world.untilState('good', 'fulfilled', healthy, 5000 + 2000 * windows);
      for (const variant of products) await world.untilPaused(`variant:${variant}`);
      expect((await world.health()).status).toBe('warn');
      // The sick lines are still open: none was given up, none was bought.
      const states = products.flatMap((product) => Object.keys(world.states(product)));
      expect(states.filter((state) => !open.includes(state))).toEqual([]);
      expect(products.map((product) => api.ledger.sold(product))).toEqual(products.map(() => 0));

      // They are bought once the products work again.
      for (const product of products) api.setVariant(product, {});
      for (const product of products) await world.untilState(product, 'fulfilled', 6);
      await world.until(async () => (await world.pauses()).length === 0);
      expect((await world.health()).status).toBe('pass');
      expect(products.map((product) => api.ledger.sold(product))).toEqual(products.map(() => 6));
      expect(api.limited).toBe(0);
    },
  );
});

describe('a product whose answers show another order', () => {
  it('pauses only itself', async () => {
    const odd = { behaviour: echoes({ variant: 'another' }) };
    const world = await WorkerWithFakeApi.open({ variants: { good: {}, odd } });
    await world.prove({ variant: 'good' });
    world.order('odd', 3, { variant: 'odd' });
    await world.until(() => world.states('odd')['needs_review'] !== undefined);
    world.order('good', 10, { variant: 'good' });
    await world.untilState('good', 'fulfilled', 10, 5000);
    expect(world.states('odd')['fulfilled']).toBeUndefined();
    expect(await world.pauses()).toEqual(['variant:odd: answer_mismatch']);
    expect((await world.health()).status).toBe('warn');
  });
});

describe('a product that is refused with a code that the specification does not list', () => {
  it('pauses only itself', async () => {
    const behaviour = refuses(422, 'contract_needed');
    const world = await WorkerWithFakeApi.open({ variants: { good: {}, unlisted: { behaviour } } });
    await world.prove({ variant: 'good' });
    world.order('unlisted', 10, { variant: 'unlisted' });
    await world.until(async () => (await world.pauses()).length === 1);
    world.order('good', 20, { variant: 'good' });
    await world.untilState('good', 'fulfilled', 20, 4000);
    expect(await world.pauses()).toEqual([expect.stringMatching(/^variant:unlisted: /)]);
    // Three lines of it were refused before it was paused; the others are tried one at a time.
    expect(world.states('unlisted')['pending']).toBeGreaterThan(0);
    expect((await world.health()).status).toBe('warn');
  });
});
