import type { Clock, Random } from '../core/clock.ts';
import type { PauseKind } from '../core/decision/decision-table.ts';
import { isOutcomeRow, type Outcome, type OutcomeRow } from '../core/decision/outcome.ts';
import type { Store } from '../store/store.ts';
import type { Pause } from '../store/submission/submission.ts';

/** How often a scope is looked at again, in ms; the delay doubles up to the maximum. */
const probeDelays: Partial<Record<OutcomeRow, { firstMs: number; maxMs: number }>> = {
  api_disabled: { firstMs: 30_000, maxMs: 300_000 },
  invalid_key: { firstMs: 300_000, maxMs: 300_000 },
  ip_not_allowed: { firstMs: 300_000, maxMs: 300_000 },
  account_not_allowed: { firstMs: 300_000, maxMs: 300_000 },
};
/** How long a family stands still whose orders are refused one after the other, until one more is tried. */
const trialAfterMs = 300_000;
const otherDelay = { firstMs: 60_000, maxMs: 300_000 };

/** What a probe must bring for a scope to go on: the API spoke, and did not turn the account, the key or us away. */
const stillShut: ReadonlySet<OutcomeRow> = new Set<OutcomeRow>([
  'invalid_key',
  'account_not_allowed',
  'ip_not_allowed',
  'api_disabled',
  'redirect',
  // A limiter may stand before the door, and a page of somebody else is no answer at all.
  'rate_limited',
  'unreadable_success',
  'server_error',
  'local_resource',
  'local_defect',
  'tls_refused',
  'unreachable',
  'proxy_refused',
  'foreign_refusal',
  'foreign_server_error',
  'foreign_unavailable',
  'dropped',
  'headers_timeout',
  'cut_answer',
  'deadline',
  'shutdown',
]);

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

/**
 * The scopes that stand still. Kept in the store, so that a worker that is restarted in a loop does not hammer an API
 * that turned it away; a probe is a GET and never spends money.
 */
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

  /** When a scope that this outcome closes is looked at again. */
  firstProbeAtMs(row: OutcomeRow): number {
    return this.#clock.wallMs() + this.#jittered((probeDelays[row] ?? otherDelay).firstMs);
  }

  /** When one more order of a family is tried that stands still. */
  trialAtMs(): number {
    return this.#clock.wallMs() + this.#jittered(trialAfterMs);
  }

  #jittered(ms: number): number {
    return Math.round(ms * this.#retryTimeScale * (0.9 + 0.2 * this.#random()));
  }

  /** The next time at which some scope is due to be looked at; null when none is. */
  nextProbeAtMs(): number | null {
    const times = this.#pauses.flatMap((it) => (it.probeAtMs === null ? [] : [it.probeAtMs]));
    return times.length === 0 ? null : Math.min(...times);
  }

  due(): readonly Pause[] {
    const now = this.#clock.wallMs();
    return this.#pauses.filter((pause) => pause.probeAtMs !== null && pause.probeAtMs <= now);
  }

  /** A balance and a family are not probed: the next entry of theirs is the probe. */
  async release(pause: Pause, reason: string): Promise<void> {
    await this.#store.submission.pauses.end(pause.scope, 'worker', reason, this.#clock.wallMs());
    await this.refresh();
  }

  /** Judges what a probe brought: go on, or look again later. Returns whether the scope goes on. */
  async judge(pause: Pause, outcome: Outcome): Promise<boolean> {
    if (!stillShut.has(outcome.row)) {
      await this.release(pause, `the API answers again (${outcome.row})`);
      return true;
    }
    const delay = (isOutcomeRow(pause.reason) ? probeDelays[pause.reason] : undefined) ?? otherDelay;
    const wait = Math.min(delay.maxMs, delay.firstMs * 2 ** Math.min(pause.probes + 1, 10));
    await this.#store.submission.pauses.postponeProbe(pause.scope, this.#clock.wallMs() + this.#jittered(wait));
    await this.refresh();
    return false;
  }
}
