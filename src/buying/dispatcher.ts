import PQueue from 'p-queue';
import type { RecheckRule } from '../store/entries/rechecks.ts';
import type { AttemptClaim, OpenAttempt, SetAside } from './queue/claim-sql.ts';
import { presentTime } from './proofs/api-clock.ts';
import { Attempt, type AttemptDeps } from './run-call.ts';
import type { CallKind } from './budget/budget-gate.ts';
import { takeKey, type CallKey } from './proofs/budgeted-read.ts';
import { DiskGuard, isOutboxBlocked, repeatWhileBlocked } from '../ops/disk-guard.ts';
import { endWithin } from '../ops/deadline.ts';
import { probeDuePauses } from './proofs/probes.ts';
import { recoverOpenAttempts } from './recovery.ts';
import { Loop } from '../ops/loop.ts';
import type { SpendSettings } from './spending/settings.ts';
import { usualSendingReserveBytes, type SubmitSettings } from './decision/settings.ts';

interface DispatcherOptions extends Pick<SubmitSettings, 'concurrency' | 'maxUnknownOutcomes'> {
  /** Which orders of shops are read again before they are bought. Absent: none. */
  readonly rechecks?: RecheckRule;
  /** Absent: none. */
  readonly spending?: SpendSettings;
  /** With less free space on the disk nothing is sent, in bytes. Default 100 MiB. */
  readonly minFreeBytes?: () => number;
  /** How long a stop waits for calls in flight, in ms. */
  readonly graceMs: number;
  /**
   * The longest time that the loop sleeps, in ms: a jump of the wall clock delays it no longer.
   * Default 1000.
   */
  readonly maxIdleDelayMs?: number;
}

interface Claimed {
  readonly attempt: OpenAttempt;
  readonly key: CallKey;
}

const maxIdleDelayMs = 1000;
const overdueIdleDelayMs = 100;
/** How often it is looked whether a limit on spending still holds what it held, in ms. */
const releaseIntervalMs = 1000;

/**
 * How many calls of each kind may be under way. Lookups hold at most a third while something is to
 * be sent, and sends at most two thirds while a lookup is due.
 */
function shares(
  concurrency: number,
  { isSendDue, isLookupDue }: { isSendDue: boolean; isLookupDue: boolean },
): Record<AttemptClaim['step'], number> {
  const third = Math.max(1, Math.floor(concurrency / 3));
  return {
    lookup: isSendDue ? third : concurrency,
    send: isLookupDue ? Math.max(1, concurrency - third) : concurrency,
  };
}

/**
 * Queues a task for each call that is due. A task begins with the claim of an entry, as the budget
 * allows; its attempt and its slots are on disk before the call is made. So nothing that waits in
 * the queue holds an entry or a slot. Lookups and sends take turns. Intake only notifies it.
 */
export class Dispatcher {
  readonly #deps: AttemptDeps;
  #options: DispatcherOptions;
  readonly #attempts: Attempt;
  readonly #disk: DiskGuard;
  readonly #calls: PQueue;
  /** One claim at a time: each knows the trials and the places that were taken before it. */
  readonly #claims = new PQueue({ concurrency: 1 });
  readonly #queued = new Set<AttemptClaim['step']>();
  readonly #loop: Loop;
  readonly #abort = new AbortController();
  readonly #underWay: Record<AttemptClaim['step'], number> = { send: 0, lookup: 0 };
  #lastStep: AttemptClaim['step'] = 'send';
  readonly #runningNames = new Set<string>();
  readonly #backgroundTasks = new Set<Promise<void>>();
  #forgetAtMs = 0;
  #releaseAtMs = 0;
  #stopped: Promise<void> | null = null;

