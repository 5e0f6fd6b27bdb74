import { stepsOf } from './steps.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { EntryState } from '../../src/core/entry/states.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import { usualTries } from '../../src/buying/decision/settlement.ts';
import { SystemClock, systemRandom } from '../../src/ops/system-clock.ts';
import { createSandbox, type Sandbox } from '../../sandbox/create-sandbox.ts';
import type { SandboxConfig } from '../../sandbox/settings/config.ts';
import { openStore } from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import { AccountCheck } from '../../src/buying/proofs/account-check.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import type { BudgetLimits } from '../../src/buying/decision/settings.ts';
import { Dispatcher } from '../../src/buying/dispatcher.ts';
import { LookupCheck } from '../../src/buying/proofs/lookup-check.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import { createWholesaleClient } from '../../src/wholesale/client.ts';
import type { WireOverrides } from '../../src/wholesale/connector/wire.ts';
import { writeNewDatabase } from './new-database.ts';
import { wrappedStore } from './wrapped-store.ts';

export interface SubmissionOptions {
  readonly sandbox?: SandboxConfig;
  readonly limits?: Partial<BudgetLimits>;
  readonly retryTimeScale?: number;
  readonly inFlightWindowMs?: number;
  readonly maxUnknownOutcomes?: number;
  readonly concurrency?: number;
  readonly minFreeBytes?: number;
  /** Comes between the worker and its store. */
  readonly wrap?: (store: Store) => Store;
  readonly keys?: Readonly<Record<string, string>>;
  readonly wire?: WireOverrides;
  /** A lookup has found a gift card order before, so that "not found" proves an absence. */
  readonly lookupsProven?: boolean;
  readonly timeouts?: { connectMs?: number; responseMs?: number; totalMs?: number };
}

/** The sending part of the worker, with a real database and a real sandbox behind a real socket. */
export interface Submission {
  readonly sandbox: Sandbox;
  readonly store: Store;
  readonly databasePath: string;
  readonly dispatcher: Dispatcher;
  accept(lines: readonly Partial<AcceptableLine>[]): Promise<readonly string[]>;
  /** Resolves when every entry is final or needs review. */
  settled(): Promise<void>;
  /**
   * Asks at first, and after each step that the worker takes in its store, until the answer is yes.
   */
  until(isDone: () => boolean | Promise<boolean>): Promise<void>;
  counts(): Readonly<Record<EntryState, number>>;
  /** Resolves with the log line of that message, once it is written. */
  logged(message: string): Promise<string>;
  /** Another set of keys, as a reload brings it. */
  useKeys(keys: Readonly<Record<string, string>>): Promise<void>;
  /** Stops the worker and starts another one on the same files. */
  restart(wire?: WireOverrides): Promise<void>;
  /** Stops the worker, deletes its outbox and starts another one, which may know of the loss. */
  loseOutbox(options: { looksFirst: boolean }): Promise<void>;
  close(): Promise<void>;
}

const moving: readonly EntryState[] = ['pending', 'sending', 'waiting', 'unknown', 'placed'];

