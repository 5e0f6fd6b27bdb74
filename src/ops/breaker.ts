import type { Clock, Random } from '../core/clock.ts';

interface BreakerOptions {
  readonly clock: Pick<Clock, 'steadyMs'>;
  /** For the jitter. Default: none. */
  readonly random?: Random;
  readonly opensAfter: number;
  readonly firstMs: number;
  readonly mostMs: number;
}

/**
 * A circuit breaker. Closed: calls flow. Open: none is made, after failures in a row or because the
 * other side asked to wait. Half-open, after that: one is made as a trial. When it fails, the next
 * one waits twice as long; when it works, all is closed.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  /** What failed since the last success, at most as much as opens it. */
  readonly #causes = new Set<unknown>();
  #sinceMs: number | null = null;
  #trialAtMs = 0;
  #askedUntilMs = 0;
  #remindAtMs = 0;
  /** Trials in a row that failed. */
  trials = 0;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): 'closed' | 'open' | 'half_open' {
    if (this.waitMs > 0) return 'open';
    return this.#sinceMs === null && this.#askedUntilMs === 0 ? 'closed' : 'half_open';
  }

  /** How long until the next call may begin. */
  get waitMs(): number {
    const untilMs = Math.max(this.#askedUntilMs, this.#sinceMs === null ? 0 : this.#trialAtMs);
    return Math.ceil(Math.max(0, untilMs - this.#options.clock.steadyMs()));
  }

  /** How long it has not been closed because of failures; null: it is. */
  get forMs(): number | null {
    return this.#sinceMs === null
      ? null
      : Math.round(this.#options.clock.steadyMs() - this.#sinceMs);
  }

  get failures(): number {
    return this.#causes.size;
  }

  /** The other side asks for no call. Returns whether for longer than before. */
  waitFor(ms: number): boolean {
    const before = this.#askedUntilMs;
    this.#askedUntilMs = Math.max(before, this.#options.clock.steadyMs() + ms);
    return this.#askedUntilMs > before;
  }

  /**
   * Returns whether it is open.
   * @param failure `cause` counts once; null: not at all. Default: each failure counts. `isTrial`:
   * the call did not begin before it opened. `mostMs`: the longest wait after this failure
   */
  fails(failure: { cause?: unknown; isTrial?: boolean; mostMs?: number } = {}): boolean {
    const {
      cause = Symbol('each'),
      isTrial = this.#sinceMs !== null,
      mostMs = this.#options.mostMs,
    } = failure;
    const { clock, random = () => 1, opensAfter, firstMs } = this.#options;
    if (cause !== null && this.#causes.size < opensAfter) this.#causes.add(cause);
    if (isTrial) this.trials += 1;
    if (this.#sinceMs === null && Math.max(this.#causes.size, this.trials) < opensAfter)
      return false;
    if (isTrial || this.#sinceMs === null) {
      const fullMs = Math.min(mostMs, firstMs * 2 ** Math.min(this.trials, 10));
      this.#trialAtMs = clock.steadyMs() + Math.round(fullMs * (0.8 + 0.2 * random()));
    }
    this.#sinceMs ??= clock.steadyMs();
    return true;
  }

  /** A call that is no trial says nothing about what the other side asked for after its begin. */
  works(isTrial = true): void {
    this.#causes.clear();
    this.trials = 0;
    this.#sinceMs = null;
    if (isTrial) this.#askedUntilMs = 0;
  }

  /** Continues as it stood in an earlier run. */
  restore(forMs: number, waitMs: number, trials: number): void {
    const steadyMs = this.#options.clock.steadyMs();
    this.#sinceMs = steadyMs - Math.max(0, forMs);
    this.#trialAtMs = steadyMs + Math.min(this.#options.mostMs, waitMs);
    this.trials = trials;
  }

  /** Whether the log should say how it stands: once in five minutes. */
  remind(): boolean {
    const steadyMs = this.#options.clock.steadyMs();
    const isDue = steadyMs >= this.#remindAtMs;
    if (isDue) this.#remindAtMs = steadyMs + 300_000;
    return isDue;
  }
}
