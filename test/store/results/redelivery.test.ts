import { stepsOf } from '../../support/steps.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Redelivery } from '../../../src/core/operator/operator-command.ts';
import { close, fulfilled, line, Outbox } from '../../support/outbox.ts';
import { redeliver } from '../../support/redeliver.ts';

const sinks = ['folder', 'callback:shop'];
let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open([
    { name: 'folder', sources: null },
    { name: 'callback:shop', sources: ['shop1'] },
  ]);
  // Settled at 2000, 3000 and 4000 ms.
  for (const [index, source] of ['shop1', 'shop1', 'shop2'].entries()) {
    const nowMs = 2000 + 1000 * index;
    await outbox.accept([line({ source, orderId: String(index + 1) })], null, nowMs);
    await stepsOf(outbox.store).closeAttempt(
      close(await outbox.opened({ nowMs }), fulfilled, { nowMs }),
    );
  }
  for (const sink of sinks) await deliverAll(sink);
});
afterEach(() => outbox.close());

async function deliverAll(sink: string): Promise<readonly string[]> {
  const due = await outbox.store.results.dueDeliveries(sink, 99_999, 5000);
  for (const { requestId, version } of due)
    await outbox.store.results.closeDelivery({ requestId, sink, version, nowMs: 9000 });
  return due.map(({ document }) => document.order_id).toSorted();
}

/** The orders that each sink gets again. */
async function again(which: Redelivery): Promise<Record<string, readonly string[]>> {
  await redeliver(outbox.store, which, 10_000);
  return { folder: await deliverAll('folder'), 'callback:shop': await deliverAll('callback:shop') };
}

test.each<[string, Redelivery, readonly string[], readonly string[]]>([
  ['of all orders', {}, ['1', '2', '3'], ['1', '2']],
  ['at one sink', { sink: 'callback:shop' }, [], ['1', '2']],
  ['of one source', { source: 'shop2' }, ['3'], []],
  ['of one order', { source: 'shop1', orderId: '2' }, ['2'], ['2']],
  ['from a time on', { sinceMs: 3000 }, ['2', '3'], ['2']],
  ['before a time', { untilMs: 3000, sink: 'folder' }, ['1'], []],
  ['that were given up, of which there are none', { givenUp: true }, [], []],
])(
  'results %s are delivered again where they are asked for',
  async (_, which, folder, callback) => {
    expect(await again(which)).toEqual({ folder, 'callback:shop': callback });
  },
);

test('a delivery that was given up is found by its sink, and leaves the attention list', async () => {
  await redeliver(outbox.store, { orderId: '1' }, 10_000);
  const [due] = await outbox.store.results.dueDeliveries('callback:shop', 99_999, 1);
  const { requestId = 0, version = 0 } = due ?? {};
  const given = {
    requestId,
    sink: 'callback:shop',
    version,
    reason: 'http_503',
    error: 'the receiver answered 500',
    nowMs: 11_000,
  };
  await outbox.store.results.giveUpDelivery(given);
  await deliverAll('folder');
  expect(outbox.store.read.attentionCounts()).toEqual({ delivery: 1 });
  expect(await again({ givenUp: true, sink: 'folder' })).toEqual({
    folder: [],
    'callback:shop': [],
  });
  expect(outbox.store.read.redeliveryCount({ givenUp: true })).toBe(1);
  expect(await again({ givenUp: true, sink: 'callback:shop' })).toEqual({
    folder: [],
    'callback:shop': ['1'],
  });
  expect(outbox.store.read.attentionCounts()).toEqual({});
});

test('a sink that is not configured is refused by name, and nothing is audited', async () => {
  await expect(redeliver(outbox.store, { sink: 'callback' }, 10_000)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: 'No sink is called "callback"',
    hint: 'the configured sinks: folder, callback:shop',
  });
  expect(outbox.auditLog()).toEqual([]);
});

test('each step looks at a limited number of orders, says where the next continues, and is audited', async () => {
  const orders = Array.from({ length: 1500 }, (_, index) =>
    line({ source: 'shop3', orderId: `n${index}` }),
  );
  await outbox.accept(orders, null, 5000);
  const request = {
    which: { source: 'shop1' },
    actor: 'cli:ann',
    reason: 'the shop lost them',
    nowMs: 10_000,
  };
  const first = await outbox.store.operator.redeliver({ ...request, afterId: 0 });
  expect(first).toEqual({ due: 2, nextId: 1000 });
  const second = await outbox.store.operator.redeliver({ ...request, afterId: 1000 });
  expect(second).toEqual({ due: 0, nextId: null });
  expect(outbox.auditLog()).toMatchObject([
    { actor: 'cli:ann', action: 'redeliver', subject: 'results', reason: 'the shop lost them' },
  ]);
});
