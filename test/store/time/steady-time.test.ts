import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MachineClock } from '../../../src/core/clock.ts';
import { SteadyClock } from '../../../src/ops/system-clock.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';
import { stepsOf } from '../../support/steps.ts';

const minute = 60_000;
const hour = 3_600_000;
const startMs = Date.UTC(2026, 10, 1);

/** A machine that the test starts, stops and sets. */
class Machine implements MachineClock {
  bootId: string | undefined = 'first run';
  upMs = 5 * hour;
  nowMs = startMs;

  wallMs(): number {
    return this.nowMs;
  }

  steadyMs(): number {
    return this.upMs;
  }

  async sleep(): Promise<void> {
    throw new Error('nothing sleeps here');
  }

  pass(ms: number): void {
    this.upMs += ms;
    this.nowMs += ms;
  }

  restart(offMs: number, bootId: string | undefined = 'next run'): void {
    this.nowMs += offMs;
    this.upMs = 1000;
    this.bootId = bootId;
  }
}

let outbox: Outbox;
let machine: Machine;
beforeEach(async () => {
  outbox = await Outbox.open();
  machine = new Machine();
});
afterEach(() => outbox.close());

async function start(): Promise<SteadyClock> {
  await outbox.reopen();
  const clock = new SteadyClock(machine);
  await outbox.store.continueTime(clock);
  return clock;
}

describe('steady time', () => {
  it('counts the time in which no worker ran, while the machine does', async () => {
    const before = await start();
    expect(before.steadyMs()).toBe(0);
    machine.pass(2 * hour);
    expect(before.steadyMs()).toBe(2 * hour);
    machine.pass(hour);
    expect((await start()).steadyMs()).toBe(3 * hour);
  });

  it('does not run while the machine is off, and does not go back', async () => {
    await start();
    machine.pass(hour);
    await outbox.store.writeTime();
    machine.restart(10 * hour);
    const clock = await start();
    expect(clock.steadyMs()).toBe(hour);
    machine.pass(minute);
    expect((await start()).steadyMs()).toBe(hour + minute);
  });

  it('continues from the last mark where runs of the machine have no name', async () => {
    machine.bootId = undefined;
    await start();
    machine.pass(hour);
    await outbox.store.writeTime();
    machine.pass(minute);
    expect((await start()).steadyMs()).toBe(hour);
  });

  it.each([5 * 24 * hour, -5 * 24 * hour])(
    'does not follow a wall clock that is set by %d ms',
    async (stepMs) => {
      const clock = await start();
      machine.pass(minute);
      machine.nowMs += stepMs;
      expect(clock.steadyMs()).toBe(minute);
      machine.pass(minute);
      expect((await start()).steadyMs()).toBe(2 * minute);
    },
  );

  it('is on disk with each order that comes in, and with each call that begins or ends', async () => {
    const clock = await start();
    const steps = stepsOf(outbox.store);
    const times = (): unknown[] =>
      outbox.rows(`SELECT (SELECT steady_ms FROM steady_time) AS mark,
        max(due_steady, coalesce(first_sent_steady, 0)) AS past FROM entries`);
    machine.pass(minute);
    await outbox.accept([line()], null, machine.wallMs());
    expect(times()).toEqual([{ mark: minute, past: minute }]);
    machine.pass(minute);
    const attempt = await outbox.opened({ nowMs: machine.wallMs(), steadyMs: clock.steadyMs() });
    expect(times()).toEqual([{ mark: 2 * minute, past: 2 * minute }]);
    machine.pass(minute);
    const end = { nowMs: machine.wallMs(), steadyMs: clock.steadyMs() };
    await steps.closeAttempt(close(attempt, { ...nothing, dueAtMs: 0 }, end));
    expect(times()).toEqual([{ mark: 3 * minute, past: 2 * minute }]);
  });

  it('lets a reference age while the machine is off, and no in-flight window end', async () => {
    const clock = await start();
    const end = { nowMs: machine.wallMs(), steadyMs: clock.steadyMs() };
    await outbox.accept([line()], null, machine.wallMs());
    const attempt = await outbox.opened(end);
    await stepsOf(outbox.store).closeAttempt(close(attempt, nothing, end));
    machine.pass(minute);
    await outbox.store.writeTime();
    machine.restart(10 * hour);
    const { steadyMs } = (await start()).mark();
    expect(steadyMs).toBe(minute);
    expect(
      outbox.rows(
        'SELECT in_flight_window_end_steady AS end, first_sent_steady AS sent FROM entries',
      ),
    ).toEqual([{ end: 120_000, sent: -10 * hour }]);
  });

  it('is shown as the wall clock shows it now', async () => {
    await start();
    await outbox.accept([line()], null, machine.wallMs());
    machine.pass(minute);
    machine.nowMs -= 3 * hour;
    await outbox.store.writeTime();
    const shown = outbox.rows('SELECT next_attempt_at FROM outbox')[0]?.['next_attempt_at'];
    expect(shown).toBe(new Date(startMs - 3 * hour).toISOString());
  });
});
