import { stepsOf } from '../../support/steps.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SystemClock } from '../../../src/ops/system-clock.ts';
import { DeliveryLoop, type Sink } from '../../../src/results/delivery-loop.ts';
import { redeliver } from '../../support/redeliver.ts';
import { close, fulfilled, line, Outbox, ownAnswer } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

let bought = 0;
async function buy(orderId: string, nowMs: number): Promise<void> {
  await outbox.accept([line({ orderId })], null, nowMs);
  const attempt = await outbox.opened({ nowMs });
  await stepsOf(outbox.store).closeAttempt(
    close(attempt, ownAnswer(fulfilled, (bought += 1)), { nowMs }),
  );
}

const dueAt = async (nowMs: number, limit: number, isProbe = false) =>
  await outbox.store.results.dueDeliveries('folder', nowMs, limit, [], isProbe);
const idsOf = (due: Awaited<ReturnType<typeof dueAt>>) =>
  due.map(({ document }) => document.order_id);

/** Orders that were delivered, and whose results are due again. */
async function deliveredBefore(...orderIds: readonly string[]): Promise<void> {
  for (const orderId of orderIds) await buy(orderId, 2000);
  for (const { requestId, version } of await dueAt(2000, 100))
    await outbox.store.results.closeDelivery({ requestId, sink: 'folder', version, nowMs: 2000 });
  await redeliver(outbox.store, {}, 3000);
}

test('a result that gives units comes before results that are due for longer', async () => {
  await deliveredBefore('old-1', 'old-2', 'old-3');
  await buy('fresh', 4000);
  expect(idsOf(await dueAt(5000, 2))).toEqual(['fresh', 'old-1']);
  expect(idsOf(await dueAt(5000, 10))).toEqual(['fresh', 'old-1', 'old-2', 'old-3']);
});

test('a result that gives units and fails leaves its place to the others until its next try', async () => {
  await deliveredBefore('old-1', 'old-2');
  await buy('fresh', 4000);
  const [due] = await dueAt(5000, 1);
  const failed = {
    requestId: due?.requestId ?? 0,
    sink: 'folder',
    version: due?.version ?? 0,
    error: 'no',
  };
  await outbox.store.results.failDelivery({ ...failed, retryAtMs: 9000 });
  expect(idsOf(await dueAt(5000, 10))).toEqual(['old-1', 'old-2']);
  expect(idsOf(await dueAt(9000, 1))).toEqual(['fresh']);
  // A paused sink is not tried with the same result again and again.
  expect(idsOf(await dueAt(9000, 1, true))).toEqual(['old-1']);
});

test('a result gives its units once: later changes of it wait for their turn', async () => {
  await deliveredBefore('old-1');
  await buy('fresh', 4000);
  const [due] = await dueAt(5000, 1);
  const given = { requestId: due?.requestId ?? 0, sink: 'folder', version: due?.version ?? 0 };
  await outbox.store.results.closeDelivery({ ...given, nowMs: 5000 });
  await redeliver(outbox.store, { orderId: 'fresh', source: 'shop1' }, 6000);
  expect(idsOf(await dueAt(7000, 10))).toEqual(['old-1', 'fresh']);
});

test('a result that gives units is delivered next, although many others were due before it', async () => {
  const old = Array.from({ length: 60 }, (_, index) => `old-${index}`);
  await deliveredBefore(...old);
  const delivered: string[] = [];
  const ended = Promise.withResolvers<void>();
  const sink: Sink = {
    name: 'folder',
    deliver: async ({ order_id: orderId }) => {
      delivered.push(orderId);
      if (delivered.length === 1) await buy('fresh', 4000);
      if (delivered.length > old.length) ended.resolve();
    },
  };
  const { store } = outbox;
  const deps = {
    store,
    clock: new SystemClock(),
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    sink,
  };
  const loop = new DeliveryLoop(deps);
  loop.start();
  await ended.promise;
  await loop.stop();
  // Those under way, and those that were asked for with them.
  expect(delivered.indexOf('fresh')).toBeLessThan(24);
});
