import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { outcomeRows } from '../../core/answers/outcome.ts';
import type { Clock } from '../../core/clock.ts';
import { finalStates, isFinal, type EntryState } from '../../core/entry/states.ts';
import { operations, type Operation, familyOf } from '../../core/order/purchase.ts';
import { keptAnswer } from '../kept-answer.ts';
import { codeLabel, oneOf, other } from './metric-labels.ts';
import { type GaugeSources, workerGauges } from './worker-gauges.ts';

/** How old an answer may be, in ms: a scraper must not make the worker count all the time. */
const keptForMs = 1000;

/**
 * Metrics of the library that break the rules for names, which `promtool check metrics` reports.
 */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
  'nodejs_eventloop_utilization_histogram',
  'nodejs_eventloop_utilization_summary',
] as const;

interface MetricsDeps {
  readonly version: string;
  readonly node: string;
  readonly sources: () => readonly string[];
  readonly clock: Pick<Clock, 'steadyMs'>;
}

/** The metrics of one worker, in a registry of their own. docs/reference/metrics.md has each. */
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
      // Not before somebody wants them: to measure the event loop and the memory costs a little all
      // the time.
      this.#watchesProcess = true;
      // The utilization of the event loop is removed below: its timer need not run.
      collectDefaultMetrics({
        register: this.#registry,
        eventLoopUtilizationTimeout: 2_147_483_647,
      });
      for (const name of misnamed) this.#registry.removeSingleMetric(name);
    }
    await this.#readGauges?.();
    return await this.#registry.metrics();
  }
}

interface EndedAttempt {
  readonly operation: Operation;
  readonly purpose: (typeof purposes)[number];
  /** A row of the decision table. */
  readonly outcome: string;
  /** The code of the API's error; null: none. */
  readonly code: string | null;
  /** From the start of the call to its end, in ms. */
  readonly durationMs: number;
  readonly state: EntryState;
}

type DeliveryEnd = (typeof deliveryEnds)[number];

const purposes = ['submit', 'lookup'] as const;
const families = ['gift_card', 'esim'] as const;
const fileOutcomes = ['ingested', 'rejected', 'changed', 'unfinished', 'interrupted'] as const;
const deliveryEnds = ['delivered', 'failed', 'given_up'] as const;
/** Up to the longest deadline of a call, in seconds. */
const durationBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60];

const counters = {
  lines_accepted: ['New order lines, by source.', 'source'],
  orders_read_back: [
    'Orders to buy that came by read-back and not by a webhook, by source.',
    'source',
  ],
  order_files: ['Order files that were read, by outcome.', 'outcome'],
  attempts: [
    'Calls to the API for entries, by outcome and code of the API.',
    'operation',
    'purpose',
    'outcome',
    'code',
  ],
  entries_settled: ['Entries that a call brought to a final state.', 'family', 'state'],
  results_written: [
    'Deliveries of results, by sink and outcome; failed ones are tried again.',
    'sink',
    'outcome',
  ],
} as const;
type CounterName = keyof typeof counters;

/**
 * Counts what the parts of the worker report while it runs. `app` gives its methods to them. A
 * label has only values of a closed set, whatever an event brings.
 */
class EventMetrics {
  readonly #sources: () => readonly string[];
  readonly #counters: ReadonlyMap<string, Counter<string>>;
  readonly #durations: Histogram<'operation' | 'purpose'>;

  /** @param sources the sources that are configured; lines of all others are counted together */
  constructor(registry: Registry, sources: () => readonly string[]) {
    this.#sources = sources;
    const registers = [registry];
    this.#counters = new Map(
      Object.entries(counters).map(([key, [help, ...labelNames]]) => {
        return [key, new Counter({ name: `order_sync_${key}_total`, help, labelNames, registers })];
      }),
    );
    this.#durations = new Histogram({
      name: 'order_sync_attempt_duration_seconds',
      help: 'How long calls to the API took.',
      labelNames: ['operation', 'purpose'],
      buckets: durationBuckets,
      registers,
    });
    this.#startAtZero();
  }

  /** @param lines how many, by source */
  linesAccepted(lines: ReadonlyMap<string, number>): void {
    for (const [source, added] of lines)
      this.#count('lines_accepted', { source: oneOf(this.#sources(), source) }, added);
  }

  orderReadBack(source: string): void {
    this.#count('orders_read_back', { source: oneOf(this.#sources(), source) });
  }

  fileEnded(outcome: (typeof fileOutcomes)[number]): void {
    this.#count('order_files', { outcome });
  }

  attemptEnded({ operation, purpose, outcome, code, durationMs, state }: EndedAttempt): void {
    this.#count('attempts', {
      operation,
      purpose,
      outcome: oneOf(outcomeRows, outcome),
      code: codeLabel(code),
    });
    // The library throws for a value that is no number.
    if (Number.isFinite(durationMs))
      this.#durations.observe({ operation, purpose }, durationMs / 1000);
    if (isFinal(state)) this.#count('entries_settled', { family: familyOf(operation), state });
  }

  /** @param sink a configured one */
  deliveryEnded(sink: string, outcome: DeliveryEnd): void {
    this.#count('results_written', { sink, outcome });
  }

  /**
   * Counts of a sink begin with zero when it is configured: the first failure is an increase then.
   */
  knowSinks(sinks: readonly string[]): void {
    for (const sink of sinks)
      for (const outcome of deliveryEnds) this.#count('results_written', { sink, outcome }, 0);
  }

  #count(name: CounterName, labels: Readonly<Record<string, string>>, by = 1): void {
    try {
      this.#counters.get(name)?.inc(labels, by);
    } catch {
      // The counted work must not stop because the library throws.
    }
  }

  #startAtZero(): void {
    for (const source of [...this.#sources(), other]) {
      this.#count('lines_accepted', { source }, 0);
      this.#count('orders_read_back', { source }, 0);
    }
    for (const outcome of fileOutcomes) this.#count('order_files', { outcome }, 0);
    for (const operation of operations)
      for (const purpose of purposes) {
        this.#count('attempts', { operation, purpose, outcome: 'accepted', code: 'none' }, 0);
        this.#durations.zero({ operation, purpose });
      }
    for (const family of families)
      for (const state of finalStates) this.#count('entries_settled', { family, state }, 0);
  }
}
