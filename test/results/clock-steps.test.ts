import { stepsOf } from '../support/steps.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SteadyClock } from '../../src/ops/system-clock.ts';
import { DeliveryLoop, type Sink } from '../../src/results/delivery-loop.ts';
import { MachineClock } from '../support/machine-clock.ts';
import { close, fulfilled, line, Outbox } from '../support/outbox.ts';

const logger = pino({ level: 'silent' });
const minute = 60_000;
const day = 86_400_000;

let outbox: Outbox;
let machine: MachineClock;
beforeEach(async () => {
  outbox = await Outbox.open();
  machine = new MachineClock();
});
afterEach(() => outbox.close());

/** The write-back of one run of the worker, to a receiver that fails as often as the test says. */
class Run {
  readonly #machine: MachineClock;
  readonly #loop: DeliveryLoop;
  readonly delivered: string[] = [];
  failuresLeft: number;

  private constructor(clock: SteadyClock, delays: { failures: number; retryDelayMs: number }) {
    this.#machine = machine;
    this.failuresLeft = delays.failures;
    const sink: Sink = {
      name: 'folder',
      retryDelayMs: () => delays.retryDelayMs,
      deliver: async ({ order_id: orderId }) => {
        if (this.failuresLeft > 0) {
          this.failuresLeft -= 1;
          throw new Error('the receiver is not there');
        }
        this.delivered.push(orderId);
      },
    };
    const { store } = outbox;
    this.#loop = new DeliveryLoop({ store, clock, random: () => 0.5, logger, sink });
  }

  static async start(delays = { failures: 0, retryDelayMs: 5 * minute }): Promise<Run> {
    const clock = new SteadyClock(machine);
    await outbox.store.continueTime(clock);
    const run = new Run(clock, delays);
    run.#loop.start();
    return run;
  }

  /** Lets time pass until so many results are delivered; returns how long that took. */
  passUntilDelivered(count: number): Promise<number> {
    return this.#machine.passUntil(() => this.delivered.length >= count, 30 * day);
  }

  passUntilFailed(): Promise<number> {
    return this.#machine.passUntil(() => this.failuresLeft === 0, day);
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }
}

async function settle(orderId: string): Promise<void> {
  const nowMs = machine.wallMs();
  await outbox.accept([line({ orderId })], null, nowMs);
  const attempt = await outbox.opened({ nowMs });
  await stepsOf(outbox.store).closeAttempt(close(attempt, fulfilled, { nowMs }));
}

describe('a result', () => {
  it('that was settled with the clock five days ahead is delivered at once after it was set right', async () => {
    const ahead = await Run.start();
    await ahead.stop();
    machine.step(5 * day);
    const running = await Run.start();
    await running.stop();
    await settle('1001');
    machine.step(-5 * day);
    const right = await Run.start();
    expect(await right.passUntilDelivered(1)).toBeLessThanOrEqual(1000);
    await right.stop();
  });

  it.each([
    ['5 days back', -5 * day],
    ['110 minutes back', -110 * minute],
    ['3 weeks back', -21 * day],
    ['5 days forward', 5 * day],
    ['10 minutes forward', 10 * minute],
  ])(
    'that failed is retried after its own back-off, however the clock is set meanwhile: %s',
    async (_, stepMs) => {
      const run = await Run.start({ failures: 1, retryDelayMs: 15 * minute });
      await settle('1001');
      await run.passUntilFailed();
      machine.step(stepMs);
      const tookMs = await run.passUntilDelivered(1);
      expect(tookMs).toBeGreaterThanOrEqual(14 * minute);
      expect(tookMs).toBeLessThanOrEqual(16 * minute);
      await run.stop();
    },
  );

  it('that failed is retried after its own back-off when the worker stops in the moment in which the clock is set forward', async () => {
    const run = await Run.start({ failures: 1, retryDelayMs: 15 * minute });
    await settle('1001');
    await run.passUntilFailed();
    machine.step(5 * day);
    await run.stop();
    const next = await Run.start();
    const tookMs = await next.passUntilDelivered(1);
    expect(tookMs).toBeGreaterThanOrEqual(14 * minute);
    expect(tookMs).toBeLessThanOrEqual(16 * minute);
    await next.stop();
  });

  it('that failed before the clock was set back between two runs is due within its own back-off', async () => {
    const before = await Run.start({ failures: 1, retryDelayMs: 15 * minute });
    await settle('1001');
    await before.passUntilFailed();
    await before.stop();
    machine.step(-5 * day);
    const after = await Run.start();
    expect(await after.passUntilDelivered(1)).toBeLessThanOrEqual(15 * minute);
    await after.stop();
  });

  it('is not due with all the others because the clock was set forward', async () => {
    const run = await Run.start({ failures: 3, retryDelayMs: 30 * minute });
    for (const orderId of ['1', '2', '3']) await settle(orderId);
    await run.passUntilFailed();
    machine.step(30 * day);
    await machine.passUntil(() => false, 20 * minute);
    expect(run.delivered).toEqual([]);
    expect(await run.passUntilDelivered(3)).toBeLessThanOrEqual(11 * minute);
    await run.stop();
  });
});
