import { describe, expect, it } from 'vitest';
import { refusal } from '../support/fake-api/answers.ts';
import {
  complete,
  neverDelivers,
  saysNothing,
  sellsAndShows,
} from '../support/fake-api/behaviours.ts';
import { WorkerWithFakeApi } from '../support/fake-api/worker-with-fake-api.ts';

// CI runs it with 200.
const lines = Number(process.env['UNPROVEN_LINES'] ?? 30);
/**
 * On a slow machine, too, each call gets its answer: one without an answer is not known to have
 * bought something.
 */
const patient = { timeoutMs: 30_000 };

describe('an API that never shows units', () => {
  it(`is sent at most two of ${lines} orders of a family`, async () => {
    const sick = { behaviour: neverDelivers };
    const world = await WorkerWithFakeApi.open(
      { variants: { card: sick, other: sick }, plans: { plan: sick } },
      patient,
    );
    const { api } = world;
    world.order('cards', lines / 2, { variant: 'card' });
    world.order('others', lines / 2, { variant: 'other' });
    world.order('sims', lines, { plan: 'plan' });
    await world.untilPaused('family:gift_card', 'connector_unproven');
    await world.untilPaused('family:esim', 'connector_unproven');
    // The polls continue; meanwhile more orders would have been sent.
    await api.until(() => api.log.count((call) => call.kind === 'lookup') >= 12);
    expect(api.ledger.orders.filter((order) => order.family === 'gift_card')).toHaveLength(2);
    expect(api.ledger.orders.filter((order) => order.family === 'esim')).toHaveLength(2);
    expect((await world.health()).status).toBe('warn');
  });

  it('is sent everything once an order of the family was fulfilled', async () => {
    const world = await WorkerWithFakeApi.open(
      { variants: { card: { behaviour: neverDelivers } } },
      patient,
    );
    const { api } = world;
    world.order('cards', 10, { variant: 'card' });
    await api.until(() => api.ledger.orders.length === 2);
    api.setVariant('card', {});
    for (const order of api.ledger.orders) order.show = complete;
    await world.untilState('cards', 'fulfilled', 10);
    await world.until(async () => (await world.pauses()).length === 0);
    expect(api.ledger.orders).toHaveLength(10);
  });

  it('is sent everything once a person resumed the family', async () => {
    const world = await WorkerWithFakeApi.open(
      { variants: { card: { behaviour: neverDelivers } } },
      patient,
    );
    const { api } = world;
    world.order('cards', 10, { variant: 'card' });
    await world.untilPaused('family:gift_card', 'connector_unproven');
    await world.ask(
      'queue',
      'resume',
      'family:gift_card',
      '--reason',
      'the supplier delivers by night',
    );
    await api.until(() => api.ledger.orders.length === 10);
    await world.untilState('cards', 'placed', 10);
    expect(await world.pauses()).toEqual([]);
  });
});

describe('an API whose orders are not found', () => {
  it('is sent at most two orders of a family, also when these end in review', async () => {
    const world = await WorkerWithFakeApi.open(
      { variants: { card: { behaviour: neverDelivers } } },
      patient,
    );
    const { api } = world;
    api.lookups = () => refusal(404, 'not_found');
    world.order('cards', lines, { variant: 'card' });
    await world.untilState('cards', 'needs_review', 2);
    await world.untilPaused('family:gift_card', 'connector_unproven');
    const before = api.log.all.length;
    await world.until(async () => (await world.health()).status === 'warn');
    expect(api.ledger.orders).toHaveLength(2);
    expect(api.log.all.slice(before).filter(({ kind }) => kind === 'order')).toEqual([]);
  });
});

describe('an eSIM without its activation code', () => {
  const withoutCode = sellsAndShows((order) => ({
    ...complete(order),
    esims: [{ iccid: `89100000000${order.number.slice(1).padStart(8, '0')}` }],
  }));
  const plans = { plan: { behaviour: withoutCode } };

  it('is not delivered, and two are bought', async () => {
    const world = await WorkerWithFakeApi.open({ plans }, patient);
    world.order('sims', 10, { plan: 'plan' });
    await world.untilPaused('family:esim', 'connector_unproven');
    expect(world.states('sims')).toEqual({ placed: 2, pending: 8 });
  });

  it('is delivered where the mapping says that it needs none', async () => {
    const world = await WorkerWithFakeApi.open(
      { plans },
      { wire: { answer: { esims: { required: ['iccid'] } } } },
    );
    await world.prove({ plan: 'plan' });
    expect(await world.pauses()).toEqual([]);
  });
});

describe('a success that says nothing', () => {
  it('is not an accepted order, whatever else it says', async () => {
    const world = await WorkerWithFakeApi.open({
      variants: {
        good: {},
        empty: { behaviour: saysNothing({}) },
        failed: { behaviour: saysNothing({ success: false }) },
      },
    });
    const { api } = world;
    await world.prove({ variant: 'good' });
    world.order('empty', 4, { variant: 'empty' });
    await world.untilPaused('variant:empty');
    // A second product of the family with this answer would pause the family.
    api.setVariant('empty', {});
    await world.untilState('empty', 'fulfilled', 4);
    world.order('failed', 4, { variant: 'failed' });
    await world.untilPaused('variant:failed');
    world.order('good', 10, { variant: 'good' });
    await world.untilState('good', 'fulfilled', 10);
    expect(world.states('failed')['placed']).toBeUndefined();
    expect(world.states('failed')['fulfilled']).toBeUndefined();
    // Nothing was sold, so the lines are bought when the product answers as it should.
    api.setVariant('failed', {});
    await world.untilState('failed', 'fulfilled', 4);
    expect(api.ledger.orders).toHaveLength(1 + 4 + 4 + 10);
  });
});
