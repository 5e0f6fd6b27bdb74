import type { Clock, Random } from '../core/clock.ts';

interface BreakerOptions {
  readonly clock: Pick<Clock, 'monoMs'>;
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
  #sinceMono: number | null = null;
  #trialAtMono = 0;
  #askedUntilMono = 0;
  #remindAtMono = 0;
  /** Trials in a row that failed. */
  trials = 0;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): 'closed' | 'open' | 'half_open' {
    if (this.waitMs > 0) return 'open';
    return this.#sinceMono === null && this.#askedUntilMono === 0 ? 'closed' : 'half_open';
  }

  /** How long until the next call may begin. */
  get waitMs(): number {
    const untilMono = Math.max(
      this.#askedUntilMono,
      this.#sinceMono === null ? 0 : this.#trialAtMono,
    );
    return Math.ceil(Math.max(0, untilMono - this.#options.clock.monoMs()));
  }

  /** How long it has not been closed because of failures; null: it is. */
  get forMs(): number | null {
    return this.#sinceMono === null
      ? null
      : Math.round(this.#options.clock.monoMs() - this.#sinceMono);
  }

  get failures(): number {
    return this.#causes.size;
  }

  /** The other side asks for no call. Returns whether for longer than before. */
  waitFor(ms: number): boolean {
    const before = this.#askedUntilMono;
    this.#askedUntilMono = Math.max(before, this.#options.clock.monoMs() + ms);
    return this.#askedUntilMono > before;
  }

  /**
   * Returns whether it is open.
   * @param failure `cause` counts once; null: not at all. Default: each failure counts. `isTrial`:
   * the call did not begin before it opened. `mostMs`: the longest wait after this failure
   */
  fails(failure: { cause?: unknown; isTrial?: boolean; mostMs?: number } = {}): boolean {
    const {
      cause = Symbol('each'),
      isTrial = this.#sinceMono !== null,
      mostMs = this.#options.mostMs,
    } = failure;
    const { clock, random = () => 1, opensAfter, firstMs } = this.#options;
    if (cause !== null && this.#causes.size < opensAfter) this.#causes.add(cause);
    if (isTrial) this.trials += 1;
    if (this.#sinceMono === null && Math.max(this.#causes.size, this.trials) < opensAfter)
      return false;
    if (isTrial || this.#sinceMono === null) {
      const fullMs = Math.min(mostMs, firstMs * 2 ** Math.min(this.trials, 10));
      this.#trialAtMono = clock.monoMs() + Math.round(fullMs * (0.8 + 0.2 * random()));
    }
    this.#sinceMono ??= clock.monoMs();
    return true;
  }

  /** A call that is no trial says nothing about what the other side asked for after its begin. */
  works(isTrial = true): void {
    this.#causes.clear();
    this.trials = 0;
    this.#sinceMono = null;
    if (isTrial) this.#askedUntilMono = 0;
  }

  /** Continues as it stood in an earlier run. */
  restore(forMs: number, waitMs: number, trials: number): void {
    const nowMono = this.#options.clock.monoMs();
    this.#sinceMono = nowMono - Math.max(0, forMs);
    this.#trialAtMono = nowMono + Math.min(this.#options.mostMs, waitMs);
    this.trials = trials;
  }

  /** Whether the log should say how it stands: once in five minutes. */
  remind(): boolean {
    const nowMono = this.#options.clock.monoMs();
    const isDue = nowMono >= this.#remindAtMono;
    if (isDue) this.#remindAtMono = nowMono + 300_000;
    return isDue;
  }
}
