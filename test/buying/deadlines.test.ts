import { stepsOf } from '../support/steps.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withoutAnswer } from '../../src/core/answers/outcome.ts';
import { SteadyClock } from '../../src/ops/system-clock.ts';
import { ApiClock, apiClockCheck } from '../../src/buying/proofs/api-clock.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { Dispatcher } from '../../src/buying/dispatcher.ts';
import { LookupCheck } from '../../src/buying/proofs/lookup-check.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import type { WholesalePort } from '../../src/wholesale/wholesale-port.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { MachineClock } from '../support/machine-clock.ts';
import { line, Outbox } from '../support/outbox.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const logger = pino({ level: 'silent' });

const accepted = { ...withoutAnswer('accepted', true, ''), http: 200 };

/** A worker, and an API whose clock is right; that of the machine is ahead by `aheadMs`. */
class World {
  readonly machine: MachineClock;
  readonly outbox: Outbox;
  sent = 0;
  probes = 0;
  /** Whether the answers of the API have a date. */
  isDated = true;
  #aheadMs: number;
  #end: () => Promise<void> = async () => undefined;
  #answered: () => void = () => undefined;

  constructor(outbox: Outbox, aheadMs: number) {
    this.outbox = outbox;
    this.machine = new MachineClock();
    this.machine.step(aheadMs);
    this.#aheadMs = aheadMs;
  }

  /** The true time. */
  get nowMs(): number {
    return this.machine.wallMs() - this.#aheadMs;
  }

  /** Sets the clock of the machine. */
  setAhead(aheadMs: number): void {
    this.machine.step(aheadMs - this.#aheadMs);
    this.#aheadMs = aheadMs;
  }

  /** The API answers some call of the worker. */
  answer(times = 1): void {
    for (let count = 0; count < times; count += 1) this.#answered();
  }

  async start(changes: Partial<WholesalePort> = {}): Promise<void> {
    const { machine, outbox } = this;
    const { store } = outbox;
    const clock = new SteadyClock(machine);
    const apiClock = new ApiClock(clock);
    this.#answered = () => {
      const atMs = machine.steadyMs();
      const dateMs = this.isDated ? Math.floor(this.nowMs / 1000) * 1000 : null;
      apiClock.answerTimes.onAnswer({ sentMs: atMs, receivedMs: atMs, dateMs });
    };
    const port: Partial<WholesalePort> = {
      submit: async () => {
        this.sent += 1;
        return accepted;
      },
      probe: async () => {
        this.probes += 1;
        this.answer();
        return { outcome: accepted, verdict: 'open' };
      },
      ...changes,
    };
    const deps = {
      ...attemptDeps(store, port),
      clock,
      apiClock,
      lookups: new LookupCheck(stepsOf(store)),
      pauses: new Pauses({ store, clock, random: () => 0.5, retryTimeScale: 1, logger }),
    };
    const gate = new BudgetGate(['main'], deps.limits, clock);
    const submission = {
      ...deps,
      gate,
      policy: { ...deps.policy, inFlightWindowMs: minute, placedDeadlineMs: day },
    };
    const dispatcher = new Dispatcher(submission, {
      concurrency: 4,
      maxUnknownOutcomes: 5,
      graceMs: 10,
    });
    const check = apiClockCheck(submission);
    await store.continueTime(clock);
    check.start();
    await dispatcher.start();
    this.#end = async () => {
      await check.stop();
      const stopped = dispatcher.stop();
      machine.pass(1000);
      await stopped;
    };
  }

  async accept(notAfterMs: number): Promise<void> {
    await this.outbox.accept([line({ notAfterMs })], null, this.machine.wallMs());
  }

  async passes(ms: number): Promise<void> {
    await this.machine.passUntil(() => false, ms, Math.max(1000, ms / 400));
  }

  get state(): string {
    const counts = Object.entries(this.outbox.store.read.counts());
    return counts.find(([, count]) => count > 0)?.[0] ?? 'none';
  }

  stop(): Promise<void> {
    return this.#end();
  }
}

let outbox: Outbox;
let world: World;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(async () => {
  await world.stop();
  await outbox.close();
});

