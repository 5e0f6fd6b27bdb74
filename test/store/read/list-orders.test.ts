import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { OrderFilter } from '../../../src/store/read/list-orders.ts';
import { answer, close, fulfilled, line, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

it('lists an order of a state once, newest first over all shops, and continues after any of them', async () => {
  for (const orderId of ['1', '2', '3', '4', '5']) {
    const source = Number(orderId) % 2 === 0 ? 'even' : 'odd';
    await outbox.accept(['a', 'b'].map((lineId) => line({ source, orderId, lineId })));
  }
  const list = (beforeId?: number) =>
    outbox.store.read.listOrders({
      state: 'pending',
      limit: 2,
      ...(beforeId === undefined ? {} : { beforeId }),
    });
  const pages: string[][] = [];
  for (let page = list(); page.length > 0 && pages.length < 10; page = list(page.at(-1)?.id))
    pages.push(page.map(({ orderId }) => orderId));
  expect(pages).toEqual([['5', '4'], ['3', '2'], ['1']]);
  const ofShop = outbox.store.read.listOrders({ state: 'pending', source: 'even', limit: 10 });
  expect(ofShop.map(({ orderId, states }) => [orderId, states.pending])).toEqual([
    ['4', 2],
    ['2', 2],
  ]);
});

const listed = (filter: Partial<OrderFilter>): readonly string[] =>
  outbox.store.read.listOrders({ limit: 10, ...filter }).map(({ orderId }) => orderId);

/** Orders 1 to 6, one each 100 ms from 1000 on, of two products in turn. */
async function acceptSix(): Promise<void> {
  for (const index of [0, 1, 2, 3, 4, 5]) {
    const variant = index % 2 === 0 ? 'steam-10' : 'steam-100';
    await outbox.accept([line({ orderId: String(index + 1), variant })], null, 1000 + 100 * index);
  }
}

it('finds orders by the time at which they came in, also together with a state, a shop, a product or a text', async () => {
  await acceptSix();
  await outbox.accept([line({ orderId: '7', source: 'other' })], null, 1600);
  expect(listed({ sinceMs: 1200, untilMs: 1400 })).toEqual(['4', '3']);
  expect(listed({ sinceMs: 1201 })).toEqual(['7', '6', '5', '4']);
  expect(listed({ untilMs: 1100 })).toEqual(['1']);
  expect(listed({ sinceMs: 1700 })).toEqual([]);
  expect(listed({ untilMs: 1000 })).toEqual([]);
  for (const filter of [{ state: 'pending' }, { search: 'steam' }, { source: 'shop1' }] as const)
    expect(listed({ ...filter, sinceMs: 1400, untilMs: 1600 })).toEqual(['6', '5']);
  expect(listed({ product: 'steam-10', sinceMs: 1200, untilMs: 1600 })).toEqual(['5', '3']);
  const [first] = outbox.store.read.listOrders({ limit: 1, sinceMs: 1200, untilMs: 1600 });
  expect(listed({ sinceMs: 1200, untilMs: 1600, beforeId: first?.id })).toEqual(['5', '4', '3']);
});

it('finds orders by a whole product, and those of which an entry of it is in a state', async () => {
  await acceptSix();
  await outbox.accept(
    [line({ orderId: '7' }), line({ orderId: '7', lineId: '2', variant: 'other' })],
    null,
    1600,
  );
  expect(listed({ product: 'steam-10' })).toEqual(['7', '5', '3', '1']);
  expect(listed({ product: 'steam-1' })).toEqual([]);
  expect(listed({ product: 'steam-100', search: '4' })).toEqual(['4']);
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
  expect(listed({ product: 'steam-10', state: 'fulfilled' })).toEqual(['1']);
  expect(listed({ product: 'other', state: 'fulfilled' })).toEqual([]);
});

it('sorts by time and by what was charged, and continues after so many', async () => {
  await acceptSix();
  for (const cost of ['5.00', '40.00', '300.00']) {
    const settlement = {
      ...fulfilled,
      answer: { ...answer, orderNumber: `W-${cost}`, cost, units: [] },
    };
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), settlement));
  }
  expect(listed({ sort: 'oldest' })).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(listed({ sort: 'oldest', limit: 2, beforeId: 4 })).toEqual(['5', '6']);
  expect(listed({ sort: 'amount' })).toEqual(['3', '2', '1', '6', '5', '4']);
  expect(listed({ sort: 'amount', limit: 2, beforeId: 1 })).toEqual(['2', '1']);
  expect(listed({ sort: 'amount', state: 'fulfilled', untilMs: 1200 })).toEqual(['2', '1']);
});
