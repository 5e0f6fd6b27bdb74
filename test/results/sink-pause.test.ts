import { stepsOf } from '../support/steps.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DeliveryError } from '../../src/core/result/delivery-error.ts';
import { DeliveryLoop, type Sink } from '../../src/results/delivery-loop.ts';
import { WriteBackError } from '../../src/storefronts/shop/platform.ts';
import { MachineClock } from '../support/machine-clock.ts';
import { close, fulfilled, line, Outbox } from '../support/outbox.ts';
import { redeliver } from '../support/redeliver.ts';

const sinkName = 'callback:shop';
const minute = 60_000;
const hour = 60 * minute;

let outbox: Outbox;
let machine: MachineClock;
let loop: DeliveryLoop;
let log: { msg: string; [key: string]: unknown }[];
/** Each call of the sink: when, and for which order. */
let calls: { atMs: number; orderId: string }[];
let delivered: string[];
/**
 * What the receiver does with an order: takes it, or fails with this error. `no_call`: it is not
 * called at all.
 */
let receive: (orderId: string) => Error | 'no_call' | null | Promise<Error | null>;
let underWay: number;
let mostUnderWay: number;

const down = (): Error => new DeliveryError('the receiver answered 500', { reason: 'http_500' });
const retryDelaysMs = [5000, 5 * minute, 30 * minute, 2 * hour];

beforeEach(async () => {
  outbox = await Outbox.open([{ name: sinkName, sources: null }]);
  machine = new MachineClock();
  [log, calls, delivered] = [[], [], []];
  [underWay, mostUnderWay] = [0, 0];
  receive = () => null;
  startLoop();
});
afterEach(async () => {
  await loop.stop();
  await outbox.close();
});

function startLoop(): void {
  const sink: Sink = {
    name: sinkName,
    retryDelayMs: (failures, error) =>
      error instanceof WriteBackError ? error.retryAfterMs : (retryDelaysMs[failures - 1] ?? null),
    deliver: async ({ order_id: orderId }) => {
      calls.push({ atMs: machine.steadyMs(), orderId });
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      const error = await receive(orderId);
      underWay -= 1;
      if (error === 'no_call') return error;
      if (error !== null) throw error;
      delivered.push(orderId);
      return undefined;
    },
  };
  const stream = { write: (text: string) => void log.push(JSON.parse(text)) };
  const logger = pino({ level: 'info' }, stream);
  loop = new DeliveryLoop({ store: outbox.store, clock: machine, random: () => 0.5, logger, sink });
  loop.start();
}

async function accept(...orderIds: string[]): Promise<void> {
  const nowMs = machine.wallMs();
  await outbox.accept(
    orderIds.map((orderId) => line({ orderId })),
    null,
    nowMs,
  );
  for (const _ of orderIds) {
    const attempt = await outbox.opened({ nowMs });
    await stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled, { nowMs }));
  }
  loop.notify();
}

