import { collectDefaultMetrics, Gauge, Registry } from '@prometheus-io/client';
import type { Clock } from '../../core/clock.ts';
import { keptAnswer } from '../kept-answer.ts';
import { EventMetrics } from './event-metrics.ts';
import { type GaugeSources, workerGauges } from './worker-gauges.ts';

/** How old an answer may be, in ms: a scraper must not make the worker count all the time. */
const keptForMs = 1000;

/** Metrics of the library that break the rules for names, which `promtool check metrics` reports. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  'nodejs_eventloop_utilization_histogram',
  'nodejs_eventloop_utilization_summary',
] as const;

/** What runs, and the sources that are configured now. */
interface MetricsDeps {
  readonly version: string;
  readonly node: string;
  readonly sources: () => readonly string[];
  readonly clock: Pick<Clock, 'monoMs'>;
}

/** The metrics of one worker, in a registry of their own. docs/metrics.md has each of them. */
export class WorkerMetrics {
  readonly events: EventMetrics;
  /** All metrics in the text format of Prometheus; at most a second old. */
  readonly text: () => Promise<string>;
  readonly #registry = new Registry();
  #readGauges: (() => Promise<void>) | null = null;
  #watchesProcess = false;

  constructor({ version, node, sources, clock }: MetricsDeps) {
    this.text = keptAnswer(() => this.#read(), keptForMs, clock);
    this.events = new EventMetrics(this.#registry, sources);
    const build = new Gauge({
      name: 'order_sync_build_info',
      help: 'Always 1; the labels say what runs.',
      labelNames: ['version', 'node'],
      registers: [this.#registry],
    });
    build.set({ version, node }, 1);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Reads these sources at each scrape. Called once, before the first scrape. */
  watch(sources: GaugeSources): void {
    this.#readGauges = workerGauges(this.#registry, sources);
  }

  async #read(): Promise<string> {
    if (!this.#watchesProcess) {
      // Not before somebody wants them: to measure the event loop and the memory costs a little all the time.
      this.#watchesProcess = true;
      // The utilization of the event loop is removed below: its timer need not run.
      collectDefaultMetrics({ register: this.#registry, eventLoopUtilizationTimeout: 2_147_483_647 });
      for (const name of misnamed) this.#registry.removeSingleMetric(name);
    }
    await this.#readGauges?.();
    return await this.#registry.metrics();
  }
}
