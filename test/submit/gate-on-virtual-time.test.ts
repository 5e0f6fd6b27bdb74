import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BudgetGate } from '../../src/submit/budget-gate.ts';
import { HandClock } from '../support/hand-clock.ts';
import { serverModels, type ServerModel } from '../support/limit-servers.ts';

const windowMs = 60_000;
const day = 24 * 60 * 60_000;

/** mulberry32, so that a run can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Run {
  readonly accepted: number;
  /** When calls were answered 429. */
  readonly refusedAt: readonly number[];
}

/**
 * The gate with a backlog that never ends, against a server on the other side of a jittery network: 15 ms and an
 * exponential tail on the way in and out, three in a hundred with a spike.
 */
function runFor(lengthMs: number, keyNames: readonly string[], model: () => ServerModel): Run {
  const clock = new HandClock();
  const gate = new BudgetGate(keyNames, { windowMs, requests: 60, orders: 20, transitMs: 5000 }, clock);
  const servers = new Map(keyNames.map((name) => [name, model()]));
  const random = randomFrom(7);
  const hop = (): number => 15 - 25 * Math.log(1 - random()) + (random() < 0.03 ? 200 + 700 * random() : 0);
  const events: { at: number; run: () => void }[] = [];
  const at = (time: number, run: () => void): void => {
    let index = events.length;
    while (index > 0 && (events[index - 1]?.at ?? 0) > time) index -= 1;
    events.splice(index, 0, { at: time, run });
  };
  let accepted = 0;
  const refusedAt: number[] = [];
  const call = (keyName: string): void => {
    const sentAt = clock.now;
    const arrivesAt = sentAt + hop();
    at(arrivesAt, () => {
      const ok = servers.get(keyName)?.admit(clock.now) ?? false;
      if (ok) accepted += 1;
      else refusedAt.push(clock.now);
      at(clock.now + hop(), () => {
        gate.settle(keyName, 'spend', clock.now);
        if (!ok) gate.rateLimited(keyName, clock.now + 5000);
      });
    });
  };
  while (clock.now < lengthMs) {
    for (let keyName = gate.tryTake('spend'); keyName !== null; keyName = gate.tryTake('spend')) call(keyName);
    const next = Math.min(gate.readyAtMs('spend'), events[0]?.at ?? Number.POSITIVE_INFINITY);
    clock.now = Math.max(clock.now, next);
    while ((events[0]?.at ?? Number.POSITIVE_INFINITY) <= clock.now) events.shift()?.run();
  }
  return { accepted, refusedAt };
}

describe('24 hours at the ceiling, on virtual time', () => {
  it.each(['sliding log', 'fixed window', 'token bucket'] as const)(
    'allow at least 19.8 orders a minute without a 429, on a %s server',
    (name) => {
      const run = runFor(day, ['main'], () => serverModels[name](20, windowMs));
      expect(run.refusedAt).toEqual([]);
      expect(run.accepted / (24 * 60)).toBeGreaterThanOrEqual(19.8);
    },
  );

  it('allow at least 99 orders a minute with five keys', () => {
    const run = runFor(day, ['a', 'b', 'c', 'd', 'e'], () => serverModels['sliding log'](20, windowMs));
    expect(run.refusedAt).toEqual([]);
    expect(run.accepted / (24 * 60)).toBeGreaterThanOrEqual(99);
  });

  it.each(['approximate sliding counter', 'sliding log that counts refused calls'] as const)(
    'bring no further 429 from two windows after the first, on a server with an %s',
    (name) => {
      const run = runFor(15 * windowMs, ['main'], () => serverModels[name](20, windowMs));
      const [first] = run.refusedAt;
      const later = run.refusedAt.filter((at) => first !== undefined && at > first + 2 * windowMs);
      expect(later).toEqual([]);
      expect(run.accepted / 15).toBeGreaterThanOrEqual(15);
    },
  );
});