const numbered = (count: number, prefix = 'o'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const passUntil = (isDone: () => boolean, limitMs = hour, stepMs = 1000) =>
  machine.passUntil(isDone, limitMs, stepMs);
const logged = (text: string) => log.filter(({ msg }) => msg.includes(text));

it('waits for an earlier call that may still be processed, and counts no try for that', async () => {
  const refused = () =>
    new DeliveryError('the order is locked', { reason: 'locked', refusesResult: true });
  const settles = () => new WriteBackError('settles', 'a note may have been posted', minute);
  const answers = [refused(), settles(), settles(), refused(), null];
  receive = () => answers.shift() ?? null;
  await accept('one');
  await passUntil(() => delivered.length > 0);
  const waits = calls
    .slice(1)
    .map(({ atMs }, index) => Math.round((atMs - (calls[index]?.atMs ?? 0)) / 1000));
  expect(waits).toEqual([5, 60, 60, 300]);
});
const paused = () => outbox.store.read.sinkPauses();

describe('a sink that fails', () => {
  it('is paused after failures of three results, and then tried by one at a time, ever more rarely', async () => {
    receive = down;
    await accept(...numbered(40));
    await passUntil(() => paused().length > 0);
    // Those that were under way at once; no other result uses up a try.
    expect(calls.length).toBeLessThanOrEqual(8);
    expect(paused()).toMatchObject([
      { sink: sinkName, reason: 'http_500', message: 'the receiver answered 500', waiting: 40 },
    ]);
    const before = calls.length;
    mostUnderWay = 0;
    await passUntil(() => false, 3 * hour);
    const probes = calls.slice(before);
    expect(mostUnderWay).toBe(1);
    const gaps = probes.slice(1).map(({ atMs }, index) => atMs - (probes[index]?.atMs ?? 0));
    expect(gaps[0]).toBeLessThan(10_000);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(5 * minute + 1000);
    expect(gaps.at(-1)).toBeGreaterThan(4 * minute);
    // Each probe is another result, until all had their turn.
    const firstOnes = probes.slice(0, 40 - before).map(({ orderId }) => orderId);
    expect(new Set(firstOnes).size).toBe(firstOnes.length);
    expect(logged('it is paused')).toHaveLength(1);
    const reminders = logged('is still paused').length;
    expect(reminders).toBeGreaterThanOrEqual(15);
    expect(reminders).toBeLessThanOrEqual(36);
    expect(logged('a result could not be delivered').length).toBeLessThanOrEqual(3);
  });

  it('for far longer than the schedule of a result gives none up, and drains all of them with its first success', async () => {
    receive = down;
    await accept(...numbered(20));
    await passUntil(() => false, 24 * hour, 5 * minute);
    expect(outbox.store.read.attentionCounts()['delivery']).toBeUndefined();
    receive = () => null;
    await passUntil(() => delivered.length > 0);
    const first = machine.steadyMs();
    await passUntil(() => delivered.length === 20);
    expect(machine.steadyMs() - first).toBeLessThanOrEqual(2000);
    expect(paused()).toEqual([]);
    expect(logged('takes results again')).toHaveLength(1);
  });

  it('is tried at once when an operator asks for it', async () => {
    receive = down;
    await accept(...numbered(12));
    await passUntil(() => false, hour);
    const before = calls.length;
    receive = () => null;
    const asked = {
      sink: sinkName,
      actor: 'page:anna',
      reason: 'the shop is back',
      nowMs: machine.wallMs(),
    };
    await outbox.store.operator.trySink(asked);
    loop.notify();
    await passUntil(() => delivered.length === 12, 10_000);
    expect(calls.length).toBe(before + 12);
    expect(outbox.store.read.auditLog({ action: 'resume' }, { limit: 2 }).rows).toMatchObject([
      { actor: 'page:anna', subject: `sink:${sinkName}`, reason: 'the shop is back' },
    ]);
    await expect(outbox.store.operator.trySink(asked)).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: `The sink ${sinkName} is not paused`,
    });
  });

  it('stays paused over a restart, without the failures before', async () => {
    receive = down;
    await accept(...numbered(12));
    await passUntil(() => paused().length > 0);
    await loop.stop();
    const before = calls.length;
    startLoop();
    await passUntil(() => calls.length > before);
    await passUntil(() => false, 1000);
    expect(calls.length).toBe(before + 1);
    receive = () => null;
    await passUntil(() => delivered.length === 12);
    expect(paused()).toEqual([]);
  });

  it('stands in the attention list after a minute, while a result waits for it', async () => {
    receive = down;
    await accept(...numbered(5));
    await passUntil(() => paused().length > 0);
    const shown = () => outbox.store.read.attention(10).filter(({ kind }) => kind === 'pause');
    // The view compares with the clock of the machine that reads, and the pause here began in the
    // past.
    expect(shown()).toMatchObject([
      {
        id: `sink:${sinkName}`,
        scope: sinkName,
        code: 'http_500',
        message: `the sink ${sinkName} takes no results: the receiver answered 500`,
        canAcknowledge: false,
      },
    ]);
    receive = () => null;
    await passUntil(() => delivered.length === 5);
    expect(shown()).toEqual([]);
  });

  it('is not paused any more when its last result is closed without a call', async () => {
    receive = down;
    await accept('a', 'b', 'c');
    await passUntil(() => paused().length > 0);
    receive = () => 'no_call';
    await passUntil(() => paused().length === 0, 20 * minute);
    expect(paused()).toEqual([]);
    expect(delivered).toEqual([]);
    expect(logged('no result waits for this sink any more')).toHaveLength(1);
  });

  it('is not paused any more when the worker died after its last delivery', async () => {
    receive = down;
    await accept('a', 'b', 'c');
    await passUntil(() => paused().length > 0);
    await loop.stop();
    // What such a worker leaves: the deliveries are closed, and the pause stands.
    const { results } = outbox.store;
    const nowMs = machine.wallMs();
    for (const { requestId, version } of await results.dueDeliveries(sinkName, nowMs + hour, 10))
      await results.closeDelivery({ requestId, sink: sinkName, version, nowMs });
    expect(paused()).toHaveLength(1);
    startLoop();
    await passUntil(() => paused().length === 0, 2000);
    expect(paused()).toEqual([]);
    receive = () => null;
    await accept('d');
    await passUntil(() => delivered.length === 1, 2000);
    expect(delivered).toEqual(['d']);
  });

  it('does not delay the stop of the worker', async () => {
    receive = down;
    await accept(...numbered(30));
    await passUntil(() => paused().length > 0);
    const before = calls.length;
    await loop.stop();
    expect(calls.length).toBe(before);
  });
});

