import { expect } from 'vitest';
import {
  answersWith,
  echoes,
  fails,
  neverDelivers,
  page,
  refuses,
  saysNothing,
  type Behaviour,
} from '../../support/fake-api.ts';
import type { AskedLine } from '../../support/worker-with-fake-api.ts';
import {
  become,
  heal,
  health,
  orders,
  paused,
  pauses,
  play,
  sold,
  untilNothingIsPaused,
  type Scenario,
  type Step,
} from './scenario.ts';

// CI runs it with 200.
const healthy = Number(process.env['HEALTHY_LINES'] ?? 20);
const isFull = process.env['HEALTHY_LINES'] !== undefined;

/** Products that always fail beside one that is healthy. */
function alwaysFailing(what: string, behaviours: Readonly<Record<string, Behaviour>>): Scenario {
  const products = Object.keys(behaviours);
  const variants = Object.entries(behaviours).map(([id, behaviour]) => [id, { behaviour }]);
  const open = ['pending', 'sending', 'waiting', 'unknown'];
  return {
    name: `${what} do not stop ${healthy} lines of another, and are bought once they work again`,
    api: { variants: { good: {}, ...Object.fromEntries(variants) } },
    proven: 'good',
    steps: [
      ...products.map((variant) => orders(variant, 6)),
      ({ api }) => api.until(() => products.every((id) => api.ordersOf(id).length >= 2)),
      orders('good', healthy),
      become('good', 'fulfilled', healthy, 5000 + 2000 * Math.ceil(healthy / 20)),
      ...products.map((variant) => paused(`variant:${variant}`)),
      health('warn'),
      // None was given up, none was bought.
      (world) => {
        const states = products.flatMap((product) => Object.keys(world.states(product)));
        expect(states.filter((state) => !open.includes(state))).toEqual([]);
      },
      sold(Object.fromEntries(products.map((product) => [product, 0]))),
      ...products.map(heal),
      ...products.map((product) => become(product, 'fulfilled', 6)),
      untilNothingIsPaused,
      health('pass'),
      sold(Object.fromEntries(products.map((product) => [product, 6]))),
    ],
  };
}

const products: readonly Scenario[] = [
  alwaysFailing('that answer 500', { sick: fails }),
  // These take longer.
  ...(isFull
    ? [
        alwaysFailing("that never answer, or with a proxy's page,", {
          sick: answersWith(page(500)),
          silent: answersWith('silence'),
        }),
      ]
    : []),
  {
    name: 'whose answers show another order pause only themselves',
    api: { variants: { good: {}, odd: { behaviour: echoes({ variant: 'another' }) } } },
    proven: 'good',
    steps: [
      orders('odd', 3),
      (world) => world.until(() => world.states('odd')['needs_review'] !== undefined),
      orders('good', 10),
      become('good', 'fulfilled', 10, 5000),
      (world) => expect(world.states('odd')['fulfilled']).toBeUndefined(),
      pauses('variant:odd: answer_mismatch'),
      health('warn'),
    ],
  },
  {
    name: 'that are refused with a code that the specification does not list pause only themselves',
    api: {
      variants: { good: {}, unlisted: { behaviour: refuses(422, 'contract_needed') } },
    },
    proven: 'good',
    steps: [
      orders('unlisted', 10),
      paused('variant:unlisted'),
      orders('good', 20),
      become('good', 'fulfilled', 20, 4000),
      pauses(expect.stringMatching(/^variant:unlisted: /)),
      // Three lines of it were refused before it was paused; the others are tried one at a time.
      (world) => expect(world.states('unlisted')['pending']).toBeGreaterThan(0),
      health('warn'),
    ],
  },
  {
    name: 'whose success says nothing are not accepted, whatever else the answer says',
    api: {
      variants: {
        good: {},
        empty: { behaviour: saysNothing({}) },
        failed: { behaviour: saysNothing({ success: false }) },
      },
    },
    proven: 'good',
    steps: [
      orders('empty', 4),
      paused('variant:empty'),
      // A second product of the family with this answer would pause the family.
      heal('empty'),
      become('empty', 'fulfilled', 4),
      orders('failed', 4),
      paused('variant:failed'),
      orders('good', 10),
      become('good', 'fulfilled', 10),
      (world) => {
        expect(world.states('failed')['placed']).toBeUndefined();
        expect(world.states('failed')['fulfilled']).toBeUndefined();
      },
      heal('failed'),
      become('failed', 'fulfilled', 4),
      sold({ empty: 4, failed: 4, good: 11 }),
    ],
  },
];
play('products', products);

