import { stepsOf } from './steps.ts';
import { onTestFinished } from 'vitest';
import { pino } from 'pino';
import {
  withoutAnswer,
  type LookupOutcome,
  type Outcome,
  type OutcomeRow,
} from '../../src/core/answers/outcome.ts';
import type { ProbeVerdict } from '../../src/core/answers/probe.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { Dispatcher } from '../../src/buying/dispatcher.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import { attemptDeps } from './attempt-deps.ts';
import { MachineClock } from './machine-clock.ts';
import type { RecheckRule } from '../../src/store/entries/rechecks.ts';
import type { SpendSettings } from '../../src/buying/spending/settings.ts';
import { line, Outbox } from './outbox.ts';

/** How a call ends, and how long it takes. */
export interface End<T> {
  readonly end: T;
  readonly tookMs: number;
}

/** The API that a virtual worker calls. Each method may be replaced at any time. */
export interface VirtualApi {
  submit: (product: string, reference?: string) => End<Outcome>;
  lookUp: (reference?: string) => End<LookupOutcome>;
  probe: () => End<ProbeVerdict>;
}

/** One call, as the API saw it. */
export interface VirtualCall {
  readonly kind: 'submit' | 'lookup' | 'probe';
  readonly product: string | null;
  readonly atMs: number;
  isOver: boolean;
}

let bought = 0;
export function delivered(): Outcome {
  bought += 1;
  const order = {
    orderNumber: `N-${bought}`,
    reference: null,
    status: 'completed',
    cost: null,
    currency: null,
  } as const;
  const answer = {
    ...order,
    statusClass: 'done',
    units: [{ code: `CODE-${bought}-7KQ2` }],
  } as const;
  return { ...withoutAnswer('accepted', true, ''), http: 200, answer };
}

export const ended = (row: OutcomeRow, http: number | null = null): Outcome => ({
  ...withoutAnswer(row, true, `the message of ${row}`),
  http,
});

/**
 * The sending part of the worker on virtual time, with a real database. By default the API delivers
 * everything in 50 ms.
 */
export class VirtualWorker {
  readonly machine = new MachineClock();
  readonly api: VirtualApi = {
    submit: () => ({ end: delivered(), tookMs: 50 }),
    lookUp: () => ({ end: { kind: 'absent' }, tookMs: 50 }),
    probe: () => ({ end: 'open', tookMs: 50 }),
  };
  readonly calls: VirtualCall[] = [];
  readonly log: Record<string, unknown>[] = [];
  readonly outbox: Outbox;
  dispatcher!: Dispatcher;
  #orders = 0;

  private constructor(outbox: Outbox) {
    this.outbox = outbox;
  }

  static async start(
    options: {
      concurrency?: number;
      maxUnknownOutcomes?: number;
      maxIdleDelayMs?: number;
      trusts?: boolean;
      rechecks?: RecheckRule;
      spending?: SpendSettings;
    } = {},
  ) {
    const outbox = await Outbox.open();
    const worker = new VirtualWorker(outbox);
    const { machine } = worker;
    outbox.store.outbox.clock = {
      wallMs: () => machine.wallMs(),
      steadyMs: () => machine.steadyMs(),
      mark: () => ({
        steadyMs: machine.steadyMs(),
        wallMs: machine.wallMs(),
        machineMs: machine.steadyMs(),
        bootId: machine.bootId,
      }),
    };
    const { concurrency = 8, maxUnknownOutcomes = 8, trusts = true, ...more } = options;
    if (trusts)
      await stepsOf(outbox.store).lookups.prove({ kind: 'gift_card', path: '/orders/{key}' });
    worker.dispatcher = worker.#dispatcher({ concurrency, maxUnknownOutcomes, ...more });
    const { dispatcher } = worker;
    onTestFinished(async () => {
      const stopped = dispatcher.stop();
      worker.machine.pass(3_600_000);
      await stopped;
      await outbox.close();
    });
    await dispatcher.start();
    return worker;
  }

  #dispatcher(options: {
    concurrency: number;
    maxUnknownOutcomes: number;
    maxIdleDelayMs?: number;
    rechecks?: RecheckRule;
    spending?: SpendSettings;
  }): Dispatcher {
    const { machine: clock, outbox, api } = this;
    const { store } = outbox;
    const deps = attemptDeps(store, {
      render: ({ variant, plan }) => ({ method: 'POST', path: '/orders', body: variant ?? plan }),
      submit: ({ body, expect }) =>
        this.#called('submit', body, api.submit(body ?? '', expect.reference ?? '')),
      lookUp: ({ key }) => this.#called('lookup', null, api.lookUp(key)),
      probe: async () => {
        const verdict = await this.#called('probe', null, api.probe());
        return { outcome: ended(verdict === 'open' ? 'not_found' : 'dropped'), verdict };
      },
    });
    const write = (text: string): void => {
      const written: Record<string, unknown> = JSON.parse(text);
      this.log.push(written);
    };
    const logger = pino({ level: 'info' }, { write });
    const limits = { windowMs: 1000, requests: 3000, orders: 1000, transitMs: 0 };
    const pauses = new Pauses({ store, clock, random: () => 0.5, retryTimeScale: 1, logger });
    const gate = new BudgetGate(['main'], limits, clock);
    const policy = { ...deps.policy, inFlightWindowMs: 120_000, placedDeadlineMs: 86_400_000 };
    return new Dispatcher(
      { ...deps, clock, logger, limits, gate, pauses, policy },
      { graceMs: 10, ...options },
    );
  }

  async #called<T>(
    kind: VirtualCall['kind'],
    product: string | null,
    { end, tookMs }: End<T>,
  ): Promise<T> {
    const call = { kind, product, atMs: this.machine.steadyMs(), isOver: false };
    this.calls.push(call);
    await this.machine.sleep(tookMs);
    call.isOver = true;
    return end;
  }

  async accept(variants: readonly string[], changes: Partial<AcceptableLine> = {}): Promise<void> {
    const lines = variants.map((variant) => {
      this.#orders += 1;
      return line({ orderId: `o${this.#orders}`, variant, ...changes });
    });
    await this.outbox.accept(lines, null, this.machine.wallMs());
  }

  count(matches: (call: VirtualCall) => boolean): number {
    return this.calls.filter(matches).length;
  }

  sent(product?: string): number {
    return this.count(
      (call) => call.kind === 'submit' && (product === undefined || call.product === product),
    );
  }

  underWay(kind: VirtualCall['kind']): number {
    return this.count((call) => call.kind === kind && !call.isOver);
  }

  logged(message: string): readonly Record<string, unknown>[] {
    return this.log.filter(({ msg }) => msg === message);
  }

  /** Lets time pass until the condition holds; returns how long that took, in ms. */
  until(isDone: () => boolean, limitMs: number, stepMs = 100): Promise<number> {
    return this.machine.passUntil(isDone, limitMs, stepMs);
  }

  pass(ms: number, stepMs = 100): Promise<number> {
    return this.until(() => false, ms, stepMs);
  }

  pauses() {
    return this.outbox.store.pauses.all();
  }

  counts() {
    return this.outbox.store.read.counts();
  }
}
