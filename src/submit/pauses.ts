import type { Clock, Random } from '../core/clock.ts';
import type { PauseKind } from '../core/decision/decision-table.ts';
import { outcomeRowFrom, type OutcomeRow } from '../core/decision/outcome.ts';
import type { Probe } from '../core/decision/probe.ts';
import type { Store } from '../store/store.ts';
import type { Pause } from '../store/submission/submission.ts';

/** When a paused scope is probed first; the delay doubles up to the maximum. */
const probeDelays: Partial<Record<OutcomeRow, { firstMs: number; maxMs: number }>> = {
  api_disabled: { firstMs: 30_000, maxMs: 300_000 },
  invalid_key: { firstMs: 300_000, maxMs: 300_000 },
  ip_not_allowed: { firstMs: 300_000, maxMs: 300_000 },
  account_not_allowed: { firstMs: 300_000, maxMs: 300_000 },
};
const otherDelay = { firstMs: 60_000, maxMs: 300_000 };
/** When a family that was paused after consecutive rejections is tried again. */
const trialAfterMs = 300_000;

export function pauseScope(kind: PauseKind, keyName: string, currency: string | null): string {
  switch (kind) {
    case 'account':
      return 'account';
    case 'key':
      return `key:${keyName}`;
    case 'balance':
      return `balance:${currency ?? 'none'}`;
  }
}

/** Paused scopes. Stored, so that a worker in a crash loop does not hammer an API that denied it. */
export class Pauses {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #retryTimeScale: number;
  #pauses: readonly Pause[] = [];

  constructor(deps: { store: Store; clock: Clock; random: Random; retryTimeScale: number }) {
    this.#store = deps.store;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#retryTimeScale = deps.retryTimeScale;
  }

  async refresh(): Promise<void> {
    this.#pauses = await this.#store.submission.pauses.all();
  }

  get all(): readonly Pause[] {
    return this.#pauses;
  }

  #has(scope: string): boolean {
    return this.#pauses.some((pause) => pause.scope === scope);
  }

  isAccountPaused(): boolean {
    return this.#has('account');
  }

  isKeyPaused(keyName: string): boolean {
    return this.#has(`key:${keyName}`);
  }

  pausedCurrencies(): readonly string[] {
    return this.#pauses.filter((it) => it.scope.startsWith('balance:')).map((it) => it.scope.slice('balance:'.length));
  }

  /** When a scope that this outcome pauses is probed. */
  firstProbeAtMs(row: OutcomeRow): number {
    return this.#clock.wallMs() + this.#jittered((probeDelays[row] ?? otherDelay).firstMs);
  }

  /** When a paused family sends a trial order. */
  trialAtMs(): number {
    return this.#clock.wallMs() + this.#jittered(trialAfterMs);
  }

  #jittered(ms: number): number {
    return Math.round(ms * this.#retryTimeScale * (0.9 + 0.2 * this.#random()));
  }

  /** When the next scope is due for a probe; null when none is. */
  nextProbeAtMs(): number | null {
    const times = this.#pauses.flatMap((it) => (it.probeAtMs === null ? [] : [it.probeAtMs]));
    return times.length === 0 ? null : Math.min(...times);
  }

  due(): readonly Pause[] {
    const now = this.#clock.wallMs();
    return this.#pauses.filter((pause) => pause.probeAtMs !== null && pause.probeAtMs <= now);
  }

  /** Resumes a scope. */
  async release(pause: Pause, reason: string): Promise<void> {
    await this.#store.submission.pauses.end(pause.scope, 'worker', reason, this.#clock.wallMs());
    await this.refresh();
  }

  /**
   * Resumes the scope if the API answered what the probe asked; otherwise probes it again later. Returns whether the scope
   * was resumed.
   */
  async judge(pause: Pause, { outcome, verdict }: Probe): Promise<boolean> {
    if (verdict === 'open') {
      await this.release(pause, `the API answers again (${outcome.row})`);
      return true;
    }
    const reason = outcomeRowFrom(pause.reason);
    const delay = (reason === null ? undefined : probeDelays[reason]) ?? otherDelay;
    const waitMs = Math.min(delay.maxMs, delay.firstMs * 2 ** Math.min(pause.probes + 1, 10));
    await this.#store.submission.pauses.postponeProbe(pause.scope, this.#clock.wallMs() + this.#jittered(waitMs));
    await this.refresh();
    return false;
  }
}