/** A key as it may be at any moment, times in ms from now on. */
const anyKey = fc.record({
  freeInMs: fc.array(fc.integer({ min: -500, max: 1200 }), { maxLength: 6 }),
  readFreeInMs: fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 6 }),
  inFlight: fc.integer({ min: 0, max: 2 }),
  backOffMs: fc.option(fc.integer({ min: 1, max: 3000 }), { nil: null }),
});

describe('the forecast of the gate', () => {
  it('is when the gate itself lets the n-th call start, if every call is answered at once', () => {
    fc.assert(
      fc.property(
        fc.array(anyKey, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 0, max: 200 }),
        (keys, orders, requests, n) => {
          const clock = new HandClock();
          const limits = { windowMs: 1000, requests, orders, transitMs: 200 };
          const names = keys.map((_, index) => `k${index}`);
          const gate = new BudgetGate(names, limits, clock);
          for (const [index, key] of keys.entries()) {
            const keyName = `k${index}`;
            const held = key.freeInMs.map((ms) => ms - limits.windowMs);
            gate.restore(held.map((settledMono) => ({ keyName, limitName: 'orders' as const, settledMono })));
            gate.restore(held.map((settledMono) => ({ keyName, limitName: 'requests' as const, settledMono })));
            const reads = key.readFreeInMs.map((ms) => ms - limits.windowMs);
            gate.restore(reads.map((settledMono) => ({ keyName, limitName: 'requests' as const, settledMono })));
            if (key.backOffMs !== null) gate.rateLimited(keyName, key.backOffMs);
          }
          const inFlight = keys.flatMap((key) => Array.from({ length: key.inFlight }, () => gate.tryTake('spend')));
          const forecast = gate.startsInMs('spend', n);
          expect(clock.now).toBe(0);
          for (const keyName of inFlight) if (keyName !== null) gate.settle(keyName, 'spend', 0);
          for (let call = 0; ; call += 1) {
            clock.now = Math.max(clock.now, gate.readyAtMs('spend'));
            if (call === n) break;
            const keyName = gate.tryTake('spend');
            if (keyName === null) throw new Error('a key is ready');
            gate.settle(keyName, 'spend', clock.now);
          }
          // Sums of fractions of a ms differ in their last bits by the order of the additions.
          expect(forecast).toBeCloseTo(clock.now, 6);
        },
      ),
    );
  });

  it('counts a long backlog in whole windows', () => {
    const gate = new BudgetGate(['a', 'b'], { windowMs, requests: 60, orders: 20, transitMs: 5000 }, new HandClock());
    expect([0, 39, 40, 1_000_000].map((n) => gate.startsInMs('spend', n))).toEqual([0, 0, windowMs, 25_000 * windowMs]);
  });

  it('keeps the distance of a throttled key, and leaves out a paused one', () => {
    const clock = new HandClock();
    const gate = new BudgetGate(['a', 'b'], { windowMs, requests: 60, orders: 18, transitMs: 5000 }, clock);
    gate.excludeKeys((name) => name === 'b');
    gate.rateLimited('a', 0);
    const distanceMs = windowMs / (18 * 0.9);
    expect(gate.startsInMs('spend', 3)).toBeCloseTo(3 * distanceMs, 3);
    expect(gate.usage().map(({ isPaused, throttle }) => [isPaused, throttle?.forMs])).toEqual([
      [false, 15 * windowMs],
      [true, undefined],
    ]);
    gate.excludeKeys(() => true);
    expect(gate.startsInMs('spend', 0)).toBe(Number.POSITIVE_INFINITY);
  });

  it('says when a lookup may start, which leaves every order slot its request slot', () => {
    const clock = new HandClock();
    const gate = new BudgetGate(['a'], { windowMs, requests: 3, orders: 2, transitMs: 5000 }, clock);
    expect(gate.startsInMs('read', 0)).toBe(0);
    gate.settle(gate.tryTake('read') ?? '', 'read', 0);
    clock.now = 1000;
    expect(gate.startsInMs('read', 0)).toBe(windowMs - 1000);
    expect(gate.startsInMs('spend', 0)).toBe(0);
  });
});
