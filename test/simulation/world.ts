import { pino } from 'pino';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import { isOutboxBlocked } from '../../src/ops/disk-guard.ts';
import { afterLossMs } from '../../src/core/entry/after-loss.ts';
import { AcknowledgedLines } from './acknowledged-lines.ts';
import { Arrivals } from './arrivals.ts';
import { ClockJumps } from './clock-jumps.ts';
import { Coverage } from './coverage.ts';
import { DiskErrors, isDiskError } from './disk-errors.ts';
import { Liveness } from './liveness.ts';
import { SimAccount } from './sim-account.ts';
import { checkAtEnd, checkFile } from './oracle.ts';
import { checkSums } from './oracle-money.ts';
import { checkSharedUnits } from './oracle-units.ts';
import { SimOperator } from './sim-operator.ts';
import { Reloads } from './reloads.ts';
import { mayLastMs, orderToTry, pausedScopes } from './paused-scopes.ts';
import { OutboxCopies } from './outbox-copies.ts';
import { ResultsDisk } from './results-disk.ts';
import { RunFaults } from './run-faults.ts';
import { mustBeDoneByMs, type RunPlan } from './run-plan.ts';
import { SeededRandom } from './seeded-random.ts';
import { Shop } from './shop.ts';
import { SimApi } from './sim-api.ts';
import { SimIntake } from './sim-intake.ts';
import { csvSinkOf, SimSinks } from './sim-sinks.ts';
import { checkSinks } from './oracle-sinks.ts';
import type { CrashKind, SimDisk } from './sim-disk.ts';
import { SimNetwork, type WireCall } from './sim-network.ts';
import { SimProcess, type MachineClocks } from './sim-process.ts';
import { markEveryMs, SimWorker } from './sim-worker.ts';
import { SpendWatch } from './spend-watch.ts';
import { StoreWatch } from './store-watch.ts';
import { Trace } from './trace.ts';
import { VirtualTime, wallStartMs } from './virtual-time.ts';
import { WireWatch } from './wire-watch.ts';
import type { Invariant } from './invariants.ts';

/**
 * How long it takes to replace a disk: longer than a window of the budget, which the new outbox
 * does not know.
 */
const newDiskMs = 120_000;

/**
 * Calls of the store for a caller outside the worker, who gets their errors, or after which the
 * worker only warns.
 */
const externalCalls = new Set([
  'intake.acceptBatch',
  'intake.cancelUnsent',
  'storefronts.connectedAt',
  'storefronts.endShopFlag',
  'storefronts.flagShop',
  'storefronts.flagUnreadableOrder',
  'storefronts.flagShop',
  'storefronts.mappedBefore',
  'storefronts.rememberSite',
  'storefronts.seenOrder',
  'storefronts.sitesOf',
  'storefronts.takeOrder',
  'storefronts.connectedAt',
  'storefronts.mappedBefore',
  'storefronts.rememberSite',
  'storefronts.seenOrder',
  'storefronts.sitesOf',
  'operator.actOnEntry',
  'operator.pauseScope',
  'operator.resumeScope',
  'progress',
]);

export interface Violation {
  readonly invariant: string;
  readonly sentence: string;
}

