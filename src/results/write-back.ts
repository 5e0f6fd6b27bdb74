import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import { CallbackSink } from './callback-sink.ts';
import { DeliveryLoop } from './delivery-loop.ts';
import { FolderSink } from './folder-sink.ts';
import type { CallbackSettings } from './settings.ts';
import type { Sink } from './sink.ts';

export interface WriteBackDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly folder: string;
  /** Null: results are not posted anywhere. */
  readonly callback: (() => CallbackSettings) | null;
  readonly version: string;
  /** Stretches every retry delay of the callback; 1 in production. */
  readonly retryTimeScale: number;
}

/** Every place that results go to, each with an outbox and a pace of its own: one that fails holds up no other. */
export class WriteBack {
  readonly #loops: readonly DeliveryLoop[];
  readonly #deps: WriteBackDeps;

  constructor(deps: WriteBackDeps) {
    const { store, clock, logger, callback, version, retryTimeScale } = deps;
    const sinks: Sink[] = [new FolderSink(deps.folder)];
    if (callback !== null) sinks.push(new CallbackSink({ target: callback, clock, version, retryTimeScale }));
    this.#deps = deps;
    this.#loops = sinks.map((sink) => new DeliveryLoop({ store, sink, clock, logger }));
  }

  /** Rejects when what was delivered could not be recorded. */
  get failed(): Promise<never> {
    return Promise.race(this.#loops.map((loop) => loop.failed));
  }

  async start(): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const given = await store.results.retireSinks(clock.wallMs());
    if (given > 0) logger.warn({ given_up: given }, 'results were due at a place that is not configured any more');
    for (const loop of this.#loops) loop.start();
  }

  /** There may be a result to deliver. */
  notify(): void {
    for (const loop of this.#loops) loop.notify();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }
}
