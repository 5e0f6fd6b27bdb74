import { afterEach, beforeEach, expect, it } from 'vitest';
import { line, Outbox } from '../../support/outbox.ts';

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
    outbox.store.read.listOrders({ state: 'pending', limit: 2, ...(beforeId === undefined ? {} : { beforeId }) });
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
