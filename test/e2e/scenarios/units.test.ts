import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  complete,
  echoes,
  neverDelivers,
  page,
  refusal,
  sellsAndShows,
  type Behaviour,
} from '../../support/fake-api.ts';
import {
  become,
  heal,
  health,
  orders,
  paused,
  pauses,
  play,
  sold,
  states,
  untilNothingIsPaused,
  untilSold,
  type Scenario,
  type Step,
  type World,
} from './scenario.ts';

// CI runs it with 200.
const lines = Number(process.env['UNPROVEN_LINES'] ?? 30);
/**
 * On a slow machine, too, each call gets its answer: one without an answer is not known to have
 * bought something.
 */
const patient = { timeoutMs: 30_000 };
const sick = { behaviour: neverDelivers };
const family = 'family:gift_card';

const showComplete: Step = ({ api }) => {
  for (const order of api.orders) order.show = complete;
};

const noUnits: readonly Scenario[] = [
  {
    name: `is sent at most two of ${lines} orders of a family`,
    api: { variants: { card: sick, other: sick }, plans: { plan: sick } },
    worker: patient,
    steps: [
      orders('cards', lines / 2, { variant: 'card' }),
      orders('others', lines / 2, { variant: 'other' }),
      orders('sims', lines, { plan: 'plan' }),
      paused(family, 'connector_unproven'),
      paused('family:esim', 'connector_unproven'),
      // The polls continue; meanwhile more orders would have been sent.
      ({ api }) => api.until(() => api.count((call) => call.kind === 'lookup') >= 12),
      ({ api }) =>
        expect(api.orders.map((order) => order.family).toSorted()).toEqual([
          'esim',
          'esim',
          'gift_card',
          'gift_card',
        ]),
      health('warn'),
    ],
  },
  {
    name: 'is sent everything once an order of the family was fulfilled',
    api: { variants: { card: sick } },
    worker: patient,
    steps: [
      orders('card', 10),
      untilSold(2),
      heal('card'),
      showComplete,
      become('card', 'fulfilled', 10),
      untilNothingIsPaused,
      sold({ card: 10 }),
    ],
  },
  {
    name: 'needs attention at once, and is sent everything once an operator resumed the family',
    api: { variants: { card: sick } },
    worker: patient,
    steps: [
      orders('card', 10),
      paused(family, 'connector_unproven'),
      (world) =>
        world.until(async () => {
          const { attention } = JSON.parse(await world.ask('queue', 'status'));
          return JSON.stringify(attention).includes('connector_unproven');
        }, 15_000),
      (world) => world.ask('queue', 'resume', family, '--reason', 'it delivers by night'),
      untilSold(10),
      become('card', 'placed', 10),
      pauses(),
    ],
  },
  {
    name: 'nor finds an order is sent at most two of a family, also when these end in review',
    api: { variants: { card: sick } },
    worker: patient,
    steps: [
      ({ api }) => void (api.lookups = () => refusal(404, 'not_found')),
      orders('card', lines),
      become('card', 'needs_review', 2),
      paused(family, 'connector_unproven'),
      async (world) => {
        const { api } = world;
        const before = api.calls.length;
        await world.until(async () => (await world.health()).status === 'warn');
        expect(api.calls.slice(before).filter(({ kind }) => kind === 'order')).toEqual([]);
      },
      sold({ card: 2 }),
    ],
  },
];
play('an API that never shows units', noUnits);

const withoutCode = sellsAndShows(({ body, number }) => ({
  ...body,
  esims: [{ iccid: `89100000000${number.replaceAll(/\D/g, '').padStart(8, '0').slice(-8)}` }],
}));
const plans = { plan: { behaviour: withoutCode } };

const withoutActivation: readonly Scenario[] = [
  {
    name: 'is not delivered, and two are bought',
    api: { plans },
    worker: patient,
    steps: [
      orders('sims', 10, { plan: 'plan' }),
      paused('family:esim', 'connector_unproven'),
      states('sims', { placed: 2, pending: 8 }),
    ],
  },
  {
    name: 'is delivered where the mapping says that it needs none',
    api: { plans },
    worker: { wire: { answer: { esims: { required: ['iccid'] } } } },
    proven: { plan: 'plan' },
    steps: [pauses()],
  },
];
play('an eSIM without its activation code', withoutActivation);

const unitsOf = (world: World, order: string): unknown =>
  JSON.parse(readFileSync(join(world.installation.folder, `results/shop/${order}.json`), 'utf8'))
    .lines[0].entries[0].units;
const many = Array.from({ length: 20_000 }, (_, index) => ({ code: `DDDD-${index}` }));

