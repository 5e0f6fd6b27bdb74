import type { Logger } from 'pino';
import type { Clock, Random } from '../../core/clock.ts';
import { outcomeRowFrom, type OutcomeRow } from '../../core/answers/outcome.ts';
import type { Probe } from '../../core/answers/probe.ts';
import { evidenceRule } from './evidence.ts';
import { judgeCall, trialDelayMs, type EndedCall, type JudgeInput } from './judge-call.ts';
import { keyScope, type EntryScopes } from '../../core/order/scope.ts';
import type { Store } from '../../store/store.ts';
import { keyOfOtherAccount } from '../../store/entries/pauses.ts';
import type { Pause } from '../../store/entries/pauses.ts';
import type { ScopeChange, ScopeFindings } from './judge-call.ts';

interface TrialDelays {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** When what the API itself denied is probed first; the delay doubles up to the maximum. */
const denialDelays: Partial<Record<OutcomeRow, TrialDelays>> = {
  api_disabled: { firstMs: 30_000, maxMs: 300_000 },
  invalid_key: { firstMs: 5000, maxMs: 300_000 },
  ip_not_allowed: { firstMs: 5000, maxMs: 300_000 },
  account_not_allowed: { firstMs: 5000, maxMs: 300_000 },
};
const otherDelays: TrialDelays = { firstMs: 60_000, maxMs: 300_000 };
/** After so many probes of the account that could not tell, an order is the question. */
const probesBeforeTrial = 3;
/**
 * A scope that is paused again within this time after its pause ended is tried as late as before.
 */
const rememberedForMs = 600_000;
const remindAfterMs = 300_000;

/**
 * When a scope that is paused for this reason is tried first, and how long the doubled delays may
 * become.
 */
export function delaysOf(reason: string): TrialDelays {
  const row = outcomeRowFrom(reason);
  return evidenceRule(reason) ?? (row === null ? undefined : denialDelays[row]) ?? otherDelays;
}

const endsByTrial = (pause: Pause): boolean => evidenceRule(pause.reason)?.endsBy === 'trial';

interface PausesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly retryTimeScale: number;
  readonly logger: Logger;
}

/**
 * Paused scopes. Stored, so that a worker in a crash loop does not hammer an API that denied it.
 */
export class Pauses {
  readonly #deps: PausesDeps;
  #remindAtMs = 0;
  #pauses: readonly Pause[] = [];
  /** Scopes whose probes cannot tell, so that an order is sent as their trial. */
  readonly #askedByOrder = new Set<string>();
  readonly #unclear = new Map<string, number>();
  /** The attempts that are trials of a scope, while they are under way. */
  readonly #trials = new Map<string, number>();
  readonly #ended = new Map<string, { probes: number; atMs: number }>();

  constructor(deps: PausesDeps) {
    this.#deps = deps;
  }

