import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BudgetWindow } from '../../../src/buying/budget/budget-window.ts';

describe('a slot of a limit', () => {
  it('is free again one window after the answer, not after the start', () => {
    const window = new BudgetWindow(2, 1000);
    window.take(0);
    window.take(0);
    expect(window.free(0)).toBe(0);
    expect(window.freeAtMs(0)).toBe(Number.POSITIVE_INFINITY);
    window.settle(300);
    expect(window.freeAtMs(300)).toBe(1300);
    expect(window.free(1299)).toBe(0);
    expect(window.free(1300)).toBe(1);
  });

  it('is free at once when the call never left', () => {
    const window = new BudgetWindow(1, 1000);
    window.take(0);
    window.giveBack();
    expect(window.free(0)).toBe(1);
  });

  it('stays held after a restart, also when more slots are held than the limit has', () => {
    const window = new BudgetWindow(2, 1000);
    for (const freeAt of [900, 500, 700]) window.restore(freeAt);
    expect(window.free(0)).toBe(0);
    expect(window.freeAtMs(0)).toBe(700);
    expect(window.free(700)).toBe(1);
    expect(window.freeAtMs(0, 2)).toBe(900);
  });

  it('is not taken when none is free', () => {
    const window = new BudgetWindow(1, 1000);
    window.take(0);
    expect(() => window.take(0)).toThrow('a slot is taken only when one is free');
  });

  it('never lets the server count more calls than the limit in any window, whatever the delays of the network are', () => {
    const call = fc.record({ think: fc.nat(400), up: fc.nat(900), down: fc.nat(900) });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(call, { minLength: 1, maxLength: 80 }),
        (capacity, calls) => {
          const windowMs = 1000;
          const window = new BudgetWindow(capacity, windowMs);
          const arrivals: number[] = [];
          const open: number[] = [];
          let now = 0;
          const settleUntil = (time: number): void => {
            open.sort((a, b) => a - b);
            while (open[0] !== undefined && open[0] <= time) window.settle(open.shift() ?? 0);
          };
          for (const { think, up, down } of calls) {
            now += think;
            settleUntil(now);
            // Wait for the next answer or the next free slot, as the gate does.
            for (let waits = 0; window.free(now) === 0; waits += 1) {
              expect(waits).toBeLessThanOrEqual(calls.length * 2);
              const next = Math.min(window.freeAtMs(now), open[0] ?? Number.POSITIVE_INFINITY);
              expect(next).toBeGreaterThan(now);
              now = next;
              settleUntil(now);
            }
            window.take(now);
            arrivals.push(now + up);
            open.push(now + up + down);
          }
          arrivals.sort((a, b) => a - b);
          for (const [index, at] of arrivals.entries()) {
            const inSpan = arrivals.slice(index).filter((other) => other < at + windowMs).length;
            expect(inSpan).toBeLessThanOrEqual(capacity);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