describe('a deadline', () => {
  it('that has passed by a clock five days ahead only ends nothing; once the clock is right, the line is bought', async () => {
    world = new World(outbox, 5 * day);
    await world.start();
    world.answer(3);
    await world.accept(world.nowMs + 3 * hour);
    await world.passes(hour);
    expect([world.state, world.sent]).toEqual(['pending', 0]);
    world.setAhead(0);
    await world.passes(10_000);
    expect(world.sent).toBe(1);
  });

  it('that has passed by both clocks ends the line', async () => {
    world = new World(outbox, 5 * day);
    await world.start();
    world.answer(3);
    await world.accept(world.nowMs - hour);
    await world.passes(10_000);
    expect([world.state, world.sent]).toEqual(['expired', 0]);
  });

  it('that has passed by the clock of the API is not missed by a clock that is five days behind', async () => {
    world = new World(outbox, -5 * day);
    await world.start();
    world.answer(3);
    await world.accept(world.nowMs - hour);
    await world.passes(minute);
    expect([world.state, world.sent]).toEqual(['pending', 0]);
    world.setAhead(0);
    await world.passes(10_000);
    expect([world.state, world.sent]).toEqual(['expired', 0]);
  });

  it('waits for one answer of the API after the start, which is asked for', async () => {
    world = new World(outbox, 0);
    await world.start();
    await world.accept(world.nowMs - hour);
    await world.passes(5000);
    expect([world.state, world.probes]).toEqual(['expired', 1]);
  });

  it('ends nothing after the start on the word of a clock that is wrong', async () => {
    world = new World(outbox, 5 * day);
    await world.start();
    await world.accept(world.nowMs + 4 * day);
    await world.passes(hour);
    expect([world.state, world.sent]).toEqual(['pending', 0]);
    expect(world.probes).toBeGreaterThanOrEqual(3);
    expect(world.probes).toBeLessThanOrEqual(20);
  });

  it('ends nothing because the clock of a running worker was set forward', async () => {
    world = new World(outbox, 0);
    await world.start();
    world.answer(3);
    const pause = {
      scope: 'variant:steam-10',
      reason: 'paused',
      message: '',
      openedBy: 'test',
      probeAtMs: null,
    };
    await outbox.store.pauses.open({ ...pause, nowMs: world.nowMs });
    await world.accept(world.nowMs + hour);
    world.setAhead(5 * day);
    await world.passes(10 * minute);
    expect([world.state, world.sent]).toEqual(['pending', 0]);
    expect(world.probes).toBeGreaterThanOrEqual(3);
  });

  it('is judged by the clock of the machine where the API has shown no time for ten minutes', async () => {
    world = new World(outbox, 0);
    world.isDated = false;
    const silent = withoutAnswer('unreachable', false, 'nobody is there');
    await world.start({ probe: async () => ({ outcome: silent, verdict: 'closed' }) });
    await world.accept(world.nowMs - hour);
    await world.passes(9 * minute);
    expect(world.state).toBe('pending');
    await world.passes(2 * minute);
    expect(world.state).toBe('expired');
  });

  it('of a line of unknown outcome is not decided, and nothing sent again, while the clocks differ', async () => {
    world = new World(outbox, 5 * day);
    let lookups = 0;
    await stepsOf(outbox.store).lookups.prove({ kind: 'gift_card', path: '/orders/{key}' });
    await world.start({
      submit: async () => {
        world.sent += 1;
        return { ...withoutAnswer('dropped', true, 'the connection ended') };
      },
      lookUp: async () => {
        lookups += 1;
        return { kind: 'absent' };
      },
    });
    world.answer(3);
    await world.accept(world.machine.wallMs() + 2000);
    await world.machine.passUntil(() => world.sent > 0, minute);
    await world.passes(hour);
    expect([world.state, world.sent]).toEqual(['unknown', 1]);
    expect(lookups).toBeGreaterThan(10);
    expect(lookups).toBeLessThan(80);
    world.setAhead(0);
    await world.passes(10 * minute);
    expect(world.sent).toBeGreaterThan(1);
  });
});