// What else is no unit, too much or repeated: test/buying/believable-units.test.ts.
const badUnits: readonly Scenario[] = [
  {
    name: 'is not fulfilled by units that are none, and is fulfilled when the real ones come',
    api: {
      variants: {
        good: {},
        card: {
          behaviour: sellsAndShows(({ body, product }) => ({
            ...body,
            codes: [{ code: product }],
          })),
        },
      },
    },
    proven: 'good',
    steps: [
      orders('card', 2),
      // The answer and two polls said the same.
      ({ api }) => api.until(() => api.count(({ kind }) => kind === 'lookup') >= 6),
      states('card', { placed: 2 }),
      showComplete,
      become('card', 'fulfilled', 2),
      async (world) => {
        const { api, installation } = world;
        const order = api.orders.find(({ reference }) => reference === world.referenceOf('card-1'));
        await world.until(() => installation.results().get('shop/card-1')?.state === 'completed');
        expect(unitsOf(world, 'card-1')).toEqual(order?.body['codes']);
      },
    ],
  },
  {
    name: 'needs review when its units are too many, and keeps them out of the log and the lists',
    api: { variants: { good: {}, card: { behaviour: echoes({ codes: many }) } } },
    proven: 'good',
    steps: [
      orders('card', 1),
      become('card', 'needs_review', 1),
      async (world) => {
        const attention = await world.ask('queue', 'status');
        expect(attention).toContain('card-1');
        const order = await world.ask('orders', 'show', 'card-1');
        const shown = JSON.stringify([attention, order, world.worker.log]);
        expect(shown).not.toContain('DDDD-');
      },
      // Nothing of it was sent again.
      ({ api }) => expect(api.count((call) => call.kind === 'order')).toBe(2),
    ],
  },
];
play('an accepted order', badUnits);

const enveloped = sellsAndShows((order) => ({ data: complete(order) }));
/** Sells, and its answer is lost. */
const losesItsAnswer: Behaviour = async (sell) => {
  await sell((order) => ({ data: complete(order) }));
  return page(500);
};

const unread = sellsAndShows(({ body, number }) => ({
  ...body,
  codes: [{ code: `CARD-1234-${number}`, security_part: `SECRET-4711-${number}` }],
}));
const unreadVariants = { card: { behaviour: unread }, good: {} };

const namesTheField: Step = async (world) => {
  const attention = await world.ask('orders', 'list', '--attention');
  expect(attention).toContain('security_part');
  expect(attention).toContain('wholesale.wire.ignored');
  const kept = await world.ask('orders', 'show', world.referenceOf('card-1'), '--answers');
  expect(kept).toContain('security_part');
  expect(JSON.stringify([attention, kept, world.worker.log])).not.toMatch(/SECRET-4711|CARD-1234/);
  // Its units are kept for an operator.
  const units = "SELECT unit_count FROM entries WHERE state = 'needs_review'";
  expect(world.installation.query(units)).toEqual([{ unit_count: 1 }, { unit_count: 1 }]);
};
const ignoresTheField: Step = async (world) => {
  world.installation.configure((config) => {
    config.wholesale.wire = { ignored: ['security_part'] };
  });
  expect(JSON.parse(await world.ask('check-config', '--reload'))).toMatchObject({
    applied: ['wholesale.wire'],
    need_restart: [],
  });
  for (const order of ['card-1', 'card-2']) {
    const reference = world.referenceOf(order);
    await world.ask('orders', 'retry', reference, '--reason', 'the mapping reads it now');
  }
};

const mappings: readonly Scenario[] = [
  {
    name: 'in an envelope, with a list as the answer to lookups, are asked for and understood when an answer was lost',
    api: { variants: { good: { behaviour: enveloped }, lost: { behaviour: losesItsAnswer } } },
    worker: { wire: { answer: { envelopes: ['data'] } } },
    steps: [
      ({ api }) => {
        api.lookups = (order) => ({
          http: 200,
          body: { data: order === undefined ? [] : [complete(order)] },
        });
      },
      orders('good', 1),
      become('good', 'fulfilled', 1),
      orders('lost', 2),
      become('lost', 'fulfilled', 2),
      sold({ lost: 2 }),
      ({ api }) => expect(api.ordersOf('lost')).toHaveLength(2),
    ],
  },
  {
    name: 'with a field that is not read prove and deliver nothing: two are bought, attention names the field without its value, and a mapping that ignores it delivers them',
    api: { variants: unreadVariants },
    steps: [
      orders('card', 10),
      paused(family, 'connector_unproven'),
      become('card', 'needs_review', 2),
      sold({ card: 2 }),
      states('card', { needs_review: 2, pending: 8 }),
      namesTheField,
      ignoresTheField,
      become('card', 'fulfilled', 10),
      sold({ card: 10 }),
    ],
  },
  {
    name: 'with a field that is not read pause their product where others of the family were read whole',
    api: { variants: unreadVariants },
    proven: 'good',
    steps: [
      orders('card', 10),
      paused('variant:card', 'unread_fields'),
      orders('good', 10),
      become('good', 'fulfilled', 10),
      ({ api }) => expect(api.sold('card')).toBeLessThanOrEqual(2),
      (world) => expect(world.states('card')['fulfilled']).toBeUndefined(),
    ],
  },
  {
    name: 'that are read whole are delivered to twelve orders that wait behind the first one, without an operator',
    steps: [
      orders('card', 13),
      become('card', 'fulfilled', 13),
      sold({ card: 13 }),
      pauses(),
      async (world) => {
        const { orders: flagged } = JSON.parse(await world.ask('orders', 'list', '--attention'));
        expect(flagged).toEqual([]);
      },
    ],
  },
  {
    name: 'that repeat the order in another spelling are delivered: product and quantity are compared by value',
    api: {
      variants: {
        'good-card': { behaviour: echoes({ variant: 'GOOD-card', quantity: '2.0' }) },
        '100200': { behaviour: echoes({ variant: 100_200, quantity: 2 }) },
      },
    },
    steps: [
      orders('spelled', 2, { variant: 'good-card', quantity: 2 }),
      orders('number', 2, { variant: '100200', quantity: 2 }),
      become('spelled', 'fulfilled', 2),
      become('number', 'fulfilled', 2),
      pauses(),
    ],
  },
];
play('answers', mappings);