  /** Reads the pauses again, and logs each that was opened or ended since. */
  async refresh(): Promise<void> {
    const before = this.#pauses;
    this.#pauses = await this.#deps.store.pauses.all();
    const atMs = this.#deps.clock.steadyMs();
    for (const pause of this.#pauses) {
      if (before.some(({ scope, sinceMs }) => scope === pause.scope && sinceMs === pause.sinceMs))
        continue;
      const { scope, reason, message, openedBy } = pause;
      this.#deps.logger.error({ scope, reason, message, opened_by: openedBy }, 'scope paused');
      this.#remindAtMs = atMs + remindAfterMs;
    }
    for (const { scope, reason, probes } of before) {
      if (this.#find(scope) !== undefined) continue;
      this.#deps.logger.warn({ scope, reason }, 'scope resumed');
      this.#ended.set(scope, { probes, atMs });
      this.#askedByOrder.delete(scope);
    }
    for (const [scope, ended] of this.#ended)
      if (atMs - ended.atMs > this.#scaled(rememberedForMs)) this.#ended.delete(scope);
  }

  /** One line every few minutes while anything is paused: a log that is read late shows it, too. */
  remind(): void {
    const atMs = this.#deps.clock.steadyMs();
    if (this.#pauses.length === 0 || atMs < this.#remindAtMs) return;
    this.#remindAtMs = atMs + remindAfterMs;
    const scopes = this.#pauses.slice(0, 10).map(({ scope, reason }) => `${scope} (${reason})`);
    this.#deps.logger.warn({ paused: this.#pauses.length, scopes }, 'scopes are still paused');
  }

  get all(): readonly Pause[] {
    return this.#pauses;
  }

  #find(scope: string): Pause | undefined {
    return this.#pauses.find((pause) => pause.scope === scope);
  }

  /** Whether no call is made but probes, and at most a trial order. */
  isAccountPaused(): boolean {
    return this.#find('account') !== undefined;
  }

  isKeyPaused(keyName: string): boolean {
    // A key of another account looks up what was sent with it; whether it buys says `AccountCheck`.
    return this.#find(keyScope(keyName)) !== undefined && !this.isOfOtherAccount(keyName);
  }

  isOfOtherAccount(keyName: string): boolean {
    return this.#find(keyScope(keyName))?.reason === keyOfOtherAccount;
  }

  /**
   * Whether entries of these scopes are not sent now. A paused balance may have charged them
   * already.
   */
  holdsUp({ product, family }: EntryScopes): boolean {
    return this.#pauses.some(({ scope, reason }) =>
      scope === family ? reason !== 'connector_unproven' : scope === product,
    );
  }

  /** The scopes of which one order may be sent now, to find out whether they can be resumed. */
  trials(): readonly string[] {
    return this.#due()
      .filter((pause) => endsByTrial(pause) || this.#askedByOrder.has(pause.scope))
      .map((pause) => pause.scope)
      .filter((scope) => !this.#trials.has(scope));
  }

  trialOpened(scopes: readonly string[], attemptId: number): void {
    for (const scope of scopes) this.#trials.set(scope, attemptId);
  }

  /** The next question is a probe again, where the scope has one. */
  trialClosed(attemptId: number): void {
    for (const [scope, trial] of this.#trials) {
      if (trial !== attemptId) continue;
      this.#trials.delete(scope);
      this.#askedByOrder.delete(scope);
      this.#unclear.delete(scope);
    }
  }

  /** When a scope that this outcome pauses is probed. */
  firstProbeAtMs(row: OutcomeRow): number {
    return this.#deps.clock.steadyMs() + this.#jittered(delaysOf(row).firstMs);
  }

  #scaled(ms: number): number {
    return ms * this.#deps.retryTimeScale;
  }

  #jittered(ms: number): number {
    return Math.round(this.#scaled(ms) * (0.9 + 0.2 * this.#deps.random()));
  }

  #tryAtMs(reason: string, probes: number): number {
    return this.#deps.clock.steadyMs() + this.#jittered(trialDelayMs(delaysOf(reason), probes));
  }

  /**
   * When the next scope is due for a probe or a trial; null when none is. A trial that is due waits
   * for an order.
   */
  nextProbeAtMs(): number | null {
    const nowMs = this.#deps.clock.steadyMs();
    if (this.toProbe().length > 0) return nowMs;
    const later = this.#pauses.flatMap(({ probeAtMs }) =>
      probeAtMs !== null && probeAtMs > nowMs ? [probeAtMs] : [],
    );
    return later.length === 0 ? null : Math.min(...later);
  }

  #due(): readonly Pause[] {
    const now = this.#deps.clock.steadyMs();
    return this.#pauses.filter((pause) => pause.probeAtMs !== null && pause.probeAtMs <= now);
  }

  /** The paused scopes that are due for a probe. */
  toProbe(): readonly Pause[] {
    return this.#due().filter(
      (pause) => !endsByTrial(pause) && !this.#askedByOrder.has(pause.scope),
    );
  }

  /** The changes of scopes after one call. Called inside the transaction that closes it. */
  judge(call: EndedCall, found: ScopeFindings, products: JudgeInput['products']): ScopeChange {
    const probesBefore = (scope: string): number => {
      const ended = this.#ended.get(scope);
      return ended === undefined ? 0 : ended.probes + 1;
    };
    const { forget, remember, end, open, postpone } = judgeCall({
      call,
      ...found,
      products,
      probesBefore,
    });
    return {
      forget,
      remember,
      end,
      open: open.map((pause) => ({
        ...pause,
        openedBy: 'worker',
        probeAtMs: this.#tryAtMs(pause.reason, pause.probes),
      })),
      postpone: postpone.map(({ scope, reason, probes }) => ({
        scope,
        probeAtMs: this.#tryAtMs(reason, probes + 1),
      })),
    };
  }

  unclearProbes(scope: string): number {
    return this.#unclear.get(scope) ?? 0;
  }

  async release(pause: Pause, reason: string): Promise<void> {
    await this.#deps.store.pauses.end(pause.scope, reason, this.#deps.clock.wallMs());
    await this.refresh();
  }

  /**
   * Resumes the scope if the API answered the probe; otherwise probes it again later. A 429 or a
   * proxy's page says nothing about whether the API accepts orders: after some of those, an order
   * is the question. Returns whether it was resumed.
   */
  async judgeProbe(pause: Pause, { verdict }: Probe): Promise<boolean> {
    if (verdict === 'open') {
      await this.release(pause, 'the API answers again');
      return true;
    }
    const probes = pause.probes + 1;
    const unclear = verdict === 'cannot_tell' ? (this.#unclear.get(pause.scope) ?? 0) + 1 : 0;
    this.#unclear.set(pause.scope, unclear);
    if (unclear >= probesBeforeTrial && pause.scope === 'account')
      this.#askedByOrder.add(pause.scope);
    else this.#askedByOrder.delete(pause.scope);
    await this.#deps.store.pauses.postponeProbe(pause.scope, this.#tryAtMs(pause.reason, probes));
    await this.refresh();
    return false;
  }
}