/** One run: a worker, an API, a network, a shop and two disks, and all faults. */
export class World {
  readonly plan: RunPlan;
  readonly violations: Violation[] = [];
  readonly coverage = new Coverage();
  readonly trace: Trace;
  readonly time: VirtualTime;
  readonly api: SimApi;
  readonly account: SimAccount;
  readonly results: ResultsDisk;
  readonly wire: WireWatch;
  readonly shop: Shop;
  readonly disk: SimDisk;
  readonly logs: string[] = [];
  readonly acknowledged = new AcknowledgedLines();
  readonly #random: SeededRandom;
  readonly #network: SimNetwork;
  readonly #storeWatch: StoreWatch;
  readonly #copies: OutboxCopies | null;
  readonly #clocks: MachineClocks;
  readonly #diskErrors: DiskErrors;
  readonly #reloads: Reloads;
  readonly clockJumps: ClockJumps;
  /** The run of the machine in which a worker started last. */
  #lastBootId: string | undefined;
  readonly #liveness: Liveness;
  readonly operator: SimOperator;
  /** Entries in review that their shop has taken back. */
  readonly takenBackLate = new Set<string>();
  readonly intake: SimIntake | null;
  /** Null: only the results folder receives results. */
  readonly sinks: SimSinks | null;
  /** When the last worker was started. */
  lastStartMs = 0;
  /** When orders came in last. */
  lastIntakeMs = 0;
  /** Every result was made due once more, to see that nothing changes. */
  isRewritten = false;
  #process: SimProcess | null = null;
  #worker: SimWorker | null = null;
  #processes = 0;
  #crashes = 0;
  ports = 0;
  #portsOfProcess = 0;
  #stopping = false;
  /** A process whose outbox failed; it must stop by itself. */
  #mustFail: SimProcess | null = null;
  /** No faults come any more. */
  #ended = false;

