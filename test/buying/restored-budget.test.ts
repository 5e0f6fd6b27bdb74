import { expect, it } from 'vitest';
import { throttledDistanceMs } from '../../src/buying/budget/budget-window.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';

const limits = { windowMs: 60_000, requests: 60, orders: 20, transitMs: 5000 };
const clock = { nowMs: 1_000_000, steadyMs: () => clock.nowMs };

it.each([
  ['spend', 'orders', 20],
  ['read', 'requests', 60],
] as const)(
  'a throttled key keeps its distance from the last %s of the process before',
  (kind, limitName, capacity) => {
    const gate = new BudgetGate(['main'], limits, clock);
    const [firstMs, lastMs] = [clock.nowMs - 30_000, clock.nowMs - 100];
    gate.restore([
      { keyName: 'main', limitName, settledMs: firstMs },
      { keyName: 'main', limitName, settledMs: lastMs },
    ]);
    const throttled = { throttledUntilMs: clock.nowMs + 600_000, throttleLengthMs: 900_000 };
    gate.restoreBackOffs([{ keyName: 'main', blockedUntilMs: 0, ...throttled }]);
    const freeAtMs = lastMs + throttledDistanceMs(capacity, limits.windowMs);
    expect(gate.readyAtMs(kind)).toBe(freeAtMs);
    expect(gate.tryTake(kind)).toBeNull();
  },
);