  constructor(deps: AttemptDeps, options: DispatcherOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#attempts = new Attempt(deps);
    this.#usePrices();
    this.#disk = new DiskGuard({
      ...deps,
      freeBytes: () => deps.store.freeBytes(),
      minFreeBytes: options.minFreeBytes ?? (() => usualSendingReserveBytes),
      stopped: 'nothing is sent',
    });
    // Without its `intervalCap`: docs/decisions.md says why the gate counts instead.
    this.#calls = new PQueue({ concurrency: options.concurrency });
    this.#loop = new Loop({ clock: deps.clock, round: () => this.#round() });
    deps.gate.excludeKeys(
      (keyName, kind) =>
        deps.pauses.isKeyPaused(keyName) ||
        (kind === 'spend' && !deps.accounts.mayBuy(keyName, deps.keyValue(keyName))),
    );
  }

  #usePrices(): void {
    const { spending } = this.#options;
    this.#attempts.maxRisePercent = spending?.maxRisePercent ?? Number.POSITIVE_INFINITY;
  }

  /** Rejects when the worker must stop, because it could not record what it does. */
  get failed(): Promise<never> {
    return this.#loop.failed;
  }

  /** Wakes the loop: something may be due. */
  notify(): void {
    this.#loop.notify();
  }

  /**
   * An operator paused or resumed a scope. When this resolves, no entry of a paused scope is claimed
   * any more.
   */
  async pausesChanged(): Promise<void> {
    const { clock, pauses } = this.#deps;
    try {
      await repeatWhileBlocked(() => pauses.refresh(), { clock, signal: this.#abort.signal });
    } catch (error) {
      // Otherwise the worker would go by the earlier pauses until the next change.
      this.#loop.fail(error);
      throw error;
    }
    this.#loop.notify();
  }

  /** The configuration changed. Calls in flight keep the keys that they were made with. */
  async reload(
    changed: Pick<DispatcherOptions, 'concurrency' | 'maxUnknownOutcomes' | 'spending'>,
  ): Promise<void> {
    this.#options = { ...this.#options, ...changed };
    this.#usePrices();
    this.#calls.concurrency = changed.concurrency;
    await this.pausesChanged();
  }

  async start(): Promise<void> {
    const { steps, gate, pauses, clock, logger } = this.#deps;
    gate.restore(await steps.budget.restoreSlots(gate.restartSettlesAtMs()));
    gate.restoreBackOffs(await steps.budget.restoreBackOffs());
    const recovered = await recoverOpenAttempts({
      steps,
      attempts: this.#attempts,
      clock,
    });
    if (recovered > 0)
      logger.warn(
        { recovered },
        'calls were in flight when the worker stopped: each is looked up before its entry is sent again',
      );
    await steps.adoptConnector(this.#deps.wholesale.connectorHash(), clock.wallMs());
    this.#attempts.products.remember(await steps.productsBought(), await steps.productsFailing());
    await pauses.refresh();
    await this.#deps.lookups.refresh();
    this.#loop.start();
  }

  /**
   * Stops claiming, waits up to `graceMs` for calls in flight, then aborts them. The outcome of an
   * aborted call is unknown; it is looked up after the next start. May be called twice.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    if (this.#loop.signal.aborted) return await this.#loop.stop();
    this.#calls.pause();
    const ended = this.#loop
      .stop()
      .then(() => this.#calls.onPendingZero())
      .then(() => Promise.all(this.#backgroundTasks));
    await endWithin(this.#deps.clock, this.#options.graceMs, () => this.#abort.abort(), ended);
  }

  async #round(): Promise<number> {
    const { clock, steps, pauses, limits, accounts } = this.#deps;
    await this.#endOverdue();
    await this.#releaseWithinLimits();
    if (await this.#isDue('send')) await steps.showUnproven(clock.wallMs());
    await pauses.refresh();
    await accounts.refresh(this.#deps);
    pauses.remind();
    if (pauses.toProbe().length > 0) this.#runInBackground('probe', () => this.#probe());
    if (!pauses.isAccountPaused()) {
      this.#runInBackground('lookup check', () =>
        this.#deps.lookups.tryOne(this.#deps, this.#abort.signal),
      );
      this.#runInBackground('account check', () => this.#checkAccounts());
    }
    this.#queueCall('lookup');
    this.#queueCall('send');
    // Calls that have a place are claimed now. The others do not hold up the loop.
    await this.#claims.onIdle();
    if (clock.steadyMs() >= this.#forgetAtMs) {
      const { windowMs, transitMs } = limits;
      await steps.budget.forgetSlots(clock.steadyMs() - windowMs - transitMs);
      this.#forgetAtMs = clock.steadyMs() + windowMs;
    }
    return this.#loop.signal.aborted ? 0 : await this.#idleDelayMs();
  }

  async #endOverdue(): Promise<void> {
    const { maxUnknownOutcomes } = this.#options;
    const { earliestMs } = presentTime(this.#deps);
    const ended = await this.#deps.steps.expireOverdue(earliestMs, maxUnknownOutcomes);
    if (ended > 0)
      this.#deps.logger.warn(
        { ended },
        'orders expired: their deadline passed before they could be bought',
      );
  }

  /** A window has moved on, a limit was raised, or what was reserved is free again. */
  async #releaseWithinLimits(): Promise<void> {
    const { steps, clock, logger } = this.#deps;
    if (clock.steadyMs() < this.#releaseAtMs) return;
    const startedMs = clock.steadyMs();
    const released = await steps.releaseWithinLimits(
      this.#options.spending?.limits ?? [],
      clock.wallMs(),
    );
    // Many held orders take a while: most of the time is for the others.
    const tookMs = clock.steadyMs() - startedMs;
    this.#releaseAtMs = clock.steadyMs() + Math.max(releaseIntervalMs, 50 * tookMs);
    if (released === 0) return;
    logger.info({ released }, 'orders that were held by a spending limit can be bought now');
    this.#deps.onSettled?.();
  }

  /** At most one call of each kind waits for a place. */
  #queueCall(step: AttemptClaim['step']): void {
    if (this.#queued.has(step) || this.#loop.signal.aborted) return;
    this.#queued.add(step);
    // By turns: with one call at a time, too, neither kind waits for the end of the other.
    const priority = step === this.#lastStep ? 0 : 1;
    this.#calls
      .add(() => this.#claimAndCall(step), { priority })
      .catch((error: unknown) => this.#loop.fail(error));
  }

  async #claimAndCall(step: AttemptClaim['step']): Promise<void> {
    this.#queued.delete(step);
    const claimed = await this.#claims
      .add(() => this.#claim(step))
      // Nothing was claimed: the next round tries again.
      .catch((error: unknown) => (isOutboxBlocked(error) ? null : Promise.reject(error)));
    if (claimed === null) return;
    try {
      await this.#attempts.run(claimed.attempt, claimed.key, this.#abort.signal);
    } finally {
      this.#underWay[step] -= 1;
      this.#loop.notify();
    }
  }

  /**
   * Claims one entry. Null when nothing is due, or nothing may start now. Neither kind of call
   * starves the other: hanging lookups leave places to the sends, and slow sends leave places to
   * the lookups.
   */
  async #claim(step: AttemptClaim['step']): Promise<Claimed | null> {
    const { pauses } = this.#deps;
    if (this.#loop.signal.aborted) return null;
    if (pauses.isAccountPaused() && !pauses.trials().includes('account')) return null;
    if (!(await this.#disk.hasSpace())) return null;
    const isSendDue = await this.#isDue('send');
    const isLookupDue = await this.#isDue('lookup');
    const most = shares(this.#options.concurrency, { isSendDue, isLookupDue });
    const isDue = step === 'send' ? isSendDue : isLookupDue;
    if (!isDue || this.#underWay[step] >= most[step]) return null;
    const claimed = await this.#take(step);
    if (claimed === null) return null;
    this.#lastStep = step;
    this.#underWay[step] += 1;
    this.#queueCall(step);
    return claimed;
  }

  async #isDue(step: AttemptClaim['step']): Promise<boolean> {
    const nowMs = this.#deps.clock.steadyMs();
    const dueAt = await this.#deps.steps.nextDueAt(step, nowMs);
    return dueAt !== null && dueAt <= nowMs;
  }

  async #take(step: AttemptClaim['step']): Promise<Claimed | null> {
    const tried: string[] = [];
    for (;;) {
      // No await between this and the claim: a reload that gives the key's value another name must
      // find the slot on disk.
      const key = takeKey(this.#deps, step === 'send' ? 'spend' : 'read', tried);
      if (key === null) return null;
      const attempt = await this.#takeWith(key, step);
      if (attempt !== null) return { attempt, key };
      // Another key may have to look up what it sent.
      if (!this.#deps.accounts.mayDiffer) return null;
      tried.push(key.name);
    }
  }

  async #takeWith(key: CallKey, step: AttemptClaim['step']): Promise<OpenAttempt | null> {
    const { gate, steps, clock, pauses, wholesale } = this.#deps;
    const kind: CallKind = step === 'send' ? 'spend' : 'read';
    const opened = steps.openAttempt({
      step,
      keyName: key.name,
      keyValue: key.value,
      nowMs: clock.wallMs(),
      latestMs: presentTime(this.#deps).latestMs,
      steadyMs: clock.steadyMs(),
      maxUnknownOutcomes: this.#options.maxUnknownOutcomes,
      products: this.#attempts.products,
      trials: pauses.trials(),
      spendLimits: this.#options.spending?.limits ?? [],
      maxAgeMs: (source) => this.#options.rechecks?.maxAgeMs(source) ?? null,
      render: (entry) => wholesale.render(entry),
      resend: this.#attempts.resend,
      onSetAside: (aside) => this.#afterSetAside(aside),
    });
    // Without space on the disk nothing was claimed, and the slot is free again.
    const attempt = await opened.catch((error: unknown) => {
      gate.giveBack(key.name, kind);
      throw error;
    });
    if (attempt === null) gate.giveBack(key.name, kind);
    else pauses.trialOpened(attempt.trialOf, attempt.attemptId);
    return attempt;
  }

  /**
   * There may be others to send now, a lookup to make, a result to deliver, and an order of a shop
   * to read.
   */
  #afterSetAside(aside: readonly SetAside[]): void {
    this.#loop.notify();
    for (const { row, step } of aside) {
      if (step.step === 'recheck') this.#options.rechecks?.onDelayed(step.source);
      if (step.step !== 'review') continue;
      this.#deps.logger.error({ reference: row.reference, reason: step.reason }, 'needs review');
    }
    if (aside.some(({ step }) => ['review', 'hold', 'over_limit'].includes(step.step)))
      this.#deps.onSettled?.();
  }

  /**
   * Starts work that waits for the network, so that the loop does not wait for it. One task of each
   * name at a time.
   */
  #runInBackground(name: string, work: () => Promise<void>): void {
    if (this.#runningNames.has(name)) return;
    this.#runningNames.add(name);
    const done = work()
      // Without space on the disk it is begun again later.
      .catch((error: unknown) => (isOutboxBlocked(error) ? undefined : this.#loop.fail(error)))
      .finally(() => {
        this.#runningNames.delete(name);
        this.#backgroundTasks.delete(done);
      });
    this.#backgroundTasks.add(done);
  }

  async #checkAccounts(): Promise<void> {
    if (await this.#deps.accounts.ask(this.#deps, this.#abort.signal)) this.#loop.notify();
  }

  #probe(): Promise<void> {
    const onChange = (): void => this.#loop.notify();
    return probeDuePauses(this.#deps, { signal: this.#abort.signal, onChange });
  }

  async #idleDelayMs(): Promise<number> {
    const { steps, clock, gate, pauses } = this.#deps;
    const now = clock.steadyMs();
    // A probe in flight notifies when it is done.
    const times = this.#runningNames.has('probe') ? [] : [pauses.nextProbeAtMs()];
    let idleMs = this.#options.maxIdleDelayMs ?? maxIdleDelayMs;
    if (!pauses.isAccountPaused() && this.#calls.pending < this.#options.concurrency) {
      for (const [step, kind] of [
        ['send', 'spend'],
        ['lookup', 'read'],
      ] as const) {
        const dueAt = await steps.nextDueAt(step, now);
        if (dueAt !== null && dueAt > now) times.push(dueAt);
        // Due already: it waits for the budget, or until something notifies.
        else if (dueAt !== null) {
          const readyIn = gate.readyAtMs(kind) - clock.steadyMs();
          if (readyIn > 0) idleMs = Math.min(idleMs, Math.ceil(readyIn));
        }
      }
    }
    for (const at of times) {
      if (at === null) continue;
      // A probe that is due waits for a slot: there is no use in asking a thousand times a second.
      idleMs = Math.min(idleMs, at > now ? at - now : overdueIdleDelayMs);
    }
    return idleMs;
  }
}