  constructor(plan: RunPlan, disk: SimDisk, keepTrace: boolean) {
    this.plan = plan;
    this.disk = disk;
    const random = new SeededRandom(plan.seed ^ 0x5bd1e995);
    this.#random = random;
    this.time = new VirtualTime(random.fork());
    const nowMs = (): number => this.time.nowMs;
    this.trace = new Trace(keepTrace, nowMs);
    const violate = (invariant: Invariant, sentence: string): void =>
      this.violate(invariant, sentence);
    const trace = (what: string): void => this.trace.add(what);
    this.#clocks = {
      bootId: plan.namesBoots ? 'boot-1' : undefined,
      bootedAtMs: -1_000_000,
      wallOffsetMs: wallStartMs,
    };
    this.account = new SimAccount(plan.account);
    this.clockJumps = new ClockJumps(nowMs, markEveryMs);
    this.#liveness = new Liveness(plan, nowMs, this.clockJumps);
    this.results = new ResultsDisk(random.fork(), () => undefined);
    const arrivals = new Arrivals(plan.settings.limits, nowMs, (sentence) =>
      this.violate('I11', sentence),
    );
    const spending = new SpendWatch({
      limits: plan.settings.spending?.limits ?? [],
      violate,
      isTouched: (reference) => this.operator.touched.has(reference),
      mostCalls: () => this.#reloads.mostCalls + this.#reloads.mostUnknownOutcomes,
    });
    this.api = new SimApi({
      onSold: (booked) => spending.sold(booked),
      readings: plan.readings,
      account: this.account,
      troubles: plan.troubles,
      random: random.fork(),
      nowMs,
      arrivals,
    });
    for (const iccid of plan.oldEsims)
      this.api.ledger.esims.set(iccid, {
        iccid,
        orderReference: null,
        cost: 100,
        currency: 'USD',
        state: 'fresh',
      });
    this.wire = new WireWatch({
      nowMs,
      violate,
      beforeLeaving: (wire, subject) => this.#beforeLeaving(wire, subject),
      trace,
    });
    const faults = new RunFaults(plan, { random, wire: this.wire, ledger: this.api.ledger, nowMs });
    this.#network = new SimNetwork({
      time: this.time,
      api: this.api,
      random: random.fork(),
      faultFor: (call, spends) => faults.of(call, spends),
      observer: this.wire,
      hasTwoAccounts: plan.account.foreign !== undefined,
    });
    this.#reloads = new Reloads({
      plan,
      time: this.time,
      arrivals,
      trace,
      worker: () => (this.#worker?.ready === true && !this.#stopping ? this.#worker : null),
      onFailure: (error) => {
        if (!isDiskError(error)) violate('I0', `the reload failed: ${String(error)}`);
      },
    });
    this.#diskErrors = new DiskErrors(plan.diskErrors, this.coverage, trace);
    const { coverage } = this;
    this.operator = new SimOperator({
      disk,
      ledger: this.api.ledger,
      coverage,
      nowMs,
      keys: plan.settings.keys,
      unitForm: plan.readings.unitForm,
      trace,
      violate,
      onPaused: (scope) => this.#liveness.pausedByOperator(scope),
      onResumed: (scope) => this.#onResumed(scope),
      // After a loss, the worker does not look up as deep as a second re-order, or a re-order of a
      // line that may be split.
      mayReorder: (line, hasRules) =>
        !plan.looksUpFirst ||
        this.wire.outboxLost ||
        (!hasRules && this.operator.reordersOfLine(line) === 0),
      isSoldElsewhere: (line, known) =>
        plan.looksUpFirst &&
        this.acknowledged.isSoldElsewhere(
          line,
          known,
          this.api.ledger,
          this.operator.reordersOfLine(line),
        ),
    });
    this.#storeWatch = new StoreWatch({
      disk,
      coverage: this.coverage,
      violate,
      trace,
      spending,
      unknownLimit: () => this.#reloads.mostUnknownOutcomes,
      // A lookup whose end could not be recorded stays open while the worker stops.
      mostCalls: () => (this.#stopping ? Number.POSITIVE_INFINITY : this.#reloads.mostCalls),
      touched: this.operator.touched,
      onUnreachable: () => this.wire.calls.pausedAsUnreachable(),
      onIntake: () => {
        this.lastIntakeMs = this.time.nowMs;
      },
      onFulfilled: (operation, product) => this.#liveness.fulfilled(operation, product),
      onCrashedCall: (subject) => {
        Object.assign(this.wire.of(subject), { outcomeUnknown: true, learnedMs: 0 });
      },
      onUnprovenPath: (subject) => {
        this.wire.of(subject).undecidable = true;
      },
      faultOf: (process, name) =>
        this.#ended || !process.alive ? null : this.#diskErrors.forCall(name),
      onFault: (process, name) => this.#onFault(process, name),
      freeBytes: () => this.#freeBytes(),
    });
    this.shop = new Shop({
      time: this.time,
      results: this.results,
      wallMs: () => Math.floor(this.#clocks.wallOffsetMs + this.time.nowMs),
      worker: () => this.#worker,
      onAcknowledged: (line, reference) => this.#acknowledged(line, reference),
      onRefused: (error) => {
        if (!isDiskError(error))
          this.violate('I0', `an order was answered by an error: ${String(error)}`);
      },
    });
    this.#copies = plan.copyAtMs === null ? null : new OutboxCopies(disk, () => this.wire.copied());
    const hasSinks = plan.sinks.shops.length + plan.sinks.endpoints.length > 0;
    this.sinks = hasSinks ? new SimSinks({ plan, time: this.time, trace, violate }) : null;
    const intake = this.#createIntake();
    this.intake = intake;
    if (intake !== null) this.results.readFrom(() => intake.results());
  }

  #acknowledged(line: AcceptableLine, reference: string): void {
    this.#liveness.acknowledged(line, reference);
    const first = this.acknowledged.add(line, reference);
    const reorders = this.operator.reordersOf(line.source, line.orderId, line.lineId);
    // A line that came again before it was acknowledged may have been split or charged to another
    // balance.
    if (first === null || reorders > 0 || Object.keys(line.rules ?? {}).length > 0) return;
    this.violate(
      'I3',
      `${line.orderId}/${line.lineId} was acknowledged under ${first}, and now under ${reference}`,
    );
  }

  #createIntake(): SimIntake | null {
    const { plan, time, disk, coverage } = this;
    if (plan.intake === null) return null;
    return new SimIntake({
      plan: plan.intake,
      seed: plan.seed,
      time,
      disk,
      coverage,
      wallMs: () => this.#clocks.wallOffsetMs + time.nowMs,
      freeBytes: () => this.#freeBytes(),
      mayFail: plan.diskErrors.length > 0,
      trace: (what) => this.trace.add(what),
      violate: (invariant, sentence) => this.violate(invariant, sentence),
      onAcknowledged: (line, reference) => this.#acknowledged(line, reference),
      onTakenBack: (reference) => void this.operator.cancelled.add(reference),
      onTakenBackLate: (reference) => void this.takenBackLate.add(reference),
      isSold: (reference) => this.api.ledger.find(reference) !== undefined,
      isTouched: (reference) => this.operator.touched.has(reference),
      writtenShops: this.sinks?.shops.filter((shop) => shop.plan.comesByIntake === true) ?? [],
      sentLines: () => [
        ...plan.batches.flatMap((batch) => batch.lines),
        ...(plan.intake?.shopOrders ?? []).flatMap(({ lines }) => lines),
        ...this.acknowledged.all.map(({ line }) => line),
      ],
    });
  }

  #freeBytes(): number {
    return this.#diskFullForMs > 0 ? 1024 ** 2 : 1024 ** 3;
  }

  /** How long the disk has been almost full, in ms; 0: it is not. */
  get #diskFullForMs(): number {
    const { fromMs, untilMs } = this.plan.diskFull;
    return this.time.nowMs >= fromMs && this.time.nowMs < untilMs
      ? this.time.nowMs - fromMs + 1
      : 0;
  }

  /** Runs `act` as soon as there is a ready worker. */
  #withWorker(act: (worker: SimWorker) => void): void {
    const worker = this.#worker;
    if (this.#ended) return;
    if (worker === null || !worker.ready || this.#stopping)
      this.time.after(5000, () => this.#withWorker(act));
    else act(worker);
  }

  /** After the faults, the operator resumes every minute what only an operator can resume. */
  #resumeAll(): void {
    this.#withWorker((worker) => {
      this.operator.resumeAll(worker);
      this.time.after(60_000, () => this.#resumeAll());
    });
  }

  #workerDown(): void {
    this.#liveness.workerDown();
    this.clockJumps.workerDown();
  }

  #onResumed(scope: string): void {
    this.#liveness.resumedByOperator(scope);
    if (scope.startsWith('family:'))
      this.#storeWatch.exposure.delivered(scope.slice('family:'.length));
    const key = this.plan.settings.keys[scope.slice('key:'.length)];
    this.wire.letIn(scope.startsWith('key:') ? `Bearer ${key}` : scope);
  }

  violate(invariant: Invariant, sentence: string): void {
    this.trace.add(`VIOLATION ${invariant}: ${sentence}`);
    this.violations.push({ invariant, sentence });
  }

  /** Runs to the end, when everything is settled or should be. */
  async run(): Promise<void> {
    try {
      await this.#run();
    } finally {
      this.intake?.end();
    }
  }

  async #run(): Promise<void> {
    const { plan } = this;
    this.disk.format(plan.ownFiles, this.sinks?.outboxSinks);
    this.results.failing = plan.resultsFail;
    this.time.after(plan.faultsOffMs, () => {
      this.results.failing = false;
      this.intake?.endFaults();
      this.#resumeAll();
      this.trace.add('faults off');
    });
    for (const stop of plan.stops) this.time.after(stop.atMs, () => this.#stop(stop.downMs));
    for (const jump of plan.wallJumps) {
      this.time.after(jump.atMs, () => {
        this.#clocks.wallOffsetMs += jump.deltaMs;
        if (jump.deltaMs > 0) this.wire.calls.clockSetForward();
        this.clockJumps.jumped(jump.deltaMs);
        this.trace.add(`wall clock jumps by ${jump.deltaMs} ms`);
      });
    }
    for (const act of plan.operatorActions)
      this.time.after(act.atMs, () => this.#withWorker((worker) => this.operator.act(worker, act)));
    if (plan.copyAtMs !== null)
      this.time.after(plan.copyAtMs, () => this.#withWorker(() => this.#copies?.make()));
    if (plan.lostDiskAtMs !== null)
      this.time.after(plan.lostDiskAtMs, () => this.#withWorker(() => this.#loseDisk()));
    this.#reloads.begin();
    this.shop.open(plan);
    this.intake?.begin();
    this.sinks?.begin();
    this.#start();
    const limitMs = mustBeDoneByMs(plan);
    const done = await this.time.run(() => this.violations.length > 0 || this.#isDone(), limitMs);
    if (this.violations.length > 0) return;
    if (!done) {
      const minutes = Math.round((limitMs - plan.faultsOffMs) / 60_000);
      const open = this.disk.isOpen ? this.disk.describeOpen() : 'no worker';
      this.#checkLiveness();
      this.violate('I7', `not settled ${minutes} minutes after faults ended: ${open}`);
      return;
    }
    this.#checkLiveness();
    if (!(await this.#scopesEnd())) return;
    this.#ended = true;
    checkSinks(this);
    await this.#rewriteResults();
    checkSinks(this);
    const connection = this.disk.connection;
    this.intake?.acknowledgeStored();
    this.intake?.oracle.checkAtEnd();
    checkAtEnd(this);
    this.#process?.die();
    // Calls in flight still arrive at the API, without a worker to correct them.
    await this.time.run(() => false, this.time.nowMs + 200_000);
    checkAtEnd(this);
    checkSharedUnits(this, connection);
    checkSums(this, connection);
    // The slowest check, which has never found anything, so some runs are enough.
    if (plan.seed % 8 === 0) checkFile(this, connection);
    this.disk.release();
  }

  /**
   * Everything is settled, and nothing is wrong any more: what is still paused must resume. Scopes
   * that only an order can try get one. Returns whether all did.
   */
  async #scopesEnd(): Promise<boolean> {
    const { plan, time, shop } = this;
    // A limit may hold the order that is to try a scope.
    if (plan.settings.spending !== undefined) return true;
    const paused = pausedScopes(this.disk).filter((it) => it.openedBy === 'worker');
    const wellAtMs = Math.max(time.nowMs, plan.faultsOffMs);
    const toEnd = paused.filter(({ scope }, index) => {
      const line = orderToTry(plan, scope, index + 1);
      if (line !== null) shop.sendAt(wellAtMs + 1000, [line]);
      return line !== null || scope === 'account' || scope.startsWith('key:');
    });
    if (toEnd.length === 0) return true;
    this.coverage.hit('paused when all was settled');
    const isEnded = (): boolean => {
      if (this.#worker?.ready !== true || this.#stopping || !this.shop.allAcknowledged)
        return false;
      const left = pausedScopes(this.disk);
      return (
        !toEnd.some((it) => left.some((one) => one.scope === it.scope)) &&
        this.disk.countOpen() === 0
      );
    };
    // What an operator tries again may be tried first, and is refused again under its reference.
    const retried = this.disk.countInReview() * 3_600_000;
    const limitMs =
      wellAtMs +
      Math.max(...toEnd.map(mayLastMs)) +
      retried +
      plan.settings.placedDeadlineMs +
      1_800_000;
    if (await time.run(() => this.violations.length > 0 || isEnded(), limitMs))
      return this.violations.length === 0;
    // An operator may have taken back the order that was to try the scope, or its reference is too
    // old; or all were bought, and an older order has paused the scope again since.
    const tries = this.acknowledged.all.filter(({ line }) => /^try\d+$/.test(line.orderId));
    const isTooOld = tries.length > 0 && plan.settings.referenceExpiryMs < 3_600_000;
    const isBought = ({ line }: (typeof tries)[number]): boolean =>
      this.results.read(line.source, line.orderId)?.state === 'completed';
    if (isTooOld || tries.some(({ reference }) => this.operator.touched.has(reference)))
      return true;
    if (tries.length > 0 && tries.every(isBought)) return true;
    const open = this.disk.isOpen ? this.disk.describeOpen() : 'no worker';
    this.violate(
      'I23',
      `${toEnd.map((it) => it.scope).join(', ')} did not resume after everything was well: ${open}`,
    );
    return false;
  }

  #checkLiveness(): void {
    this.intake?.tellTakenBack();
    const { touched, cancelled } = this.operator;
    this.#liveness.check(
      this.api.ledger,
      this.wire,
      (sentence) => this.violate('I22', sentence),
      (reference) => touched.has(reference) || cancelled.has(reference),
    );
  }

  /** How many tries of a delivery failed. */
  triesOf(requestId: number, sink: string): number {
    return this.#storeWatch.triesOf(requestId, sink);
  }

  /** A result that is written again has the same bytes. */
  async #rewriteResults(): Promise<void> {
    if (this.disk.holdsByLimit) return;
    const before = this.results.contents();
    const nowMs = Math.floor(this.#clocks.wallOffsetMs + this.time.nowMs);
    await this.#worker?.store?.operator.redeliver({
      which: {},
      afterId: 0,
      actor: 'test',
      reason: 'again',
      nowMs,
    });
    this.#worker?.notifyDeliveries();
    this.isRewritten = true;
    await this.time.run(() => false, this.time.nowMs + 61_000);
    const isToldAgain = (): boolean => this.disk.countOpen() === 0;
    // What fails until the faults are off is tried again a day later at most.
    const latestMs = Math.max(this.time.nowMs, this.plan.faultsOffMs) + 26 * 3_600_000;
    if (this.sinks !== null && !(await this.time.run(isToldAgain, latestMs)))
      this.violate('I46', `not delivered again: ${this.disk.describeOpen()}`);
    for (const [path, text] of this.results.contents()) {
      if (before.get(path) !== text)
        this.violate('I8', `${path} was written again with other bytes`);
    }
  }

  #isDone(): boolean {
    if (!this.#storeWatch.changed || this.#worker?.ready !== true || this.#stopping) return false;
    if (!this.shop.allAcknowledged || this.intake?.done === false || this.sinks?.done === false)
      return false;
    this.#storeWatch.changed = false;
    return this.disk.countOpen() === 0;
  }

  #start(): void {
    this.#processes += 1;
    this.#portsOfProcess = 0;
    this.#stopping = false;
    this.lastStartMs = this.time.nowMs;
    const { settings } = this.#reloads;
    this.trace.add(`worker ${this.#processes} starts`);
    const process = new SimProcess({
      number: this.#processes,
      time: this.time,
      clocks: this.#clocks,
      onPort: (caller, name) => this.#onPort(caller, name),
    });
    const logger = pino(
      { level: 'info', base: null, timestamp: false },
      { write: (line) => void this.logs.push(line) },
    );
    const worker = new SimWorker(process, {
      settings,
      random: this.#random.fork(),
      logger,
      openStore: async (caller) => {
        const store = await caller.port('store.open', () => this.disk.open());
        return this.#storeWatch.wrap(store, caller, (kind) => this.wire.recorded(kind));
      },
      networkOf: (caller) => this.#network.portOf(caller),
      sinksOf: (caller, deps) => [
        this.intake?.sinkOf(caller) ?? this.results.sinkOf(caller),
        csvSinkOf(deps),
        ...(this.sinks?.sinksOf(caller, deps) ?? []),
      ],
      onFailure: (caller, error) => this.#onFailure(caller, error),
      progress: this.#copies?.file ?? null,
      startIntake: (caller, deps) => this.intake?.start(caller, deps) ?? null,
    });
    this.#process = process;
    this.#worker = worker;
    worker.start().then(
      () => {
        this.#storeWatch.changed = true;
        this.#liveness.workerUp();
        const { bootId } = this.#clocks;
        this.clockJumps.workerUp(bootId === undefined || bootId !== this.#lastBootId);
        this.#lastBootId = bootId;
        this.#reloads.started(settings);
        this.shop.offer();
      },
      (error: unknown) => {
        // On a full disk the program begins its start anew.
        if (isOutboxBlocked(error)) this.#mustFail = process;
        this.#onFailure(process, error);
      },
    );
  }

  #onPort(process: SimProcess, name: string): void {
    this.ports += 1;
    this.#portsOfProcess += 1;
    this.trace.add(name);
    const crash = this.plan.crashes[this.#crashes];
    if (crash === undefined || this.#ended || this.#portsOfProcess < crash.afterPorts) return;
    if (crash.atPlace !== undefined && crash.atPlace !== name) return;
    this.#crashes += 1;
    this.coverage.hit(`crash ${crash.kind} ${name}`);
    this.#crash(process, crash.kind, crash.downMs);
  }

  #onFault(process: SimProcess, name: string): void {
    if (this.#diskErrors.struck(name)) return;
    this.#mustFail = process;
    // The shop gets the error and sends again. For its own calls, the worker must stop, because it
    // cannot record them.
    if (externalCalls.has(name)) return;
    this.time.after(1000, () => {
      if (process.alive && !this.#stopping)
        this.violate('I0', `the worker continued after ${name} had failed in its outbox`);
    });
  }

  /** The worker must stop, as the program does, and is started again. */
  #onFailure(process: SimProcess, error: unknown): void {
    if (!process.alive) return;
    // Each of its loops can get the error; the first one stops the worker. While it stops, a full
    // disk is not waited for.
    if (this.#stopping && isDiskError(error)) return;
    if (this.#mustFail !== process || !isDiskError(error))
      return this.violate('I0', `the worker stopped by itself: ${String(error)}`);
    this.#stopping = true;
    this.trace.add(`the worker stops by itself: ${String(error)}`);
    const end = (): void => {
      if (!process.alive) return;
      this.#crash(process, 'kill', 5000);
    };
    void this.#worker?.stop().then(end, end);
    this.time.after(9000, end);
  }

  #crash(process: SimProcess, kind: CrashKind, downMs: number): void {
    this.trace.add(`${kind}, for ${downMs} ms`);
    this.#workerDown();
    process.die();
    this.wire.crashed(process, this.#storeWatch.openSubjects());
    this.#storeWatch.forgetOpen();
    this.#storeWatch.lookAtTheEnd();
    this.disk.crash(kind, this.#random);
    this.results.crash(kind);
    this.intake?.crash(kind);
    this.#worker = null;
    this.#stopping = false;
    if (kind === 'power') {
      this.#clocks.bootId = this.plan.namesBoots ? `boot-${this.#processes + 1}` : undefined;
      this.#clocks.bootedAtMs = this.time.nowMs + downMs - this.#random.int(1000, 100_000);
    }
    this.time.after(downMs, () => this.#start());
  }

  /** The machine loses power and comes back with an empty disk for the outbox. */
  #loseDisk(): void {
    if (this.#process === null) return;
    if (this.plan.copyAtMs !== null) return this.#restoreCopy(this.#process);
    this.coverage.hit(this.plan.looksUpFirst ? 'lost disk, looked up' : 'lost disk');
    this.#crash(this.#process, 'power', newDiskMs + 1000);
    this.trace.add('the disk of the outbox is lost');
    this.disk.format(this.plan.ownFiles, this.sinks?.outboxSinks);
    this.sinks?.outboxReplaced();
    this.#storeWatch.forgetAll();
    this.wire.forgotten((subject) => this.api.ledger.find(subject) !== undefined);
    this.operator.forget();
    this.acknowledged.forget();
    this.shop.sendAllAgain();
    if (this.plan.looksUpFirst) this.time.after(newDiskMs, () => this.#initAfterLoss());
  }

  /**
   * A copy of the outbox takes its place. It must have come further, or the copy is no older one.
   */
  #restoreCopy(process: SimProcess): void {
    if (this.#copies?.isBehind !== true)
      return void this.time.after(5000, () => this.#withWorker(() => this.#loseDisk()));
    this.coverage.hit('older copy');
    // Often so soon that calls of the lost outbox are still on their way.
    this.#crash(process, 'power', this.#random.pick(1000, 20_000, newDiskMs));
    this.trace.add('an older copy takes the place of the outbox');
    this.disk.restore();
    this.sinks?.outboxReplaced();
    this.#storeWatch.forgetSinceCopy();
    this.wire.forgotten((subject) => this.api.ledger.find(subject) !== undefined);
    this.acknowledged.forget();
    this.shop.sendAllAgain();
  }

  /** Whether the entry had ended in the copy that took the place of the outbox. */
  endedInCopy(reference: string): boolean {
    return this.#copies?.ended.has(reference) === true;
  }

  /** What `order-sync init --after-loss` does to a new outbox, before the worker is started. */
  #initAfterLoss(): void {
    const nowMs = Math.floor(this.#clocks.wallOffsetMs + this.time.nowMs);
    const audited = {
      actor: 'operator',
      reason: 'the outbox was lost',
      nowMs,
      untilMs: nowMs + afterLossMs,
    };
    const store = this.disk.open();
    store.operator
      .beginAfterLoss(audited)
      .catch((error: unknown) => this.violate('I0', `init --after-loss failed: ${String(error)}`));
    this.disk.release();
    this.trace.add('init --after-loss');
  }

  #stop(downMs: number): void {
    const [process, worker] = [this.#process, this.#worker];
    if (process === null || worker === null || !worker.ready || this.#stopping || this.#ended)
      return;
    this.#stopping = true;
    this.trace.add('SIGTERM');
    this.#workerDown();
    const startedMs = this.time.nowMs;
    void worker.stop().then(() => {
      const tookMs = this.time.nowMs - startedMs;
      // Each part ends what it has begun: a file on a slow disk takes its time, too.
      const mostMs = this.plan.intake === null ? 9000 : 13_000;
      if (tookMs > mostMs) this.violate('I19', `the stop took ${tookMs} ms`);
      this.#leftOpen(process);
      process.die();
      this.disk.release();
      this.intake?.stopped();
      this.#worker = null;
      this.trace.add('stopped');
      this.time.after(downMs, () => this.#start());
    });
  }

  /**
   * Only when the outbox could not be read or written does a stop leave calls without an outcome,
   * as a crash does.
   */
  #leftOpen(process: SimProcess): void {
    const open = this.#storeWatch.openSubjects();
    if (open.length === 0) return;
    if (this.plan.diskErrors.length === 0 && this.plan.diskFull.untilMs === 0)
      this.violate('I19', `the stop left the calls of ${open.join()} without an outcome`);
    this.wire.crashed(process, open);
    this.#storeWatch.forgetOpen();
  }

  /** Called before the first byte is sent: what must be on disk is checked now. */
  #beforeLeaving(wire: WireCall, subject: string): void {
    this.operator.onLeaving(wire.call, subject);
    if (this.#diskFullForMs > 2000)
      this.violate('I2', `${subject} is sent although the disk may have no space for its outcome`);
    const { leftAtMs, leftBeforeMs, learnedMs } = this.wire.of(subject);
    const { settings, wallJumps } = this.plan;
    // Nothing was learned since the call before: nobody knows whether the API has forgotten it.
    if (
      leftAtMs !== null &&
      leftBeforeMs !== null &&
      learnedMs <= leftBeforeMs &&
      this.time.nowMs - leftAtMs > settings.referenceExpiryMs + 60_000 &&
      wallJumps.length === 0 &&
      !subject.startsWith('cancel:')
    )
      this.violate('I3', `${subject} is sent again although its reference may be forgotten`);
    if (!this.#storeWatch.isOnDisk(subject, wire.call))
      this.violate(
        'I2',
        `${subject} is sent, but its open attempt with these bytes is not on disk`,
      );
  }
}
