import { describe, expect, it } from 'vitest';
import { page } from '../support/fake-api/answers.ts';
import { complete, echoes, sellsAndShows, type Behaviour } from '../support/fake-api/behaviours.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

describe('an API whose orders are in an envelope and whose lookups answer with a list', () => {
  const enveloped = sellsAndShows((order) => ({ data: complete(order) }));
  /** Sells, and its answer is lost. */
  const losesItsAnswer: Behaviour = (_call, sell) => {
    sell((order) => ({ data: complete(order) }));
    return page(500);
  };

  it('is asked what became of an order whose answer was lost, and is understood', async () => {
    const world = await WorkerWithFakeApi.open(
      { variants: { good: { behaviour: enveloped }, lost: { behaviour: losesItsAnswer } } },
      { wire: { answer: { envelopes: ['data'] } } },
    );
    const { api } = world;
    api.lookups = (order) => ({ http: 200, body: { data: order === undefined ? [] : [complete(order)] } });
    await world.prove({ variant: 'good' });
    world.order('lost', 2, { variant: 'lost' });
    await world.untilState('lost', 'fulfilled', 2);
    expect(api.ledger.sold('lost')).toBe(2);
    expect(api.log.ordersOf('lost')).toHaveLength(2);
  });
});

describe('a unit with a field that the connector does not read', () => {
  it('is delivered, and the name of the field is in the log, without its value', async () => {
    const behaviour = sellsAndShows((order) => ({
      ...complete(order),
      codes: [{ code: 'CARD-1234-5678', security_part: 'SECRET-4711' }],
    }));
    const world = await WorkerWithFakeApi.open({ variants: { card: { behaviour } } });
    await world.prove({ variant: 'card' });
    await world.until(() => JSON.stringify(world.worker.log).includes('security_part'));
    expect(JSON.stringify(world.worker.log)).not.toContain('SECRET-4711');
    expect(JSON.stringify(world.worker.log)).not.toContain('CARD-1234');
  });
});

describe('an API that repeats an order in another spelling', () => {
  it('sells it: product and quantity are compared by value', async () => {
    const world = await WorkerWithFakeApi.open({
      variants: {
        'good-card': { behaviour: echoes({ variant: 'GOOD-card', quantity: '2.0' }) },
        '100200': { behaviour: echoes({ variant: 100_200, quantity: 2 }) },
      },
    });
    world.order('spelled', 2, { variant: 'good-card', quantity: 2 });
    world.order('number', 2, { variant: '100200', quantity: 2 });
    await world.untilState('spelled', 'fulfilled', 2);
    await world.untilState('number', 'fulfilled', 2);
    expect(await world.pauses()).toEqual([]);
  });
});
