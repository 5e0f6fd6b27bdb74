import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BudgetWindow } from '../../../src/core/budget/budget-window.ts';
import {
  callsAhead,
  callStartsInMs,
  drainsInMs,
  forecast,
  spendStartsInMs,
  type KeyFacts,
} from '../../../src/core/budget/queue-forecast.ts';
import { Turns, type Queue } from '../../../src/store/intake/lanes.ts';

const orders = { capacity: 20, windowMs: 60_000, freeInMs: [] };
const key = (facts: Partial<KeyFacts> = {}): KeyFacts => ({
  limits: [orders],
  blockedForMs: 0,
  pacing: null,
  ...facts,
});

describe('when a call starts', () => {
  it.each([
    { name: 'the first of an unused budget', n: 0, freeInMs: [], inMs: 0 },
    { name: 'the last of an unused budget', n: 19, freeInMs: [], inMs: 0 },
    { name: 'the first after it', n: 20, freeInMs: [], inMs: 60_000 },
    { name: 'far down the backlog', n: 10_000, freeInMs: [], inMs: 500 * 60_000 },
    { name: 'one slot held', n: 19, freeInMs: [4000], inMs: 4000 },
    {
      name: 'all held, the first back',
      n: 0,
      freeInMs: Array.from({ length: 20 }, (_, i) => 1000 * (20 - i)),
      inMs: 1000,
    },
    {
      name: 'all held, the next round',
      n: 21,
      freeInMs: Array.from({ length: 20 }, (_, i) => 1000 * (i + 1)),
      inMs: 62_000,
    },
    { name: 'a slot that should be back already', n: 19, freeInMs: [-5], inMs: 0 },
    { name: 'more held than there are now', n: 0, freeInMs: Array.from({ length: 22 }, (_, i) => i + 1), inMs: 3 },
  ])('$name', ({ n, freeInMs, inMs }) => {
    expect(callStartsInMs({ ...orders, freeInMs }, n)).toBe(inMs);
  });

  it('needs a slot of every limit', () => {
    const requests = { capacity: 60, windowMs: 60_000, freeInMs: Array.from({ length: 60 }, () => 9000) };
    expect(spendStartsInMs([key({ limits: [orders, requests] })], 0)).toBe(9000);
    expect(drainsInMs([key({ limits: [orders, requests] })], 0)).toBeNull();
    expect(drainsInMs([key()], 21)).toBe(60_000);
    expect(forecast({ keys: [key()], ahead: 3, dueInMs: 70_000 })).toEqual({ ahead: 3, inMs: 70_000 });
  });

  it('is taken from whichever key is free first, and never without a key', () => {
    const used = key({ limits: [{ ...orders, freeInMs: Array.from({ length: 20 }, () => 5000) }] });
    expect(spendStartsInMs([], 0)).toBe(Number.POSITIVE_INFINITY);
    expect(spendStartsInMs([used, key()], 19)).toBe(0);
    expect(spendStartsInMs([used, key()], 20)).toBe(5000);
    expect(spendStartsInMs([used, key()], 40)).toBe(60_000);
    expect(
      spendStartsInMs(
        Array.from({ length: 5 }, () => key()),
        100,
      ),
    ).toBe(60_000);
    const blocked = key({ blockedForMs: 90_000 });
    expect(spendStartsInMs([blocked], 0)).toBe(90_000);
    expect(spendStartsInMs([blocked], 20)).toBe(150_000);
    expect(spendStartsInMs([blocked, key()], 39)).toBe(60_000);
  });

  it('keeps its distance from the one before while calls are spread out, and then follows the slots alone', () => {
    const paced = key({ pacing: { forMs: 10_000, distanceMs: 3000 } });
    expect([0, 1, 3, 4, 19, 20].map((n) => spendStartsInMs([paced], n))).toEqual([
      0, 3000, 9000, 10_000, 10_000, 60_000,
    ]);
    const both = key({ blockedForMs: 4000, pacing: { forMs: 10_000, distanceMs: 3000 } });
    expect([0, 1, 2, 3].map((n) => spendStartsInMs([both], n))).toEqual([4000, 7000, 10_000, 10_000]);
  });

  it('is what counting one call after the other would say, with any keys', () => {
    const someKey = fc.record({
      capacity: fc.integer({ min: 1, max: 4 }),
      freeInMs: fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 4 }),
      blockedForMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 3000 })),
    });
    fc.assert(
      fc.property(fc.array(someKey, { minLength: 1, maxLength: 5 }), fc.integer({ min: 0, max: 40 }), (drawn, n) => {
        const windowMs = 1000;
        const budgets = drawn.map(({ capacity, freeInMs, blockedForMs }) => {
          const budget = new BudgetWindow(capacity, windowMs);
          for (const ms of freeInMs) budget.restore(ms);
          return { budget, blockedForMs };
        });
        let now = 0;
        for (let call = 0; ; call += 1) {
          const at = ({ budget, blockedForMs }: (typeof budgets)[number]) =>
            Math.max(blockedForMs, budget.freeAtMs(now));
          const first = budgets.toSorted((a, b) => at(a) - at(b))[0];
          if (first === undefined) throw new Error('there is a key');
          now = Math.max(now, at(first));
          if (call === n) break;
          first.budget.take(now);
          first.budget.settle(now);
        }
        const keys = drawn.map(({ capacity, freeInMs, blockedForMs }) =>
          key({ limits: [{ capacity, windowMs, freeInMs }], blockedForMs }),
        );
        expect(spendStartsInMs(keys, n)).toBe(now);
      }),
    );
  });

  it('is what the budget itself would say, whatever was used before', () => {
    const used = fc.array(fc.integer({ min: 1, max: 1000 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), used, fc.integer({ min: 0, max: 60 }), (capacity, freeInMs, n) => {
        const windowMs = 1000;
        const budget = new BudgetWindow(capacity, windowMs);
        for (const ms of freeInMs) budget.restore(ms);
        let now = 0;
        for (let call = 0; ; call += 1) {
          now = budget.freeAtMs(now);
          if (call === n) break;
          budget.take(now);
          budget.settle(now);
        }
        expect(callStartsInMs({ capacity, windowMs, freeInMs }, n)).toBe(now);
      }),
    );
  });
});

