import { expect } from 'vitest';
import { answersLookups, refusal } from '../../support/fake-api.ts';
import {
  become,
  deposit,
  health,
  orders,
  paused,
  pauses,
  play,
  sold,
  soldInOrder,
  told,
  untilLookupsAreProven,
  untilNothingIsPaused,
  type Scenario,
  type Step,
  type World,
} from './scenario.ts';

const dear = { prices: { USD: 2000, EUR: 2000 } };
const refusedFor402 = ({ api }: World): number => api.count((call) => call.http === 402);

const balances: readonly Scenario[] = [
  {
    name: 'waits alone: others of the same balance are bought, and after a deposit it is, too',
    api: { variants: { card: {}, dear }, balances: { USD: 1000 } },
    proven: 'card',
    steps: [
      orders('dear', 1),
      become('dear', 'waiting', 1),
      orders('card', 30),
      become('card', 'fulfilled', 30),
      // Between two tries it waits; a try may be under way just now.
      sold({ dear: 0 }),
      become('dear', 'waiting', 1),
      pauses(),
      deposit('USD', 4000),
      become('dear', 'fulfilled', 1),
      sold({ dear: 1 }),
    ],
  },
  {
    name: 'pauses its balance after three of them, and only that; a deposit resumes it',
    api: { variants: { card: {} }, balances: { USD: 7, EUR: 1000 } },
    proven: 'card',
    steps: [
      orders('usd', 20, { variant: 'card' }),
      paused('balance:USD', 'insufficient_balance'),
      health('warn'),
      // Calls that were under way when the third was refused are all that comes after it.
      (world) => expect(refusedFor402(world)).toBeLessThanOrEqual(10),
      orders('eur', 20, { variant: 'card', currency: 'EUR' }),
      become('eur', 'fulfilled', 20),
      // One trial at a time.
      (world) => expect(refusedFor402(world)).toBeLessThanOrEqual(20),
      deposit('USD', 1000),
      become('usd', 'fulfilled', 20),
      untilNothingIsPaused,
      sold({ card: 41 }),
    ],
  },
  {
    name: 'lets the cheap ones of its balance through while three dear ones wait',
    api: { variants: { card: {}, dear }, balances: { USD: 1000 } },
    proven: 'card',
    steps: [
      orders('dear', 4),
      paused('balance:USD', 'insufficient_balance'),
      orders('card', 20),
      become('card', 'fulfilled', 20),
      sold({ dear: 0 }),
      become('dear', 'waiting', 4),
    ],
  },
  {
    name: 'in a currency in which the product has no price is charged to its fallback balance',
    api: { variants: { card: {}, euros: { prices: { EUR: 5 } } } },
    proven: 'card',
    steps: [
      orders('euros', 2, { variant: 'euros', fallback: 'EUR' }),
      told('euros', 'completed'),
      become('euros', 'fulfilled', 2),
      soldInOrder('card 1 USD', 'euros 1 EUR', 'euros 1 EUR'),
    ],
  },
];
play('an order that its balance does not cover', balances);

const repeatsOrders: Step = ({ api }) => void (api.repeatsOrders = true);
const dearOnce = { card: {}, dear: { prices: { USD: 10, EUR: 9 } } };

const repeatedCalls: readonly Scenario[] = [
  {
    name: 'is bought once, and its shop is told so, whatever its rules allow instead',
    api: {
      variants: { ...dearOnce, last: { stock: 1 }, four: { stock: 4 } },
      // What is left for the dear one covers it once.
      balances: { USD: 5 + 5 + 20 + 15, EUR: 1000 },
    },
    proven: 'card',
    steps: [
      untilLookupsAreProven,
      repeatsOrders,
      orders('last', 1),
      orders('four', 1, { variant: 'four', quantity: 4, partial: true }),
      told('last', 'completed'),
      told('four', 'completed'),
      orders('dear', 1, { variant: 'dear', fallback: 'EUR' }),
      told('dear', 'completed'),
      sold({ card: 1, last: 1, four: 1, dear: 1 }),
      ({ api }) => expect(api.orders.at(-1)?.currency).toBe('USD'),
    ],
  },
  {
    name: 'is refused as before when a lookup does not find it, after one lookup',
    api: {
      variants: { card: {}, none: { stock: 0 }, dear: { prices: { USD: 2000, EUR: 9 } } },
      balances: { USD: 1000, EUR: 1000 },
    },
    proven: 'card',
    steps: [
      untilLookupsAreProven,
      orders('none', 1),
      orders('dear', 1, { variant: 'dear', fallback: 'EUR' }),
      told('none', 'failed'),
      told('dear', 'completed'),
      soldInOrder('card 1 USD', 'dear 1 EUR'),
      ({ api }) => {
        const failed = api.calls.filter(({ http }) => http !== null && http >= 400);
        const of = (kind: string): readonly (string | null)[] =>
          failed.filter((call) => call.kind === kind).map(({ reference }) => reference);
        expect(of('lookup')).toHaveLength(of('order').length);
        expect(new Set(of('lookup'))).toEqual(new Set(of('order')));
      },
    ],
  },
  {
    name: 'is not bought twice where a cache repeats a 404 for longer than the in-flight window',
    api: { variants: dearOnce, balances: { USD: 5 + 15, EUR: 1000 } },
    proven: 'card',
    steps: [
      untilLookupsAreProven,
      repeatsOrders,
      ({ api }) => {
        let cachedAtMs: number | null = null;
        api.lookups = (order, key) => {
          cachedAtMs ??= performance.now();
          const ageMs = performance.now() - cachedAtMs;
          if (ageMs > 3000) return answersLookups(order, key);
          const age = String(Math.ceil(ageMs / 1000) + 1);
          return { ...refusal(404, 'not_found'), headers: { age, 'x-cache': 'HIT' } };
        };
      },
      orders('dear', 1, { variant: 'dear', fallback: 'EUR' }),
      become('dear', 'fulfilled', 1),
      soldInOrder('card 1 USD', 'dear 1 USD'),
    ],
  },
];
play(
  'a call that a gateway repeats, and whose second copy is refused because of the first,',
  repeatedCalls,
);
