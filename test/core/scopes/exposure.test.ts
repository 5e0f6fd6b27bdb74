import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  mayStart,
  productUnknownLimit,
  type Exposure,
  type ProductExposure,
} from '../../../src/core/scopes/exposure.ts';

type Order = { readonly product: string | null; readonly state: 'underWay' | 'unknown' };

function exposureOf(orders: readonly Order[]): Exposure {
  const products = new Map<string, ProductExposure>();
  for (const { product, state } of orders) {
    if (product === null) continue;
    const known = products.get(product) ?? { unknown: 0, underWay: 0 };
    products.set(product, { ...known, [state]: known[state] + 1 });
  }
  return {
    total: orders.length,
    unsound: orders.filter(({ product }) => product?.startsWith('sick')).length,
    products,
  };
}

const of = (count: number, order: Order): Order[] => Array.from({ length: count }, () => order);
const unknown = (product: string | null): Order => ({ product, state: 'unknown' });
const underWay = (product: string | null): Order => ({ product, state: 'underWay' });
const recordOf = (isProven: boolean, isSound: boolean, isSuspect: boolean) => ({
  isProven: () => isProven,
  isSound: () => isSound,
  isSuspect: () => isSuspect,
});
const start = (orders: readonly Order[], product: string | null, isProven: boolean, most = 8): boolean =>
  mayStart(exposureOf(orders), product, recordOf(isProven, true, false), most);
/** For a product that was never bought, or that failed since; the names of such products begin with `sick`. */
const startUnsound = (orders: readonly Order[], isSuspect = false, most = 8): boolean =>
  mayStart(exposureOf(orders), 'sick', recordOf(false, false, isSuspect), most);
const sick = (count: number): Order[] => Array.from({ length: count }, (_, index) => unknown(`sick${index}`));

describe('whether a call may start', () => {
  it.each<[string, boolean, boolean]>([
    ['nothing is open', start([], 'a', false), true],
    ['one call of a product that was never bought', start(of(1, underWay('a')), 'a', false), true],
    ['two calls of a product that was never bought', start(of(2, underWay('a')), 'a', false), false],
    ['one unknown and one call of such a product', start([unknown('a'), underWay('a')], 'a', false), false],
    ['five calls of a proven product', start(of(5, underWay('a')), 'a', true), true],
    ['six calls of a proven product, of eight: others get the rest', start(of(6, underWay('a')), 'a', true), false],
    ['six calls of a proven product, for another', start(of(6, underWay('a')), 'b', false), true],
    ['two unknown outcomes of a proven product', start(of(2, unknown('a')), 'a', true), false],
    ['two unknown outcomes of a product, for another', start(of(2, unknown('a')), 'b', false), true],
    ['as many as are allowed in all', start(of(8, unknown(null)), 'a', true), false],
    ['more than are allowed, because the limit was lowered', start(of(8, underWay('a')), 'b', true, 3), false],
    ['a cancel counts in all only', start(of(7, unknown('a')), null, false), true],
    ['a cancel when all are taken', start(of(8, unknown('a')), null, false), false],
    ['one place in all', start([], 'a', false, 1), true],
    ['three products that are not sound have one, for a fourth', startUnsound(sick(3)), true],
    ['four have all that such products may have, for a fifth', startUnsound(sick(4)), false],
    ['four have all that such products may have, for a sound one', start(sick(4), 'a', true), true],
    ['the first of several suspects', startUnsound([], true), true],
    ['another one beside it', startUnsound(sick(1), true), false],
    ['one place in all, for a product that is not sound', startUnsound([], false, 1), true],
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
  fc.record({ kind: fc.constantFrom('known' as const, 'unknown' as const, 'lost' as const), pick: fc.nat() }),
);

describe('any series of starts and ends', () => {
  it('never has more unknown outcomes and calls than allowed, and never keeps out a product that failed nowhere', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 80 }), (most, steps) => {
        const orders: Order[] = [];
        for (const each of steps) {
          if (each.kind === 'start') {
            if (start(orders, each.product, each.isProven, most)) orders.push(underWay(each.product));
          } else if (orders.length > 0) {
            const [order] = orders.splice(each.pick % orders.length, 1);
            // An unknown outcome ends by becoming known; a call ends in either way.
            if (order && each.kind !== 'known' && order.state === 'underWay') orders.push(unknown(order.product));
          }
          expect(orders.length).toBeLessThanOrEqual(most);
          for (const product of ['a', 'b', 'c']) {
            const own = orders.filter((one) => one.product === product);
            expect(own.length).toBeLessThanOrEqual(Math.max(productUnknownLimit(most), Math.ceil((most * 3) / 4)));
            // Where there are two places, no product has both.
            expect(own.length).toBeLessThanOrEqual(Math.max(1, most - 1));
            const isFree = orders.length < most && own.length === 0;
            expect(!isFree || start(orders, product, false, most)).toBe(true);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