describe('how many calls come before an entry', () => {
  it('a backlog of one shop delays the single order of another by one call', () => {
    const lanes = [
      { source: 'big', name: 'pending big|USD', due: 10_000 },
      { source: 'small', name: 'pending small|USD', due: 1 },
    ];
    expect(callsAhead(lanes, { source: 'small', name: 'pending small|USD', before: 0 })).toBe(1);
    expect(callsAhead(lanes, { source: 'big', name: 'pending big|USD', before: 9999 })).toBe(10_000);
  });

  it('is never told too low, whoever was served before', () => {
    const lane = fc.record({
      source: fc.integer({ min: 0, max: 3 }),
      lane: fc.integer({ min: 0, max: 2 }),
      due: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(
        fc.array(lane, { minLength: 1, maxLength: 6 }),
        fc.nat(),
        fc.nat(),
        fc.nat({ max: 20 }),
        (drawn, pick, depth, served) => {
          const unique = [...new Map(drawn.map((each) => [`s${each.source}|L${each.lane}`, each])).entries()];
          const lanes = unique.map(([name, each]) => ({ source: `s${each.source}`, name, due: each.due }));
          const own = lanes[pick % lanes.length];
          if (own === undefined) return;
          const before = depth % own.due;
          const queues = lanes.map((each): Queue => ({ state: 'pending', lane: each.name }));
          const turns = new Turns();
          // Whatever was served before this moment.
          for (let i = 0; i < served; i += 1)
            turns.served(turns.order(queues, [])[(i * 7) % queues.length] ?? { state: 'pending', lane: 's0|x' });
          const left = new Map(lanes.map((each) => [each.name, each.due]));
          let calls = 0;
          for (let mine = 0; ; calls += 1) {
            const next = turns.order(queues, []).find((each) => (left.get(each.lane) ?? 0) > 0);
            if (next === undefined) throw new Error('it is served in the end');
            turns.served(next);
            left.set(next.lane, (left.get(next.lane) ?? 0) - 1);
            if (next.lane !== own.name) continue;
            if (mine === before) break;
            mine += 1;
          }
          expect(calls).toBeLessThanOrEqual(callsAhead(lanes, { ...own, before }));
        },
      ),
    );
  });
});
