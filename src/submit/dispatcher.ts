import PQueue from 'p-queue';
import { sendingReserveBytes } from '../core/budget/disk-reserve.ts';
import type { AttemptClaim, OpenAttempt } from '../store/submission/submission.ts';
import { Attempt, type AttemptDeps } from './attempt.ts';
import type { CallKind } from './budget-gate.ts';
import { takeKey, type CallKey } from './budgeted-read.ts';
import { DiskGuard } from './disk-guard.ts';
import { probeDuePauses } from './probe-pauses.ts';
import { recoverOpenAttempts } from './recovery.ts';
import { TrialOrders } from './trial-orders.ts';
import { WakeUp } from '../ops/wake-up.ts';
import type { SubmitSettings } from './settings.ts';

export interface DispatcherOptions extends Pick<SubmitSettings, 'concurrency' | 'maxUnknownOutcomes'> {
  readonly incarnationId: number;
  /** Below this much room on the disk nothing is sent. Default 100 MiB. */
  readonly minFreeBytes?: number;
  /** How long a stop waits for calls that are open, in ms. */
  readonly graceMs: number;
  /** The longest the loop sleeps without looking, in ms: a jump of the wall clock stalls it no longer. Default: 1000. */
  readonly maxIdleDelayMs?: number;
}

const maxIdleDelayMs = 1000;
const overdueIdleDelayMs = 100;
/** Nothing is put off for longer than this: a `Retry-After` counts for an hour at most. */
const longestWaitMs = 2 * 3_600_000;

/**
 * Takes what is due, one entry at a time, as the budget allows: what is in doubt first, then what waits, then what is
 * new. It acts at its own pace: intake only rings. Every claim, with its attempt and its slots, is on disk before the
 * call is made.
 */
export class Dispatcher {
  readonly #deps: AttemptDeps;
  #options: DispatcherOptions;
  readonly #attempts: Attempt;
  readonly #disk: DiskGuard;
  readonly #queue: PQueue;
  readonly #wakeUp: WakeUp;
  readonly #giveUp = new AbortController();
  readonly #failure = Promise.withResolvers<never>();
  readonly #trials: TrialOrders;
  readonly #working = new Set<string>();
  readonly #besides = new Set<Promise<void>>();
  #stopping = false;
  #stopped: Promise<void> | null = null;
  #loop: Promise<void> | null = null;

  constructor(deps: AttemptDeps, options: DispatcherOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#attempts = new Attempt(deps);
    this.#trials = new TrialOrders(deps);
    this.#disk = new DiskGuard({ ...deps, minFreeBytes: options.minFreeBytes ?? sendingReserveBytes });
    // Concurrency only. When a call may start is the gate's word: a queue that counts starts overruns a sliding window.
    this.#queue = new PQueue({ concurrency: options.concurrency });
    this.#wakeUp = new WakeUp(deps.clock);
    this.#failure.promise.catch(() => undefined);
    deps.gate.excludeKeys((keyName) => deps.pauses.isKeyPaused(keyName));
  }

  /** Rejects when the worker must not go on: what it does could not be recorded. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Something may be due: look now. */
  notify(): void {
    this.#wakeUp.notify();
  }

  /** A person stopped a scope or let it go on. When it resolves, nothing more of a stopped scope is claimed. */
  async pausesChanged(): Promise<void> {
    try {
      await this.#deps.pauses.refresh();
    } catch (error) {
      // It would go by what stood still before, for as long as nothing else stops or goes on.
      this.#fail(error);
      throw error;
    }
    this.#wakeUp.notify();
  }

  /** The configuration changed. Calls that are open stay open, with the keys that they were made with. */
  async reload(changed: Pick<DispatcherOptions, 'concurrency' | 'maxUnknownOutcomes'>): Promise<void> {
    this.#options = { ...this.#options, ...changed };
    this.#queue.concurrency = changed.concurrency;
    await this.pausesChanged();
  }