describe('a result that fails', () => {
  it('alone is retried on its own schedule and given up, and does not pause the sink for healthy ones', async () => {
    receive = (orderId) => (orderId === 'bad' ? down() : null);
    await accept('bad');
    for (let round = 0; round < 40; round += 1) {
      await accept(`good${round}`);
      await passUntil(() => delivered.includes(`good${round}`), 2000);
      await passUntil(() => false, 5 * minute);
    }
    expect(delivered).toHaveLength(40);
    expect(paused()).toEqual([]);
    expect(calls.filter(({ orderId }) => orderId === 'bad')).toHaveLength(5);
    expect(outbox.store.read.attention(10)).toMatchObject([
      {
        kind: 'delivery',
        orderId: 'bad',
        message: `the sink ${sinkName} did not take the result (5 tries): the receiver answered 500`,
      },
    ]);
  });

  it('because the receiver refuses it never pauses the sink, however many there are', async () => {
    receive = (orderId) =>
      orderId.startsWith('bad')
        ? new DeliveryError('the receiver answered 400', {
            reason: 'http_400',
            refusesResult: true,
          })
        : null;
    await accept(...numbered(20, 'bad'), 'good');
    await passUntil(() => delivered.length === 1, 2000);
    expect(paused()).toEqual([]);
    await passUntil(() => false, 4 * hour);
    expect(outbox.store.read.attentionCounts()).toEqual({ delivery: 20 });
  });

  it('does not hold up others while it hangs', async () => {
    const hanging = Promise.withResolvers<Error | null>();
    receive = (orderId) => (orderId === 'o0' ? hanging.promise : null);
    await accept(...numbered(300));
    await passUntil(() => delivered.length === 299, 2000);
    expect(delivered).toHaveLength(299);
    hanging.resolve(null);
    await passUntil(() => delivered.length === 300, 2000);
  });
});

describe('a receiver that limits the rate', () => {
  it('is not called before its Retry-After, loses no try, and is not reported as failing', async () => {
    let left = 0;
    let windowEnd = 0;
    receive = () => {
      if (machine.steadyMs() >= windowEnd) [left, windowEnd] = [10, machine.steadyMs() + 10_000];
      left -= 1;
      if (left >= 0) return null;
      const retryAfterMs = windowEnd - machine.steadyMs();
      return new DeliveryError('the receiver answered 429', { reason: 'http_429', retryAfterMs });
    };
    await accept(...numbered(100));
    const tookMs = await passUntil(() => delivered.length === 100);
    expect(tookMs).toBeLessThanOrEqual(120_000);
    // After a 429, nothing is sent until the window has ended: so each window has a few refused
    // calls at most.
    expect(calls.length - 100).toBeLessThanOrEqual(10 * 8);
    expect(paused()).toEqual([]);
    expect(logged('it is paused')).toEqual([]);
    expect(logged('could not be delivered')).toEqual([]);
  });

  it('is not called before the newest Retry-After, also when calls of before end one after the other', async () => {
    const [first, second] = [
      Promise.withResolvers<Error | null>(),
      Promise.withResolvers<Error | null>(),
    ];
    const wait = (retryAfterMs: number) =>
      new DeliveryError('the receiver answered 429', { reason: 'http_429', retryAfterMs });
    receive = (orderId) => {
      if (orderId === 'first') return first.promise;
      if (orderId === 'second') return second.promise;
      return calls.length <= 3 ? wait(10_000) : null;
    };
    await accept('first', 'second', 'third');
    await passUntil(() => calls.length === 3);
    // The first wait is over, and two calls of before are still under way.
    await passUntil(() => false, 20_000);
    second.resolve(wait(minute));
    await passUntil(() => false, 2000);
    const askedAtMs = machine.steadyMs();
    first.resolve(null);
    await passUntil(() => delivered.length === 3);
    const next = calls[3];
    expect(next?.atMs).toBeGreaterThanOrEqual(askedAtMs + minute - 2000);
  });

  it('with 503 and Retry-After is asked again after that, and paused when it is not over then', async () => {
    receive = () =>
      new DeliveryError('the receiver answered 503', {
        reason: 'http_503',
        retryAfterMs: 10 * minute,
      });
    await accept('a');
    await passUntil(() => calls.length === 1);
    await accept('b', 'c');
    await passUntil(() => false, 9 * minute);
    expect(calls).toHaveLength(1);
    await passUntil(() => paused().length > 0, 2 * hour);
    const times = calls.map(({ atMs }) => atMs);
    for (const [index, atMs] of times.slice(1).entries())
      expect(atMs - (times[index] ?? 0)).toBeGreaterThanOrEqual(10 * minute);
  });
});

describe('the versions of one result', () => {
  it('are delivered one after the other, the newest last', async () => {
    const first = Promise.withResolvers<Error | null>();
    receive = () => (calls.length === 1 ? first.promise : null);
    await accept('a');
    await passUntil(() => calls.length === 1);
    await redeliver(outbox.store, {}, machine.wallMs());
    loop.notify();
    await accept('b');
    await passUntil(() => delivered.length === 1, 2000);
    expect(delivered).toEqual(['b']);
    first.resolve(null);
    await passUntil(() => delivered.length === 3, 2000);
    expect(delivered).toEqual(['b', 'a', 'a']);
  });
});
