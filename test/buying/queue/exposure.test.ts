import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayStart, productUnknownLimit } from '../../../src/buying/queue/exposure.ts';
import type { Exposure, ProductExposure } from '../../../src/store/entries/open-calls.ts';

type Order = { readonly product: string | null; readonly state: keyof ProductExposure };

function exposureOf(orders: readonly Order[]): Exposure {
  const products = new Map<string, ProductExposure>();
  for (const { product, state } of orders) {
    if (product === null) continue;
    const known = products.get(product) ?? { unknown: 0, underWay: 0, refused: 0 };
    products.set(product, { ...known, [state]: known[state] + 1 });
  }
  return { total: orders.filter(({ state }) => state !== 'refused').length, products };
}

const of = (count: number, order: Order): Order[] => Array.from({ length: count }, () => order);
const unknown = (product: string | null): Order => ({ product, state: 'unknown' });
const underWay = (product: string | null): Order => ({ product, state: 'underWay' });
const refused = (product: string): Order => ({ product, state: 'refused' });
/** Products are failing, new or proven by their names. */
const start = (
  orders: readonly Order[],
  product: string | null,
  isProven: boolean,
  most = 8,
): boolean => {
  const isFailing = (name: string): boolean => name.startsWith('sick');
  const isNew = (name: string): boolean =>
    name.startsWith('new') || (name === product && !isProven);
  const states = {
    isFailing,
    isProven: (name: string) => !isFailing(name) && !isNew(name),
    manyFail: () => false,
  };
  return mayStart(exposureOf(orders), product, states, most);
};
const startFailing = (orders: readonly Order[], most = 8): boolean =>
  start(orders, 'sick', false, most);
const sick = (count: number): Order[] =>
  Array.from({ length: count }, (_, index) => unknown(`sick${index}`));
const fresh = (count: number): Order[] =>
  Array.from({ length: count }, (_, index) => unknown(`new${index}`));

describe('whether a call may start', () => {
  it.each<[string, boolean, boolean]>([
    ['nothing is open', start([], 'a', false), true],
    ['no call of a product that was never bought', start([], 'a', false), true],
    ['one call of a product that was never bought', start(of(1, underWay('a')), 'a', false), false],
    ['one unknown outcome of such a product', start([unknown('a')], 'a', false), false],
    ['five calls of a proven product', start(of(5, underWay('a')), 'a', true), true],
    [
      'six calls of a proven product, of eight: others get the rest',
      start(of(6, underWay('a')), 'a', true),
      false,
    ],
    ['six calls of a proven product, for another', start(of(6, underWay('a')), 'b', false), true],
    ['two refusals of a product', start(of(2, refused('a')), 'a', true), true],
    ['three refusals of a product', start(of(3, refused('a')), 'a', true), false],
    ['three refusals of a product, for another', start(of(3, refused('a')), 'b', true), true],
    ['two unknown outcomes of a proven product', start(of(2, unknown('a')), 'a', true), false],
    [
      'two unknown outcomes of a product, for another',
      start(of(2, unknown('a')), 'b', false),
      true,
    ],
    ['as many as are allowed in all', start(of(8, unknown(null)), 'a', true), false],
    [
      'more than are allowed, because the limit was lowered',
      start(of(8, underWay('a')), 'b', true, 3),
      false,
    ],
    ['a cancel counts in all only', start(of(7, unknown('a')), null, false), true],
    ['a cancel when all are taken', start(of(8, unknown('a')), null, false), false],
    ['one place in all', start([], 'a', false, 1), true],
    ['three failing products have one place, for a fourth', startFailing(sick(3)), true],
    ['four have all that such products may have, for a fifth', startFailing(sick(4)), false],
    [
      'four have all that such products may have, for a new one',
      start(sick(4), 'new', false),
      true,
    ],
    ['one new product is open, for a second', start(fresh(1), 'new', false), true],
    ['two have all that new products may have, for a third', start(fresh(2), 'new', false), false],
    [
      'failing and new products have all that they may have, for a proven one',
      start([...sick(4), ...fresh(2)], 'a', true),
      true,
    ],
    ['one place in all, for a failing product', startFailing([], 1), true],
    [
      'two places in all: a failing one leaves the other to proven ones',
      start(sick(1), 'new', false, 2),
      false,
    ],
  ])('%s', (_what, found, expected) => {
    expect(found).toBe(expected);
  });
});

const step = fc.oneof(
  fc.record({
    kind: fc.constant('start' as const),
    product: fc.constantFrom('a', 'b', 'c', null),
    isProven: fc.boolean(),
  }),
  fc.record({
    kind: fc.constantFrom('known' as const, 'unknown' as const, 'lost' as const),
    pick: fc.nat(),
  }),
);

describe('any series of starts and ends', () => {
  it('never has more unknown outcomes and calls than allowed, and never keeps out a proven product', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(step, { maxLength: 80 }),
        (most, steps) => {
          const orders: Order[] = [];
          for (const each of steps) {
            if (each.kind === 'start') {
              if (start(orders, each.product, each.isProven, most))
                orders.push(underWay(each.product));
            } else if (orders.length > 0) {
              const [order] = orders.splice(each.pick % orders.length, 1);
              // An unknown outcome ends by becoming known; a call ends in either way.
              if (order && each.kind !== 'known' && order.state === 'underWay')
                orders.push(unknown(order.product));
            }
            expect(orders.length).toBeLessThanOrEqual(most);
            for (const product of ['a', 'b', 'c']) {
              const own = orders.filter((one) => one.product === product);
              expect(own.length).toBeLessThanOrEqual(
                Math.max(productUnknownLimit(most), Math.ceil((most * 3) / 4)),
              );
              // Where there are two places, no product has both.
              expect(own.length).toBeLessThanOrEqual(Math.max(1, most - 1));
              const isFree = orders.length < most && own.length === 0;
              expect(!isFree || start(orders, product, true, most)).toBe(true);
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