  async start(): Promise<void> {
    const { store, gate, pauses, clock, logger } = this.#deps;
    const bootId = clock.bootId ?? null;
    gate.restore(await store.submission.budget.restoreSlots({ settledMono: gate.restartSettlesAtMs(), bootId }));
    gate.restoreBackOffs(await store.submission.budget.restoreBackOffs({ nowMono: clock.monoMs(), bootId }));
    // What was stamped in another run of the machine means nothing now: such a quiet time begins anew, once.
    await store.submission.restartSettlementDelays({
      untilMono: clock.monoMs() + this.#deps.policy.settlementDelayMs,
      bootId,
    });
    const recovered = await recoverOpenAttempts({
      store,
      attempts: this.#attempts,
      clock,
      incarnationId: this.#options.incarnationId,
    });
    if (recovered > 0)
      logger.warn({ recovered }, 'calls were open when the worker last stopped: they are looked into first');
    await pauses.refresh();
    await this.#deps.lookups.refresh();
    this.#loop = this.#run().catch((error: unknown) => this.#fail(error));
  }

  /** Stops claiming, waits for open calls, then gives them up; what was given up is in doubt, never lost. May be called twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#drain();
    return this.#stopped;
  }

  async #drain(): Promise<void> {
    if (this.#stopping) return void (await this.#loop);
    this.#stopping = true;
    this.#wakeUp.notify();
    const done = new AbortController();
    const grace = this.#deps.clock.sleep(this.#options.graceMs, done.signal).then(() => this.#giveUp.abort());
    await this.#loop;
    await this.#queue.onIdle();
    await Promise.all(this.#besides);
    done.abort();
    await grace;
  }

  #fail(error: unknown): void {
    this.#stopping = true;
    this.#wakeUp.notify();
    this.#failure.reject(error);
  }

  async #run(): Promise<void> {
    let forgetAtMs = 0;
    while (!this.#stopping) {
      const { clock, store } = this.#deps;
      await this.#endOverdue();
      if (this.#deps.pauses.due().length > 0) this.#beside('probe', () => this.#probe());
      if (!this.#deps.pauses.isAccountPaused()) {
        this.#beside('lookup check', () => this.#deps.lookups.tryOne(this.#deps, this.#giveUp.signal));
      }
      while (!this.#stopping && (await this.#takeOne())) {
        /* as long as there is work and budget */
      }
      if (clock.monoMs() >= forgetAtMs) {
        await this.#bringForward();
        const { windowMs, transitMs } = this.#deps.limits;
        await store.submission.budget.forgetSlots(clock.monoMs() - windowMs - transitMs, clock.bootId ?? null);
        forgetAtMs = clock.monoMs() + windowMs;
      }
      if (!this.#stopping) await this.#wakeUp.wait(await this.#idleDelayMs());
    }
  }

  /** A wall clock that was far ahead and is right again must not leave orders lying for as long as it was wrong. */
  async #bringForward(): Promise<void> {
    const { store, clock, policy, pauses, logger } = this.#deps;
    const nowMs = clock.wallMs();
    const furthestMs = nowMs + Math.max(1, policy.retryTimeScale) * longestWaitMs + policy.settlementDelayMs;
    const moved = await store.submission.bringForward({ nowMs, furthestMs });
    if (moved === 0) return;
    await pauses.refresh();
    this.#wakeUp.notify();
    logger.warn({ moved }, 'the wall clock was set back: what was due in a far future is due now');
  }

  async #endOverdue(): Promise<void> {
    const { maxUnknownOutcomes } = this.#options;
    const ended = await this.#deps.store.submission.expireOverdue(this.#deps.clock.wallMs(), maxUnknownOutcomes);
    if (ended > 0)
      this.#deps.logger.warn({ ended }, 'orders expired: their deadline passed before they could be bought');
  }

  /** Claims one entry and starts its call. False when nothing is due or nothing may start now. */
  async #takeOne(): Promise<boolean> {
    if (this.#queue.pending >= this.#options.concurrency || this.#deps.pauses.isAccountPaused()) return false;
    if (!(await this.#disk.look())) return false;
    return (await this.#take('lookup')) || (await this.#take('send'));
  }

  async #take(step: AttemptClaim['step']): Promise<boolean> {
    const { gate, store, clock, pauses, wholesale } = this.#deps;
    const kind: CallKind = step === 'send' ? 'spend' : 'read';
    const dueAt = await store.submission.nextDueAt(step);
    if (dueAt === null || dueAt > clock.wallMs()) return false;
    const allowNew = (await store.submission.countUnknownOutcomes()) < this.#options.maxUnknownOutcomes;
    // From here to the slot on disk nothing waits: a reload that gives the key's value another name must see it there.
    const key = takeKey(this.#deps, kind);
    if (key === null) return false;
    const attempt = await store.submission.openAttempt({
      step,
      keyName: key.name,
      incarnationId: this.#options.incarnationId,
      nowMs: clock.wallMs(),
      nowMono: clock.monoMs(),
      bootId: clock.bootId ?? null,
      allowNew,
      pausedCurrencies: pauses.pausedCurrencies(),
      pausedOperations: this.#trials.operations,
      render: (entry) => wholesale.render(entry),
      judgeResend: (entry, originReference) => {
        const verdict = this.#attempts.judgeResend(entry, originReference);
        // It is moved on within this claim: there may be a lookup to make, or a result to tell.
        if (verdict.step !== 'send') this.#wakeUp.notify();
        if (verdict.step === 'review') this.#deps.onSettled?.();
        return verdict;
      },
    });
    if (attempt === null) {
      gate.giveBack(key.name, kind);
      return false;
    }
    this.#trials.opened(attempt);
    this.#start(attempt, key);
    return true;
  }

  #start(attempt: OpenAttempt, key: CallKey): void {
    this.#queue
      .add(async () => {
        await this.#attempts.run(attempt, key, this.#giveUp.signal);
        await this.#trials.closed(attempt);
      })
      .catch((error: unknown) => this.#fail(error))
      .finally(() => this.#wakeUp.notify());
  }

  /** Runs work that waits for the network beside the loop, so that it never holds up what is due; once at a time. */
  #beside(name: string, work: () => Promise<void>): void {
    if (this.#working.has(name)) return;
    this.#working.add(name);
    const done = work()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#working.delete(name);
        this.#besides.delete(done);
      });
    this.#besides.add(done);
  }

  #probe(): Promise<void> {
    const onChange = (): void => this.#wakeUp.notify();
    return probeDuePauses(this.#deps, { trials: this.#trials, signal: this.#giveUp.signal, onChange });
  }

  async #idleDelayMs(): Promise<number> {
    const { store, clock, gate, pauses } = this.#deps;
    const now = clock.wallMs();
    // A probe that is under way rings when it is done.
    const times = this.#working.has('probe') ? [] : [pauses.nextProbeAtMs()];
    let nap = this.#options.maxIdleDelayMs ?? maxIdleDelayMs;
    if (!pauses.isAccountPaused() && this.#queue.pending < this.#options.concurrency) {
      for (const [step, kind] of [
        ['send', 'spend'],
        ['lookup', 'read'],
      ] as const) {
        const dueAt = await store.submission.nextDueAt(step);
        if (dueAt !== null && dueAt > now) times.push(dueAt);
        // Due already: it waits for the budget, or for something that rings.
        else if (dueAt !== null) {
          const readyIn = gate.readyAtMs(kind) - clock.monoMs();
          if (readyIn > 0) nap = Math.min(nap, Math.ceil(readyIn));
        }
      }
    }
    for (const at of times) {
      if (at === null) continue;
      // A probe that is due and got no slot waits for one; nothing is gained by looking a thousand times a second.
      nap = Math.min(nap, at > now ? at - now : overdueIdleDelayMs);
    }
    return nap;
  }
}