export async function startSubmission(options: SubmissionOptions = {}): Promise<Submission> {
  const folder = mkdtempSync(join(tmpdir(), 'order-sync-submit-'));
  const sandbox = await createSandbox({
    database: join(folder, 'sandbox.db'),
    config: { limits: { enabled: false }, ...options.sandbox },
  });
  const databasePath = join(folder, 'order-sync.db');
  writeNewDatabase(databasePath);
  const clock = new SystemClock();
  let keys: Readonly<Record<string, string>> = options.keys ?? { main: 'sandbox-key-main' };
  const limits: BudgetLimits = {
    windowMs: 50,
    requests: 6000,
    orders: 2000,
    transitMs: 100,
    ...options.limits,
  };
  const logLines: string[] = [];
  let onLine: () => void = () => undefined;
  const logger = pino(
    { level: 'warn' },
    {
      write: (line: string) => {
        logLines.push(line);
        onLine();
      },
    },
  );
  let nextStep = Promise.withResolvers<void>();
  const onStep = (): void => {
    nextStep.resolve();
    nextStep = Promise.withResolvers();
  };

  let wire = options.wire ?? {};

  async function startWorker(looksFirst = false, isFirst = false) {
    const opened = openStore({
      path: databasePath,
      init: 'if-missing',
      namespace: { instance: 'test', prefix: 'os', secret: Buffer.alloc(32, 5) },
      upstream: 'sandbox',
      sinks: [{ name: 'folder', sources: null }],
    });
    // Only the steps of the worker wake `until`: its question may be a step, too.
    const store = options.wrap?.(opened) ?? opened;
    const observed = wrappedStore(store, (_name, step) => (...values) => {
      const result = step(...values);
      if (result instanceof Promise) return result.finally(onStep);
      onStep();
      return result;
    });
    if (looksFirst) {
      const untilMs = clock.wallMs() + 86_400_000;
      await store.operator.beginAfterLoss({
        actor: 'test',
        reason: 'the disk was lost',
        nowMs: clock.wallMs(),
        untilMs,
      });
    }
    const wholesale = createWholesaleClient({
      baseUrl: sandbox.url,
      clock,
      timeouts: options.timeouts ?? {},
      wire,
    });
    const lookups = new LookupCheck(stepsOf(observed));
    if (isFirst && options.lookupsProven === true)
      await lookups.recordFound('gift_card_order', wholesale);
    const retryTimeScale = options.retryTimeScale ?? 0.002;
    const gate = new BudgetGate(Object.keys(keys), limits, clock);
    const dispatcher = new Dispatcher(
      {
        store: observed,
        steps: stepsOf(observed),
        wholesale,
        gate,
        lookups,
        accounts: new AccountCheck(),
        pauses: new Pauses({
          store: observed,
          clock,
          random: systemRandom,
          retryTimeScale,
          logger,
        }),
        clock,
        random: systemRandom,
        logger,
        limits,
        policy: {
          inFlightWindowMs: options.inFlightWindowMs ?? 300,
          referenceExpiryMs: 86_400_000,
          placedDeadlineMs: 5000,
          cancelTries: 3,
          ...usualTries,
          retryTimeScale,
        },
        keyValue: (name) => keys[name] ?? null,
      },
      {
        concurrency: options.concurrency ?? 8,
        maxUnknownOutcomes: options.maxUnknownOutcomes ?? 5,
        graceMs: 500,
        ...(options.minFreeBytes === undefined
          ? {}
          : { minFreeBytes: () => options.minFreeBytes ?? 0 }),
      },
    );
    await dispatcher.start();
    return { store, wholesale, dispatcher, gate };
  }

  let running = await startWorker(false, true);
  async function stopWorker(): Promise<void> {
    await running.dispatcher.stop();
    await running.wholesale.close();
    await running.store.close();
  }
  async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
    for (;;) {
      const { promise } = nextStep;
      if (await isDone()) return;
      await Promise.race([promise, running.dispatcher.failed]);
    }
  }
  let order = 0;

  return {
    sandbox,
    databasePath,
    get store() {
      return running.store;
    },
    get dispatcher() {
      return running.dispatcher;
    },
    async accept(lines) {
      const accepted = await running.store.intake.acceptBatch({
        nowMs: clock.wallMs(),
        fileId: null,
        rejections: [],
        lines: lines.map((line) => {
          order += 1;
          return {
            source: 'shop',
            orderId: `o${order}`,
            lineId: '1',
            operation: 'gift_card_order' as const,
            variant: 'steam-usd-5',
            plan: null,
            iccid: null,
            quantity: 1,
            days: null,
            currency: 'USD',
            notAfterMs: null,
            metadata: {},
            extra: {},
            lineNumber: null,
            ...line,
          };
        }),
      });
      running.dispatcher.notify();
      return accepted.map((line) => line.reference ?? '');
    },
    async useKeys(next) {
      const replaced = Object.keys(next).filter((name) => keys[name] !== next[name]);
      keys = next;
      running.gate.reload(Object.keys(next), limits, replaced);
      await running.dispatcher.reload({
        concurrency: options.concurrency ?? 8,
        maxUnknownOutcomes: options.maxUnknownOutcomes ?? 5,
      });
    },
    counts: () => running.store.read.counts(),
    async logged(message) {
      for (;;) {
        const found = logLines.find((line) => line.includes(JSON.stringify(message)));
        if (found !== undefined) return found;
        const { promise, resolve } = Promise.withResolvers<void>();
        onLine = resolve;
        await Promise.race([promise, running.dispatcher.failed]);
      }
    },
    until,
    async settled() {
      await until(() => {
        const counts = running.store.read.counts();
        return moving.every((state) => counts[state] === 0);
      });
    },
    async loseOutbox({ looksFirst }) {
      await stopWorker();
      for (const end of ['', '-wal', '-shm']) rmSync(`${databasePath}${end}`, { force: true });
      running = await startWorker(looksFirst);
    },
    async restart(otherWire) {
      wire = otherWire ?? wire;
      await stopWorker();
      running = await startWorker();
    },
    async close() {
      await stopWorker();
      await sandbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
