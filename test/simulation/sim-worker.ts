import { stepsOf } from '../support/steps.ts';
import type { Logger } from 'pino';
import type { Clock } from '../../src/core/clock.ts';
import { performInWorker } from '../../src/admin/perform-command.ts';
import type { StoreCommand } from '../../src/core/operator/operator-command.ts';
import { noticeOlderCopy } from '../../src/app/older-copy.ts';
import type { ProgressKeeper, ProgressPort } from '../../src/app/progress-file.ts';
import type { SpendSettings } from '../../src/buying/spending/settings.ts';
import { usualTries } from '../../src/buying/decision/settlement.ts';
import { Loop } from '../../src/ops/loop.ts';
import { SteadyClock } from '../../src/ops/system-clock.ts';
import type { FileSink, Sink } from '../../src/results/delivery-loop.ts';
import { WriteBack } from '../../src/results/write-back.ts';
import type { AcceptedLine, IntakeBatch } from '../../src/store/intake/accept-batch.ts';
import type { Store } from '../../src/store/store.ts';
import { AccountCheck } from '../../src/buying/proofs/account-check.ts';
import { BudgetGate } from '../../src/buying/budget/budget-gate.ts';
import { Dispatcher } from '../../src/buying/dispatcher.ts';
import { LookupCheck } from '../../src/buying/proofs/lookup-check.ts';
import { Pauses } from '../../src/buying/breakers/pauses.ts';
import { createWholesaleClient } from '../../src/wholesale/client.ts';
import type { HttpPort } from '../../src/wholesale/transport/transport.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { IntakeDeps, IntakeParts } from './sim-intake.ts';
import type { SimProcess } from './sim-process.ts';
import { responseMs, totalMs } from './sim-network.ts';

/** The config of the worker. */
export interface WorkerSettings {
  readonly keys: Readonly<Record<string, string>>;
  readonly limits: { windowMs: number; requests: number; orders: number; transitMs: number };
  readonly concurrency: number;
  readonly maxUnknownOutcomes: number;
  readonly inFlightWindowMs: number;
  readonly referenceExpiryMs: number;
  readonly placedDeadlineMs: number;
  readonly graceMs: number;
  readonly maxIdleDelayMs: number;
  readonly lookup: boolean;
  readonly spending?: SpendSettings;
}

export const usualSettings: WorkerSettings = {
  keys: { main: 'sim-key-main-secret' },
  limits: { windowMs: 60_000, requests: 60, orders: 20, transitMs: 30_000 },
  concurrency: 4,
  maxUnknownOutcomes: 5,
  inFlightWindowMs: 120_000,
  referenceExpiryMs: 86_400_000,
  placedDeadlineMs: 600_000,
  graceMs: 6500,
  maxIdleDelayMs: 60_000,
  lookup: true,
};

/** How often the worker writes its steady time, in ms. */
export const markEveryMs = 10_000;

export interface SinkDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: Store;
}

export interface WorkerWorld {
  readonly settings: WorkerSettings;
  readonly random: SeededRandom;
  readonly logger: Logger;
  openStore(process: SimProcess): Promise<Store>;
  networkOf(process: SimProcess): HttpPort;
  sinksOf(process: SimProcess, deps: SinkDeps): readonly (FileSink | Sink)[];
  /** Null: no older copy is played. */
  readonly progress: ProgressPort | null;
  onFailure(process: SimProcess, error: unknown): void;
  /** Null: no intake is played. */
  startIntake(process: SimProcess, deps: IntakeDeps): Promise<IntakeParts> | null;
}

