import { StubShopify } from '../read-back/stub-shop.ts';
import { describe, expect, it } from 'vitest';
import type { ShopifyWriteBack } from '../../../src/storefronts/shopify/settings.ts';
import { minutesAgo, shopifyBody } from '../read-back/running-read-back.ts';
import { codeOf, type End, WrittenShop, writtenShopifyShop } from './written-shop.ts';
import { redeliver } from '../../support/redeliver.ts';

const item = (id: string, quantity: number, sku = 'STEAM-20') => ({
  id,
  sku,
  quantity,
  properties: [],
});

/** A shop with order 7, which is taken in, in one fulfilment order. */
async function shopWith(
  items: readonly ReturnType<typeof item>[],
  changes: Partial<ShopifyWriteBack> = {},
) {
  const stub = await new StubShopify().open();
  const order = stub.put({
    id: '7',
    modifiedMs: minutesAgo(30),
    body: shopifyBody('1', { line_items: items }),
  });
  stub.shop.fulfilFrom(
    '7',
    items.map(({ id, quantity }) => ({ lineId: id, quantity })),
  );
  const written = await WrittenShop.open(writtenShopifyShop(stub.url, changes), stub);
  await written.takeIn(stub.shown(order));
  return { stub, written, order };
}

async function told(
  written: WrittenShop,
  endOf: (lineId: string) => End = () => 'fulfilled',
): Promise<void> {
  await written.buy(endOf);
  await written.told();
}

const codesOf = (written: WrittenShop, lineId: string, count: number): readonly string[] => {
  const entry = written.store.read
    .showOrder('main', '7')
    ?.entries.find((one) => one.lineId === lineId);
  return Array.from({ length: count }, (_, index) => codeOf(entry?.reference ?? '', index));
};
const failures = (written: WrittenShop): readonly unknown[] =>
  written.logged('a result could not be delivered').map(({ err }) => err);
const mutations = (stub: StubShopify): readonly string[] =>
  stub.calls.flatMap(({ body }) => /mutation (\w+)/.exec(body)?.[1] ?? []);

