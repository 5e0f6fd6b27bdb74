import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withoutAnswer } from '../../src/core/answers/outcome.ts';
import { SteadyClock } from '../../src/ops/system-clock.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { Dispatcher } from '../../src/buying/dispatcher.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import type { WholesalePort } from '../../src/wholesale/wholesale-port.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { MachineClock } from '../support/machine-clock.ts';
import { line, Outbox } from '../support/outbox.ts';

const minute = 60_000;
const day = 86_400_000;

let outbox: Outbox;
let machine: MachineClock;
beforeEach(async () => {
  outbox = await Outbox.open();
  machine = new MachineClock();
});
afterEach(() => outbox.close());

/** The sending part of a worker on the clock of the test; every call ends as `port` says. */
async function startSending(port: Partial<WholesalePort>) {
  const { store } = outbox;
  const clock = new SteadyClock(machine);
  const deps = attemptDeps(store, port);
  const dispatcher = new Dispatcher(
    {
      ...deps,
      clock,
      gate: new BudgetGate(['main'], deps.limits, clock),
      pauses: new Pauses({
        store,
        clock,
        random: () => 0.5,
        retryTimeScale: 1,
        logger: deps.logger,
      }),
      policy: { ...deps.policy, inFlightWindowMs: 2 * minute, placedDeadlineMs: day },
    },
    { concurrency: 4, maxUnknownOutcomes: 5, graceMs: 10 },
  );
  await store.continueTime(clock);
  await dispatcher.start();
  return {
    dispatcher,
    clock,
    async stop() {
      const stopped = dispatcher.stop();
      machine.pass(1000);
      await stopped;
    },
  };
}

const accepted = { ...withoutAnswer('accepted', true, ''), http: 200 };
const steps: [string, number][] = [
  ['110 minutes back', -110 * minute],
  ['5 days back', -5 * day],
  ['10 minutes forward', 10 * minute],
  ['3 weeks forward', 21 * day],
];

describe('when the clock of the machine is set', () => {
  it.each(steps)('a line that was never sent is sent at once: %s', async (_, stepMs) => {
    await outbox.accept([line()], null, machine.wallMs());
    machine.step(stepMs);
    let sent = 0;
    const worker = await startSending({
      submit: async () => {
        sent += 1;
        return accepted;
      },
    });
    expect(await machine.passUntil(() => sent > 0, day)).toBeLessThanOrEqual(1000);
    await worker.stop();
  });

  it.each(steps)(
    'a line that came in a moment before is sent at once by the running worker: %s',
    async (_, stepMs) => {
      let sent = 0;
      const worker = await startSending({
        submit: async () => {
          sent += 1;
          return accepted;
        },
      });
      await machine.passUntil(() => false, 5000);
      await outbox.accept([line()], null, machine.wallMs());
      machine.step(stepMs);
      expect(await machine.passUntil(() => sent > 0, day)).toBeLessThanOrEqual(2000);
      await worker.stop();
    },
  );

  it.each(steps)(
    'a refused line waits for its own back-off, not longer and not shorter: %s',
    async (_, stepMs) => {
      let sent = 0;
      const outOfStock = {
        ...withoutAnswer('out_of_stock', true, 'no stock'),
        http: 409,
        code: 'out_of_stock',
      };
      const worker = await startSending({
        submit: async () => {
          sent += 1;
          return sent === 1 ? outOfStock : accepted;
        },
      });
      // Out of stock is waited for only where a deadline ends the waiting.
      await outbox.accept(
        [line({ notAfterMs: machine.wallMs() + 300 * day })],
        null,
        machine.wallMs(),
      );
      await machine.passUntil(() => outbox.store.read.counts().waiting === 1, minute);
      machine.step(stepMs);
      const tookMs = await machine.passUntil(() => sent > 1, day);
      expect(tookMs).toBeGreaterThanOrEqual(3 * minute);
      expect(tookMs).toBeLessThanOrEqual(7 * minute);
      await worker.stop();
    },
  );

  it.each(steps)('a call that is under way looks no older than it is: %s', async (_, stepMs) => {
    const noAnswer = withoutAnswer('dropped', true, 'the connection ended');
    let end = (): void => undefined;
    let lookups = 0;
    const worker = await startSending({
      lookUp: async () => {
        lookups += 1;
        await new Promise<void>((resolve) => (end = resolve));
        return { kind: 'failed', outcome: noAnswer };
      },
    });
    await outbox.accept([line()], null, machine.wallMs());
    await machine.passUntil(() => lookups === 1, 10 * minute);
    machine.step(stepMs);
    await machine.passUntil(() => false, 5000);
    end();
    await machine.passUntil(() => lookups === 2, 10 * minute);
    expect([lookups, outbox.store.read.counts()]).toMatchObject([
      2,
      { unknown: 1, needs_review: 0 },
    ]);
    end();
    await worker.stop();
  });

  it.each(steps)(
    'an order whose call is under way looks no older than it is: %s',
    async (_, stepMs) => {
      const noAnswer = withoutAnswer('dropped', true, 'the connection ended');
      let end = (): void => undefined;
      let lookups = 0;
      const worker = await startSending({
        submit: async () => {
          await new Promise<void>((resolve) => (end = resolve));
          return noAnswer;
        },
        lookUp: async () => {
          lookups += 1;
          return { kind: 'failed', outcome: noAnswer };
        },
      });
      await outbox.accept([line()], null, machine.wallMs());
      await machine.passUntil(() => outbox.store.read.counts().sending === 1, minute);
      machine.step(stepMs);
      await machine.passUntil(() => false, 5000);
      end();
      await machine.passUntil(() => lookups === 2, 20 * minute);
      expect([lookups, outbox.store.read.counts()]).toMatchObject([
        2,
        { unknown: 1, needs_review: 0 },
      ]);
      await worker.stop();
    },
  );

  it.each(steps)('a paused account is probed when it would have been: %s', async (_, stepMs) => {
    let probes = 0;
    const worker = await startSending({
      probe: async () => {
        probes += 1;
        return { outcome: accepted, verdict: 'open' };
      },
    });
    const { pauses } = outbox.store;
    const nowMs = machine.wallMs();
    const pause = {
      scope: 'account',
      reason: 'api_disabled',
      message: 'maintenance',
      openedBy: 'worker',
    };
    const probeAtMs = worker.clock.steadyMs() + 4 * minute;
    await pauses.open({ ...pause, probeAtMs, nowMs });
    await worker.dispatcher.pausesChanged();
    machine.step(stepMs);
    const tookMs = await machine.passUntil(() => probes > 0, day);
    expect(tookMs).toBeGreaterThanOrEqual(3 * minute);
    expect(tookMs).toBeLessThanOrEqual(5 * minute);
    await worker.stop();
  });
});
