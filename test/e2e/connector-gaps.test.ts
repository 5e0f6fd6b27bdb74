import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
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
    api.lookups = (order) => ({
      http: 200,
      body: { data: order === undefined ? [] : [complete(order)] },
    });
    await world.prove({ variant: 'good' });
    world.order('lost', 2, { variant: 'lost' });
    await world.untilState('lost', 'fulfilled', 2);
    expect(api.ledger.sold('lost')).toBe(2);
    expect(api.log.ordersOf('lost')).toHaveLength(2);
  });
});

describe('a unit with a field that the connector does not read', () => {
  const behaviour = sellsAndShows((order) => ({
    ...complete(order),
    codes: [{ code: `CARD-1234-${order.number}`, security_part: `SECRET-4711-${order.number}` }],
  }));
  const variants = { card: { behaviour }, good: {} };

  it('proves nothing and delivers nothing: two are bought, and attention names the field, without its value', async () => {
    const world = await WorkerWithFakeApi.open({ variants });
    const { api } = world;
    world.order('cards', 10, { variant: 'card' });
    await world.untilPaused('family:gift_card', 'connector_unproven');
    await world.untilState('cards', 'needs_review', 2);
    expect(api.ledger.orders).toHaveLength(2);
    expect(world.states('cards')).toEqual({ needs_review: 2, pending: 8 });
    const attention = await world.ask('orders', 'list', '--attention');
    expect(attention).toContain('security_part');
    expect(attention).toContain('wholesale.wire.ignored');
    const said = JSON.stringify([attention, world.worker.log]);
    expect(said).not.toContain('SECRET-4711');
    expect(said).not.toContain('CARD-1234');
    // Its units are kept for a person.
    const kept = world.installation.query<{ unit_count: number }>(
      "SELECT unit_count FROM entries WHERE state = 'needs_review'",
    );
    expect(kept).toEqual([{ unit_count: 1 }, { unit_count: 1 }]);
  });

  it('pauses its product where others of the family were read whole', async () => {
    const world = await WorkerWithFakeApi.open({ variants });
    await world.prove({ variant: 'good' });
    world.order('cards', 10, { variant: 'card' });
    await world.untilPaused('variant:card', 'unread_fields');
    world.order('good', 10, { variant: 'good' });
    await world.untilState('good', 'fulfilled', 10);
    expect(world.api.ledger.sold('card')).toBeLessThanOrEqual(2);
    expect(world.states('cards')['fulfilled']).toBeUndefined();
  });

  it('is delivered, not bought again, after a reload of a mapping that ignores the field', async () => {
    const world = await WorkerWithFakeApi.open({ variants });
    world.order('cards', 4, { variant: 'card' });
    await world.untilState('cards', 'needs_review', 2);
    const kept = await world.ask('orders', 'show', world.referenceOf('cards-1'), '--answers');
    expect(kept).toContain('security_part');
    expect(kept).not.toContain('SECRET-4711');
    const { configFile } = world.installation;
    const { wholesale, ...config }: { wholesale: object } = parse(readFileSync(configFile, 'utf8'));
    writeFileSync(
      configFile,
      stringify({ ...config, wholesale: { ...wholesale, wire: { ignored: ['security_part'] } } }),
    );
    expect(JSON.parse(await world.ask('check-config', '--reload'))).toMatchObject({
      applied: ['wholesale.wire'],
      need_restart: [],
    });
    for (const order of ['cards-1', 'cards-2'])
      await world.ask(
        'orders',
        'retry',
        world.referenceOf(order),
        '--reason',
        'the mapping reads it now',
      );
    await world.untilState('cards', 'fulfilled', 4);
    expect(world.api.ledger.orders).toHaveLength(4);
  });

  it('is delivered where the mapping ignores the field', async () => {
    const world = await WorkerWithFakeApi.open(
      { variants },
      { wire: { ignored: ['security_part'] } },
    );
    await world.prove({ variant: 'card' });
    expect(await world.pauses()).toEqual([]);
  });
});

describe('a mapping that reads every field', () => {
  it('delivers twelve orders that wait behind the first one, without a person', async () => {
    const world = await WorkerWithFakeApi.open({ variants: { card: {} } });
    world.order('waiting', 13, { variant: 'card' });
    await world.untilState('waiting', 'fulfilled', 13);
    expect(world.api.ledger.orders).toHaveLength(13);
    expect(await world.pauses()).toEqual([]);
    const { orders } = JSON.parse(await world.ask('orders', 'list', '--attention'));
    expect(orders).toEqual([]);
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
