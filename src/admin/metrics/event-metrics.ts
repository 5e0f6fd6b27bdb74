import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import { outcomeRows } from '../../core/answers/outcome.ts';
import { finalStates, isFinal, type EntryState } from '../../core/entry/states.ts';
import { operations, type Family, type Operation, familyOf } from '../../core/order/purchase.ts';
import { codeLabel, oneOf, other } from './metric-labels.ts';

/** How one call to the API ended. */
export interface EndedAttempt {
  readonly operation: Operation;
  readonly purpose: 'submit' | 'lookup';
  /** A row of the decision table. */
  readonly outcome: string;
  /** The code of the API's error; null: none. */
  readonly code: string | null;
  /** From the start of the call to its end, in ms. */
  readonly durationMs: number;
  /** The state that the entry got. */
  readonly state: EntryState;
}

/** How one delivery of a result ended. */
export type DeliveryEnd = 'delivered' | 'failed' | 'given_up';

const purposes = ['submit', 'lookup'] as const;
const families: readonly Family[] = ['gift_card', 'esim'];
const fileOutcomes = ['ingested', 'rejected', 'changed', 'interrupted'] as const;
const deliveryEnds: readonly DeliveryEnd[] = ['delivered', 'failed', 'given_up'];
/** Up to the longest deadline of a call, in seconds. */
const durationBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60];

/**
 * Counts what the parts of the worker report while it runs. `app` gives its methods to them. A label has only values of a
 * closed set, whatever an event brings.
 */
export class EventMetrics {
  readonly #sources: () => readonly string[];
  readonly #lines: Counter<'source'>;
  readonly #files: Counter<'outcome'>;
  readonly #attempts: Counter<'operation' | 'purpose' | 'outcome' | 'code'>;
  readonly #durations: Histogram<'operation' | 'purpose'>;
  readonly #settled: Counter<'family' | 'state'>;
  readonly #results: Counter<'sink' | 'outcome'>;

  /** @param sources the sources that are configured; lines of all others are counted together */
  constructor(registry: Registry, sources: () => readonly string[]) {
    this.#sources = sources;
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> =>
      new Counter({ name: `order_sync_${name}_total`, help, labelNames, registers: [registry] });
    this.#lines = counter('lines_accepted', 'Order lines that were accepted for the first time, by source.', 'source');
    this.#files = counter('order_files', 'Order files that were read to their end, by outcome.', 'outcome');
    this.#attempts = counter(
      'attempts',
      'Calls to the API that were made for an entry, by outcome and by the code of the API.',
      'operation',
      'purpose',
      'outcome',
      'code',
    );
    this.#durations = new Histogram({
      name: 'order_sync_attempt_duration_seconds',
      help: 'How long calls to the API took, from their start to their end.',
      labelNames: ['operation', 'purpose'],
      buckets: durationBuckets,
      registers: [registry],
    });
    this.#settled = counter(
      'entries_settled',
      'Entries that a call to the API brought to a final state.',
      'family',
      'state',
    );
    this.#results = counter(
      'results_written',
      'Deliveries of results, by sink and outcome; a delivery that failed is tried again.',
      'sink',
      'outcome',
    );
    this.#startAtZero();
  }

  /** @param lines how many, by source */
  linesAccepted(lines: ReadonlyMap<string, number>): void {
    count(() => {
      for (const [source, added] of lines) this.#lines.inc({ source: oneOf(this.#sources(), source) }, added);
    });
  }

  fileEnded(outcome: (typeof fileOutcomes)[number]): void {
    count(() => this.#files.inc({ outcome }));
  }

  attemptEnded({ operation, purpose, outcome, code, durationMs, state }: EndedAttempt): void {
    count(() => {
      this.#attempts.inc({ operation, purpose, outcome: oneOf(outcomeRows, outcome), code: codeLabel(code) });
      this.#durations.observe({ operation, purpose }, durationMs / 1000);
      if (isFinal(state)) this.#settled.inc({ family: familyOf(operation), state });
    });
  }

  /** @param sink a configured one */
  deliveryEnded(sink: string, outcome: DeliveryEnd): void {
    count(() => this.#results.inc({ sink, outcome }));
  }

  /** Counts of a sink begin with zero when it is configured: the first failure is an increase then. */
  knowSinks(sinks: readonly string[]): void {
    for (const sink of sinks) for (const outcome of deliveryEnds) this.#results.inc({ sink, outcome }, 0);
  }

  #startAtZero(): void {
    for (const source of [...this.#sources(), other]) this.#lines.inc({ source }, 0);
    for (const outcome of fileOutcomes) this.#files.inc({ outcome }, 0);
    for (const operation of operations)
      for (const purpose of purposes) {
        this.#attempts.inc({ operation, purpose, outcome: 'accepted', code: 'none' }, 0);
        this.#durations.zero({ operation, purpose });
      }
    for (const family of families) for (const state of finalStates) this.#settled.inc({ family, state }, 0);
  }
}

/** The library throws for a value that is no number. The counted work must not stop because of that. */
function count(step: () => void): void {
  try {
    step();
  } catch {
    // Not counted.
  }
}