describe('a result in an order of Shopify', () => {
  it('fulfils its lines, with the codes in a metafield before', async () => {
    const { stub, written } = await shopWith([item('71', 2), item('72', 1)], {
      notifyCustomer: true,
    });
    await told(written);
    expect([
      stub.shop.fulfilled('71'),
      stub.shop.fulfilled('72'),
      stub.shop.fulfilments.length,
    ]).toEqual([2, 1, 1]);
    const [fulfilment] = stub.shop.fulfilments;
    expect(fulfilment?.notified).toBe(true);
    for (const code of codesOf(written, '71', 2)) expect(fulfilment?.metafields).toContain(code);
    expect([stub.shop.tags.get('7'), stub.shop.metafields.get('7')?.get('state')]).toEqual([
      ['order-sync-delivered'],
      'completed',
    ]);
    expect(JSON.stringify(written.log)).not.toContain(codesOf(written, '71', 1)[0]);
    expect(mutations(stub)).toEqual(['SetMetafields', 'Fulfil', 'AddTag']);
  });

  it('is not written over the result of another worker, which flags the shop', async () => {
    const { stub, written } = await shopWith([item('71', 1)]);
    const lines = [
      { line_id: '71', state: 'fulfilled', references: ['os-aaaaaaaaaaaaaaaaaaaaaaaaaa'] },
    ];
    stub.shop.metafields.set('7', new Map([['result', JSON.stringify({ sandbox: true, lines })]]));
    await told(written);
    expect([mutations(stub), written.store.read.attention(10).map(({ reason }) => reason)]).toEqual(
      [[], expect.arrayContaining(['other_worker'])],
    );
    expect(failures(written)).toContainEqual(expect.stringContaining('another worker'));
  });

  it('is fulfilled once when its lines are delivered one by one', async () => {
    const ids = ['71', '72', '73'];
    const { stub, written } = await shopWith(
      ids.map((id) => item(id, 1)),
      { notifyCustomer: true },
    );
    written.retryTimeScale = 1;
    for (const id of ids.slice(0, -1)) {
      await written.buy((lineId) => (lineId === id ? 'fulfilled' : null));
      await written.postponed();
    }
    expect(stub.calls).toEqual([]);
    await told(written);
    expect(stub.shop.fulfilments.map(({ lines }) => lines.length)).toEqual([3]);
    expect(mutations(stub)).toEqual(['SetMetafields', 'Fulfil', 'AddTag']);
  });

  it('changes nothing when it is written again, and intake takes its echo for nothing new', async () => {
    const { stub, written, order } = await shopWith([item('71', 3)]);
    const taken: unknown[] = [];
    stub.shop.onUpdated = (changed) => void taken.push(written.takeIn(stub.shown(changed)));
    await told(written);
    const before = mutations(stub).length;
    await redeliver(written.store, {}, Date.now());
    await written.told();
    expect([mutations(stub).length, stub.shop.fulfilled('71')]).toEqual([before, 3]);
    expect(await Promise.all(taken)).toEqual([
      [0, 0, 0],
      [0, 0, 0],
      [0, 0, 0],
    ]);
    expect(await written.takeIn(stub.shown(order))).toEqual([0, 0, 0]);
  });

  it('fulfils nothing of other lines, and only what people left of its own', async () => {
    const { stub, written } = await shopWith([item('71', 3), item('72', 1, 'BOOK'), item('73', 1)]);
    const [fulfilmentOrder] = stub.shop.fulfilmentOrders;
    if (fulfilmentOrder?.lines[0] !== undefined) fulfilmentOrder.lines[0].remaining = 1;
    await told(written, (lineId) => (lineId === '73' ? 'rejected' : 'fulfilled'));
    expect(['71', '72', '73'].map((lineId) => stub.shop.fulfilled(lineId))).toEqual([1, 0, 0]);
    expect([stub.shop.tags.get('7'), fulfilmentOrder?.status]).toEqual([
      ['order-sync-review'],
      'IN_PROGRESS',
    ]);
  });

  it('takes its review tag away again, and no tag of others', async () => {
    const { stub, written } = await shopWith([item('71', 1)]);
    stub.shop.tags.set('7', ['vip', 'order-sync-review']);
    await told(written);
    expect(stub.shop.tags.get('7')).toEqual(['vip', 'order-sync-delivered']);
  });

  it('reads every page of fulfilment orders and of their lines', async () => {
    const items = Array.from({ length: 5 }, (_, index) => item(`7${index}`, 1));
    const { stub, written } = await shopWith(items);
    stub.shop.pageSize = 2;
    stub.shop.fulfilmentOrders.length = 0;
    const lines = items.map(({ id }) => ({ lineId: id, quantity: 1 }));
    stub.shop.fulfilFrom('7', lines.slice(0, 3), lines.slice(3, 4), lines.slice(4));
    await told(written);
    expect(items.map(({ id }) => stub.shop.fulfilled(id))).toEqual([1, 1, 1, 1, 1]);
  });

  it('does what is configured, and no more', async () => {
    const { stub, written } = await shopWith([item('71', 1)], {
      fulfil: false,
      deliverCodes: 'off',
    });
    await told(written);
    expect(mutations(stub)).toEqual(['SetMetafields', 'AddTag']);
    expect([...(stub.shop.metafields.get('7')?.keys() ?? [])]).toEqual(['state', 'result']);
  });
});

