import type { Arrivals } from './arrivals.ts';
import type { Reload, RunPlan } from './run-plan.ts';
import { longestTransitMs } from './sim-network.ts';
import type { SimWorker, WorkerSettings } from './sim-worker.ts';
import type { VirtualTime } from './virtual-time.ts';

/**
 * The limits of the run as they change. Lower limits are put to use by the worker first, and hold
 * at the API when the calls of before are out of its window; higher ones hold at the API first.
 */
export class Reloads {
  /** What the configuration says now: a worker that starts uses it. */
  settings: WorkerSettings;
  /** No more outcomes are unknown than that, at any time. */
  mostUnknownOutcomes: number;
  readonly mostCalls: number;
  readonly #plan: RunPlan;
  readonly #time: VirtualTime;
  readonly #arrivals: Arrivals;
  readonly #trace: (what: string) => void;
  readonly #worker: () => SimWorker | null;
  readonly #onFailure: (error: unknown) => void;
  /** The last change of the limits at the API; an earlier one does not come after it. */
  #changes = 0;
  #atApi: Reload['limits'];

  constructor(options: {
    plan: RunPlan;
    time: VirtualTime;
    arrivals: Arrivals;
    trace: (what: string) => void;
    worker: () => SimWorker | null;
    onFailure: (error: unknown) => void;
  }) {
    this.#plan = options.plan;
    this.#time = options.time;
    this.#arrivals = options.arrivals;
    this.#trace = options.trace;
    this.#worker = options.worker;
    this.#onFailure = options.onFailure;
    this.settings = options.plan.settings;
    this.#atApi = options.plan.settings.limits;
    const all = [options.plan.settings, ...options.plan.reloads];
    this.mostUnknownOutcomes = Math.max(...all.map((it) => it.maxUnknownOutcomes));
    this.mostCalls = Math.max(...all.map((it) => it.concurrency));
  }

  begin(): void {
    for (const reload of this.#plan.reloads)
      this.#time.after(reload.atMs, () => this.#change(reload));
  }

  #change(reload: Reload): void {
    const { limits, concurrency, maxUnknownOutcomes } = reload;
    this.#trace(`limits change to ${limits.orders} orders and ${limits.requests} requests`);
    this.#changes += 1;
    const change = this.#changes;
    const requests = Math.max(this.#atApi.requests, limits.requests);
    const orders = Math.max(this.#atApi.orders, limits.orders);
    this.#changeAtApi({ requests, orders });
    this.settings = {
      ...this.settings,
      limits: { ...this.settings.limits, ...limits },
      concurrency,
      maxUnknownOutcomes,
    };
    this.#reload();
    this.#time.after(this.settings.limits.windowMs + longestTransitMs + 60_000, () => {
      if (this.#changes === change) this.#changeAtApi(limits);
    });
  }

  #changeAtApi(limits: Reload['limits']): void {
    this.#atApi = limits;
    this.#arrivals.change(limits);
  }

  /** A worker is ready that was started with these settings. */
  started(settings: WorkerSettings): void {
    if (settings !== this.settings) this.#reload();
  }

  #reload(): void {
    this.#worker()?.reload(this.settings).catch(this.#onFailure);
  }
}