/** The worker: its real parts, composed as in production, on simulated ports. */
export class SimWorker {
  readonly #process: SimProcess;
  readonly #world: WorkerWorld;
  #parts: {
    store: Store;
    dispatcher: Dispatcher;
    deliveries: WriteBack;
    time: Loop;
    gate: BudgetGate;
    intake: IntakeParts | null;
    progress: ProgressKeeper | null;
  } | null = null;

  #clock: SteadyClock | null = null;
  #stopping = false;

  constructor(process: SimProcess, world: WorkerWorld) {
    this.#process = process;
    this.#world = world;
  }

  /** Resolves when it accepts orders. */
  async start(): Promise<void> {
    const { settings, random, logger } = this.#world;
    const process = this.#process;
    const clock = new SteadyClock(process);
    this.#clock = clock;
    const store = await this.#world.openStore(process);
    const { maxIdleDelayMs } = settings;
    await store.continueTime(clock);
    const writeTime = async (): Promise<number> => {
      await store.writeTime();
      return markEveryMs;
    };
    const time = new Loop({ clock, round: writeTime, endsWithRound: true });
    const outbox = {
      config: { wholesale: { limits: settings.limits }, submit: settings },
      clock,
      logger,
      progressEveryMs: 10_000,
    };
    const file = this.#world.progress;
    const progress =
      file === null ? null : (await noticeOlderCopy(outbox, { store, file })).progress;
    progress?.start();
    const wholesale = createWholesaleClient({
      baseUrl: 'https://api.example',
      clock,
      timeouts: { responseMs, totalMs },
      ...(settings.lookup ? {} : { wire: { lookup: { gift_card: 'off', esim: 'off' } } }),
      network: this.#world.networkOf(process),
      answerTimes: { steadyMs: () => clock.steadyMs(), onAnswer: () => undefined },
    });
    const sinks = this.#world.sinksOf(process, { clock, logger, store });
    // The jitter of probes changes no order of events: it takes nothing from the numbers of the
    // run.
    const deliveries = new WriteBack(
      { store, clock, random: () => 0.5, logger, maxIdleDelayMs },
      sinks,
    );
    const policy = {
      inFlightWindowMs: settings.inFlightWindowMs,
      referenceExpiryMs: settings.referenceExpiryMs,
      placedDeadlineMs: settings.placedDeadlineMs,
      cancelTries: 3,
      ...usualTries,
      retryTimeScale: 1,
    };
    const keys = Object.entries(settings.keys).map(([name, value]) => ({ name, value }));
    await store.adoptKeys({ keys, nowMs: clock.wallMs(), whileRunning: false });
    const gate = new BudgetGate(Object.keys(settings.keys), settings.limits, clock);
    const dispatcher = new Dispatcher(
      {
        store,
        steps: stepsOf(store),
        wholesale,
        gate,
        lookups: new LookupCheck(stepsOf(store)),
        accounts: new AccountCheck(),
        pauses: new Pauses({ store, clock, random: random.next, retryTimeScale: 1, logger }),
        clock,
        random: random.next,
        logger,
        limits: settings.limits,
        policy,
        onSettled: () => deliveries.notify(),
        keyValue: (name) => settings.keys[name] ?? '',
      },
      {
        concurrency: settings.concurrency,
        maxUnknownOutcomes: settings.maxUnknownOutcomes,
        graceMs: settings.graceMs,
        ...(settings.spending === undefined ? {} : { spending: settings.spending }),
        maxIdleDelayMs,
      },
    );
    for (const failed of [dispatcher.failed, deliveries.failed, time.failed]) this.#report(failed);
    await deliveries.start();
    await dispatcher.start();
    time.start();
    const onAccepted = (): void => {
      dispatcher.notify();
      deliveries.notify();
    };
    const starting = this.#world.startIntake(process, { store, clock, logger, onAccepted });
    const intake = starting === null ? null : await starting;
    for (const failed of intake?.failed ?? []) this.#report(failed);
    this.#parts = { store, dispatcher, deliveries, time, gate, intake, progress };
  }

  #report(failed: Promise<never>): void {
    const process = this.#process;
    failed.catch((error: unknown) => {
      if (process.alive) this.#world.onFailure(process, error);
    });
  }

  get ready(): boolean {
    return this.#process.alive && this.#parts !== null && !this.#stopping;
  }

  get store(): Store | null {
    return this.#parts?.store ?? null;
  }

  /** Accepts a batch as intake does. Returning is the acknowledgement. */
  async accept(batch: IntakeBatch): Promise<readonly AcceptedLine[]> {
    if (this.#parts === null) throw new Error('the worker has not started');
    const { store, dispatcher, deliveries } = this.#parts;
    const accepted = await store.intake.acceptBatch({
      ...batch,
      nowMs: this.#clock?.wallMs() ?? batch.nowMs,
    });
    dispatcher.notify();
    deliveries.notify();
    return accepted;
  }

  /** Performs a command of the command line. */
  async command(command: StoreCommand): Promise<void> {
    if (this.#parts === null) throw new Error('the worker has not started');
    const { store, dispatcher, deliveries } = this.#parts;
    const { settings } = this.#world;
    const worker = {
      pausesChanged: () => dispatcher.pausesChanged(),
      notify: () => {
        dispatcher.notify();
        deliveries.notify();
      },
    };
    await performInWorker(
      worker,
      store,
      command,
      {
        keyNames: Object.keys(settings.keys),
        referenceExpiryMs: settings.referenceExpiryMs,
        lookupFamilies: settings.lookup ? ['gift_card', 'esim'] : [],
      },
      this.#clock ?? this.#process,
    );
  }

  /** The configuration changed: uses the new limits, as a reload does. */
  async reload(
    changed: Pick<WorkerSettings, 'concurrency' | 'maxUnknownOutcomes' | 'limits'>,
  ): Promise<void> {
    if (this.#parts === null) throw new Error('the worker has not started');
    const { gate, dispatcher } = this.#parts;
    gate.reload(Object.keys(this.#world.settings.keys), changed.limits, []);
    await dispatcher.reload(changed);
  }

  notifyDeliveries(): void {
    this.#parts?.deliveries.notify();
  }

  /** SIGTERM: stops the parts in the order of the program. */
  async stop(): Promise<void> {
    const parts = this.#parts;
    if (parts === null) return;
    this.#stopping = true;
    await parts.intake?.stop();
    await parts.time.stop();
    await parts.dispatcher.stop();
    await parts.deliveries.stop();
    await parts.progress?.stop();
  }
}