describe('an order of Shopify that cannot be fulfilled now', () => {
  it('is fulfilled once it is released from a hold', async () => {
    const { stub, written } = await shopWith([item('71', 1)]);
    const [fulfilmentOrder] = stub.shop.fulfilmentOrders;
    if (fulfilmentOrder === undefined) throw new Error('there is one');
    fulfilmentOrder.status = 'ON_HOLD';
    await written.buy();
    await written.start();
    await written.untilLogged('a result could not be delivered', 1);
    expect(failures(written)[0]).toContain('is ON_HOLD');
    fulfilmentOrder.status = 'OPEN';
    await written.told();
    expect(stub.shop.fulfilled('71')).toBe(1);
  });

  it('is not changed when it is cancelled, and gets no codes while it is not paid', async () => {
    const cancelled = await shopWith([item('71', 1)]);
    cancelled.order.body['cancelled_at'] = new Date().toISOString();
    await told(cancelled.written);
    expect(mutations(cancelled.stub)).toEqual([]);

    const open = await shopWith([item('71', 1)]);
    open.order.body['financial_status'] = 'partially_paid';
    await open.written.buy();
    await open.written.start();
    await open.written.untilLogged('a result could not be delivered', 1);
    expect([
      open.stub.shop.fulfilled('71'),
      open.stub.shop.metafields.get('7')?.has('codes'),
    ]).toEqual([0, false]);
    open.order.body['financial_status'] = 'paid';
    await open.written.told();
    expect([
      open.stub.shop.fulfilled('71'),
      open.stub.shop.metafields.get('7')?.has('codes'),
    ]).toEqual([1, true]);
  });

  it('is fulfilled as far as it was bought when a quantity was raised since', async () => {
    const { stub, written, order } = await shopWith([item('71', 2)]);
    await written.buy();
    order.body['line_items'] = [item('71', 3)];
    stub.shop.raise('7', '71');
    await written.told();
    expect([stub.shop.fulfilled('71'), stub.shop.metafields.get('7')?.has('codes')]).toEqual([
      2,
      true,
    ]);
  });

  it('is not fulfilled while it has fewer than were bought, and as an operator decides then', async () => {
    const { stub, written, order } = await shopWith([item('71', 3)]);
    await written.buy();
    order.body['line_items'] = [{ ...item('71', 3), current_quantity: 1 }];
    order.modifiedMs += 60_000;
    for (const place of stub.shop.fulfilmentOrders)
      for (const line of place.lines) line.remaining = 2;
    await written.takeIn(stub.shown(order));
    await written.told();
    expect([stub.shop.fulfilled('71'), stub.shop.metafields.get('7')?.has('codes')]).toEqual([
      0,
      false,
    ]);
    order.body['line_items'] = [{ ...item('71', 3), current_quantity: 2 }];
    order.modifiedMs += 60_000;
    await written.takeIn(stub.shown(order));
    await written.decideGiven('71', 2);
    await written.told();
    const codes = String(stub.shop.metafields.get('7')?.get('codes'));
    expect(codesOf(written, '71', 3).map((code) => codes.includes(code))).toEqual([
      true,
      true,
      false,
    ]);
    expect(stub.shop.fulfilled('71')).toBe(2);
  });
});

describe('a shop of Shopify that does not answer as it should', () => {
  it('fulfils once although answers are lost, also when it does so late', async () => {
    for (const fault of [
      { kind: 'unanswered' },
      { kind: 'late', ms: 100 },
      { kind: 'lost' },
    ] as const) {
      const { stub, written } = await shopWith([item('71', 2)]);
      let faults = 0;
      stub.faultOf = ({ body }) => {
        if (!body.includes('mutation') || faults >= 3) return { kind: 'none' };
        faults += 1;
        return fault;
      };
      await told(written);
      await stub.settled();
      expect([fault.kind, stub.shop.fulfilled('71'), stub.shop.tags.get('7')]).toEqual([
        fault.kind,
        2,
        ['order-sync-delivered'],
      ]);
    }
  });

  it('is waited for when calls cost too much, and its errors are errors although their status is 200', async () => {
    const throttled = await shopWith([item('71', 1)]);
    throttled.stub.shop.points = 0;
    await told(throttled.written);
    expect([throttled.stub.shop.fulfilled('71'), failures(throttled.written)]).toEqual([1, []]);

    const refused = await shopWith([item('71', 1)]);
    refused.stub.shop.mayWrite = false;
    await refused.written.buy();
    await refused.written.start();
    await refused.written.untilLogged('a result could not be delivered', 1);
    expect(failures(refused.written)[0]).toMatch(
      /Access denied: the key of the shop must have the right to write orders/,
    );

    const taken = await shopWith([item('71', 1)]);
    let fulfils = 0;
    taken.stub.faultOf = ({ body }) => {
      const [line] = taken.stub.shop.fulfilmentOrders[0]?.lines ?? [];
      // An operator fulfils it between reading and writing.
      if (body.includes('mutation Fulfil') && line !== undefined) {
        fulfils += 1;
        line.remaining = 0;
      }
      return { kind: 'none' };
    };
    await told(taken.written);
    expect([taken.stub.shop.fulfilled('71'), fulfils]).toEqual([0, 1]);
    expect(failures(taken.written)[0]).toContain(
      'Fulfil: the shop refused it: Invalid fulfillment order line item quantity',
    );
    expect(taken.stub.shop.tags.get('7')).toEqual(['order-sync-delivered']);
  });
});