interface ShownPause {
  readonly scope: string;
  readonly reason: string;
  readonly since: string;
  readonly holds_up: number;
}
const why = ['--reason', 'wrong price at the supplier'];

/** Health, `--explain` and the orders that wait name a pause of an operator. */
const showsPauseOf =
  (scope: string): Step =>
  async (world) => {
    const shown = async (): Promise<{ status: string; pauses: readonly ShownPause[] }> =>
      JSON.parse((await world.health()).text);
    // What it holds up may be a second old.
    await world.until(async () => (await shown()).pauses[0]?.holds_up === 3);
    const { status, pauses: now } = await shown();
    expect(status).toBe('warn');
    const since: unknown = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(now).toEqual([{ scope, reason: 'manual', since, holds_up: 3 }]);
    const { pauses: explained } = JSON.parse(await world.ask('queue', 'status', '--explain'));
    expect(explained).toMatchObject([{ scope, message: why[1], holds_up: 3 }]);
    const { entries } = JSON.parse(await world.ask('orders', 'show', 'paused-1'));
    expect(entries[0].paused_by).toMatchObject([{ scope, reason: 'manual', since: now[0]?.since }]);
  };

const pausedByHand = (scope: string, line: AskedLine): Scenario => ({
  name: `${scope.slice(0, 20)} is bought when it is resumed, and meanwhile only the others are`,
  api: { variants: { card: {}, [longest]: {}, other: {} }, plans: { plan: {} } },
  proven: 'other',
  steps: [
    (world) => world.ask('queue', 'pause', scope, ...why),
    orders('paused', 3, line),
    become('paused', 'pending', 3),
    orders('other', 5),
    become('other', 'fulfilled', 5),
    become('paused', 'pending', 3),
    showsPauseOf(scope),
    (world) => world.ask('queue', 'resume', scope, ...why),
    become('paused', 'fulfilled', 3),
    (world) => world.until(async () => (await world.health()).status === 'pass'),
  ],
});
/** The longest id that the sandbox sells: a command carries it to the worker. */
const longest = 'c'.repeat(80);

const shownPauses = [
  ['variant:odd', 'answer_mismatch', 'later-1'],
  ['balance:EUR', 'insufficient_balance', 'euros-4'],
  ['family:esim', 'connector_unproven', 'sims-5'],
] as const;

const pausedScopes: readonly Scenario[] = [
  pausedByHand(`variant:${longest}`, { variant: longest }),
  pausedByHand('plan:plan', { plan: 'plan' }),
  {
    name: 'is shown by health, status, explain and the orders that wait, with the reason',
    api: {
      variants: { card: {}, odd: { behaviour: echoes({ variant: 'another' }) } },
      plans: { plan: { behaviour: neverDelivers } },
      balances: { USD: 1000, EUR: 3 },
    },
    proven: 'card',
    steps: [
      orders('odd', 2),
      paused('variant:odd', 'answer_mismatch'),
      orders('later', 3, { variant: 'odd' }),
      orders('euros', 4, { variant: 'card', currency: 'EUR' }),
      orders('sims', 5, { plan: 'plan' }),
      ...shownPauses.map(([scope, reason]) => paused(scope, reason)),
      health('warn'),
      async (world) => {
        const { text } = await world.health();
        const explained = await world.ask('queue', 'status', '--explain');
        for (const [scope, reason, order] of shownPauses) {
          for (const shown of [text, explained]) {
            expect(shown).toContain(scope);
            expect(shown).toContain(reason);
          }
          const reference = world.referenceOf(order);
          expect(await world.ask('queue', 'status', '--explain', reference)).toContain(scope);
          expect(await world.ask('orders', 'show', order)).toContain(scope);
        }
      },
    ],
  },
];
play('a paused scope', pausedScopes);
