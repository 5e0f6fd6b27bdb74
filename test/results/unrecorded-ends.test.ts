import { stepsOf } from '../support/steps.ts';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { DeliveryLoop, type Sink } from '../../src/results/delivery-loop.ts';
import { MachineClock } from '../support/machine-clock.ts';
import { close, fulfilled, line, Outbox } from '../support/outbox.ts';
import { wrappedStore } from '../support/wrapped-store.ts';

const name = 'callback:shop';

it('stops the worker when a confirmation cannot be recorded, and does not count it as a failure of the endpoint', async () => {
  const outbox = await Outbox.open([{ name, sources: null }]);
  onTestFinished(() => outbox.close());
  await outbox.accept([line({ orderId: '1' })]);
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
  const broken = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
  const store = wrappedStore(outbox.store, (step, call) =>
    step === 'results.confirmEvents' ? () => Promise.reject(broken) : call,
  );
  const sink: Sink = { name, deliver: async (_, delivery) => await delivery.confirm('{}') };
  const logger = pino({ level: 'silent' });
  const loop = new DeliveryLoop({
    store,
    clock: new MachineClock(),
    random: () => 0.5,
    logger,
    sink,
  });
  loop.start();
  await expect(loop.failed).rejects.toBe(broken);
  const [due] = await outbox.store.results.dueDeliveries(name, Number.MAX_SAFE_INTEGER, 1);
  expect(due?.tries).toBe(0);
  expect(outbox.store.read.sinkPauses()).toEqual([]);
});

it('stops the worker at once when an end cannot be recorded, although another delivery hangs', async () => {
  const outbox = await Outbox.open([{ name, sources: null }]);
  onTestFinished(() => outbox.close());
  await outbox.accept([line({ orderId: 'hanging' }), line({ orderId: '2' })]);
  for (const _ of [1, 2])
    await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
  const broken = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' });
  const store = wrappedStore(outbox.store, (step, call) =>
    step === 'results.failDelivery' ? () => Promise.reject(broken) : call,
  );
  const { promise: hanging, resolve } = Promise.withResolvers<void>();
  const sink: Sink = {
    name,
    deliver: async ({ order_id: orderId }) => {
      if (orderId === 'hanging') return await hanging;
      throw new Error('the receiver answered 500');
    },
  };
  const logger = pino({ level: 'silent' });
  const loop = new DeliveryLoop({
    store,
    clock: new MachineClock(),
    random: () => 0.5,
    logger,
    sink,
  });
  loop.start();
  await expect(loop.failed).rejects.toBe(broken);
  resolve();
  await loop.stop();
});

it('a sink stays paused when its end cannot be recorded, and resumes when it can', async () => {
  const outbox = await Outbox.open([{ name, sources: null }]);
  const clock = new MachineClock();
  onTestFinished(() => outbox.close());
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  let tries = 0;
  const store = wrappedStore(outbox.store, (step, call) =>
    step === 'results.resumeSink'
      ? (...args) => (tries++ === 0 ? Promise.reject(full) : call(...args))
      : call,
  );
  const nowMs = clock.wallMs();
  const pause = {
    sink: name,
    reason: 'http_500',
    message: 'the receiver answered 500',
    nowMs,
    probeAtMs: 0,
  };
  await outbox.store.results.pauseSink({ ...pause, probes: 3 });
  await outbox.accept([line()]);
  await stepsOf(outbox.store).closeAttempt(close(await outbox.opened(), fulfilled));
  const sink: Sink = { name, deliver: async () => undefined };
  const logger = pino({ level: 'silent' });
  const loop = new DeliveryLoop({ store, clock, random: () => 0.5, logger, sink });
  loop.start();
  await clock.passUntil(() => outbox.store.read.sinkPauses().length === 0, 60_000);
  expect(tries).toBe(2);
  expect(outbox.store.read.sinkPauses()).toEqual([]);
  await loop.stop();
});
