import { describe, expect, it } from 'vitest';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
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
 * The gate with a backlog that never ends, against a server on the other side of a jittery network:
 * 15 ms and an exponential tail on the way in and out, three in a hundred with a spike.
 */
function runFor(lengthMs: number, keyNames: readonly string[], model: () => ServerModel): Run {
  const clock = new HandClock();
  const gate = new BudgetGate(
    keyNames,
    { windowMs, requests: 60, orders: 20, transitMs: 5000 },
    clock,
  );
  const servers = new Map(keyNames.map((name) => [name, model()]));
  const random = randomFrom(7);
  const hop = (): number =>
    15 - 25 * Math.log(1 - random()) + (random() < 0.03 ? 200 + 700 * random() : 0);
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
    for (let keyName = gate.tryTake('spend'); keyName !== null; keyName = gate.tryTake('spend'))
      call(keyName);
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
    const run = runFor(day, ['a', 'b', 'c', 'd', 'e'], () =>
      serverModels['sliding log'](20, windowMs),
    );
    expect(run.refusedAt).toEqual([]);
    expect(run.accepted / (24 * 60)).toBeGreaterThanOrEqual(99);
  });

  it.each(['approximate sliding counter', 'sliding log that counts refused calls'] as const)(
    'bring no 429 in the longer throttle after the second burst, on a server with an %s',
    (name) => {
      const run = runFor(15 * windowMs, ['main'], () => serverModels[name](20, windowMs));
      const [first = Number.NaN] = run.refusedAt;
      const bursts = run.refusedAt.filter(
        (at, index) => at > windowMs + (run.refusedAt[index - 1] ?? Number.NEGATIVE_INFINITY),
      );
      expect(bursts.length).toBeLessThanOrEqual(2);
      expect(run.refusedAt.filter((at) => at > first + 5 * windowMs)).toEqual([]);
      expect(run.accepted / 15).toBeGreaterThanOrEqual(15);
    },
  );
});

describe('a key that was throttled after a 429', () => {
  it('is free again one window after its back-off, unless another 429 comes meanwhile', () => {
    const clock = new HandClock();
    const limits = { windowMs, requests: 60, orders: 20, transitMs: 5000 };
    const gate = new BudgetGate(['a'], limits, clock);
    const throttledForMs = (): number => gate.usage()[0]?.throttle?.forMs ?? 0;
    const isSomebodyElse = (): boolean =>
      gate.rateLimited('a', clock.now + 5000).surprise?.isUnexplained === true;
    expect(isSomebodyElse()).toBe(false);
    clock.now = windowMs - 1;
    expect(throttledForMs()).toBe(5001);
    expect(isSomebodyElse()).toBe(false);
    clock.now += windowMs + 5000;
    expect(throttledForMs()).toBe(0);
    // It comes back with the next burst: the server counts in another way, and nobody else calls.
    clock.now += 10 * windowMs;
    expect(isSomebodyElse()).toBe(false);
    expect(throttledForMs()).toBe(15 * windowMs + 5000);
    clock.now += windowMs;
    expect(isSomebodyElse()).toBe(true);
  });
});

describe('when the next call may start', () => {
  it('keeps the distance of a throttled key, and leaves out a paused one', () => {
    const clock = new HandClock();
    const gate = new BudgetGate(
      ['a', 'b'],
      { windowMs, requests: 60, orders: 18, transitMs: 5000 },
      clock,
    );
    gate.excludeKeys((name) => name === 'b');
    gate.rateLimited('a', 0);
    gate.settle(gate.tryTake('spend') ?? '', 'spend', 0);
    expect(gate.nextInMs('spend')).toBeCloseTo(windowMs / (18 * 0.9), 3);
    expect(
      gate
        .usage()
        .map((key) => [key.isPaused, key.throttle?.forMs, Math.round(key.spendsPerMinute)]),
    ).toEqual([
      [false, windowMs, 16],
      [true, undefined, 18],
    ]);
    gate.excludeKeys(() => true);
    expect(gate.nextInMs('spend')).toBe(Number.POSITIVE_INFINITY);
  });

  it('is one window away, about, while all slots are held by calls in flight', () => {
    const gate = new BudgetGate(
      ['a'],
      { windowMs, requests: 3, orders: 1, transitMs: 5000 },
      new HandClock(),
    );
    gate.tryTake('spend');
    expect(gate.nextInMs('spend')).toBe(windowMs);
  });

  it('is different for a lookup, which leaves every order slot its request slot', () => {
    const clock = new HandClock();
    const gate = new BudgetGate(
      ['a'],
      { windowMs, requests: 3, orders: 2, transitMs: 5000 },
      clock,
    );
    expect(gate.nextInMs('read')).toBe(0);
    gate.settle(gate.tryTake('read') ?? '', 'read', 0);
    clock.now = 1000;
    expect(gate.nextInMs('read')).toBe(windowMs - 1000);
    expect(gate.nextInMs('spend')).toBe(0);
  });
});
