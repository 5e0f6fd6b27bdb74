import { expect, it } from 'vitest';
import { Breaker } from '../../src/ops/breaker.ts';

function breakerAt() {
  const time = { nowMs: 1_000_000 };
  const clock = { steadyMs: () => time.nowMs };
  const breaker = new Breaker({
    clock,
    random: () => 0,
    opensAfter: 3,
    firstMs: 1000,
    mostMs: 3000,
  });
  return { breaker, time };
}

it('opens after failures of different causes in a row, and not where one works between', () => {
  const { breaker } = breakerAt();
  expect([
    breaker.fails({ cause: 'a' }),
    breaker.fails({ cause: 'a' }),
    breaker.fails({ cause: 'b' }),
  ]).toEqual([false, false, false]);
  breaker.works();
  expect([breaker.fails(), breaker.fails({ cause: null }), breaker.fails(), breaker.state]).toEqual(
    [false, false, false, 'closed'],
  );
  expect([breaker.fails(), breaker.state, breaker.waitMs]).toEqual([true, 'open', 800]);
});

it('is half-open after its wait, which doubles with each trial that fails up to the longest, and closes when one works', () => {
  const { breaker, time } = breakerAt();
  for (const _ of [1, 2, 3]) breaker.fails();
  const waits = [1, 2, 3].map(() => {
    time.nowMs += breaker.waitMs;
    expect(breaker.state).toBe('half_open');
    // A call that began before it opened fails as well: that is no trial.
    breaker.fails({ isTrial: false });
    expect(breaker.state).toBe('half_open');
    breaker.fails();
    return breaker.waitMs;
  });
  expect(waits).toEqual([1600, 2400, 2400]);
  expect(breaker.forMs).toBe(800 + 1600 + 2400);
  breaker.works();
  expect([breaker.state, breaker.forMs, breaker.waitMs, breaker.trials]).toEqual([
    'closed',
    null,
    0,
    0,
  ]);
});

it('waits as long as it is asked to, whatever was called before works', () => {
  const { breaker, time } = breakerAt();
  expect([breaker.waitFor(5000), breaker.waitFor(4000)]).toEqual([true, false]);
  breaker.works(false);
  expect([breaker.state, breaker.waitMs, breaker.forMs]).toEqual(['open', 5000, null]);
  time.nowMs += 5000;
  expect(breaker.state).toBe('half_open');
  breaker.works();
  expect(breaker.state).toBe('closed');
});

it('continues as an earlier run left it, but never waits for longer than the longest back-off', () => {
  const { breaker, time } = breakerAt();
  breaker.restore(60_000, 1e9, 5);
  expect([breaker.forMs, breaker.waitMs, breaker.trials]).toEqual([60_000, 3000, 5]);
  expect([breaker.remind(), breaker.remind()]).toEqual([true, false]);
  time.nowMs += 300_000;
  expect(breaker.remind()).toBe(true);
});