describe('many orders of Shopify', () => {
  async function shopWithMany(count: number) {
    const stub = await new StubShopify().open();
    const written = await WrittenShop.open(
      writtenShopifyShop(stub.url, { notifyCustomer: true }),
      stub,
    );
    const lineIds = Array.from({ length: count }, (_, index) => String(index + 100));
    for (const lineId of lineIds) {
      const body = shopifyBody('1', { line_items: [item(lineId, 1)] });
      const order = stub.put({ id: `7${lineId}`, modifiedMs: minutesAgo(30), body });
      stub.shop.fulfilFrom(order.id, [{ lineId, quantity: 1 }]);
      await written.takeIn(stub.shown(order));
    }
    // Who waits is not told within the test.
    written.retryTimeScale = 1;
    await written.buy();
    const notified = () =>
      lineIds.map((lineId) =>
        stub.shop.fulfilments.filter(({ lines }) => lines[0]?.lineId === lineId),
      );
    return { stub, written, lineIds, notified };
  }

  it('are told by five calls each, four at once: 200 within 150 s where each answer takes 500 ms', async () => {
    const { stub, written, lineIds, notified } = await shopWithMany(24);
    const four = Promise.withResolvers<void>();
    let [open, most] = [0, 0];
    stub.misbehave = async () => {
      open += 1;
      most = Math.max(most, open);
      if (open === 4) four.resolve();
      await four.promise;
      open -= 1;
      return false;
    };
    await written.told();
    expect(notified().map(({ length }) => length)).toEqual(lineIds.map(() => 1));
    expect([stub.calls.length / lineIds.length, most]).toEqual([5, 4]);
    expect((200 * 5 * 0.5) / most).toBeLessThanOrEqual(150);
  });

  it.each(['stop', 'kill'] as const)(
    'are each fulfilled once, and none waits, after a %s in the middle',
    async (end) => {
      const { stub, written, lineIds, notified } = await shopWithMany(24);
      const middle = Promise.withResolvers<void>();
      let [fulfils, isEnding] = [0, false];
      stub.faultOf = ({ body }) => {
        if (body.includes('mutation Fulfil')) fulfils += 1;
        if (fulfils === 12 && !isEnding) {
          isEnding = true;
          if (end === 'kill') written.kill();
          middle.resolve();
        }
        // The worker is stopped or killed while it waits for these answers.
        return { kind: isEnding ? 'silent' : 'none' };
      };
      await written.start();
      await middle.promise;
      if (end === 'stop') await written.stop();
      expect(stub.shop.fulfilments.length).toBeLessThan(lineIds.length);
      stub.faultOf = () => ({ kind: 'none' });
      await written.told();
      expect(notified().map((all) => all.map((one) => one.notified))).toEqual(
        lineIds.map(() => [true]),
      );
      expect(lineIds.map((lineId) => stub.shop.tags.get(`7${lineId}`))).toEqual(
        lineIds.map(() => ['order-sync-delivered']),
      );
      expect([failures(written), written.logged('a result is delivered later')]).toEqual([[], []]);
    },
  );
});
