import { type DeliveryDeps, DeliveryLoop, type FileSink, type Sink } from './delivery-loop.ts';

/**
 * Delivers results to every sink. Each has a loop of its own: a failing sink does not delay
 * another.
 */
export class WriteBack {
  readonly #deps: DeliveryDeps;
  readonly #loops = new Map<string, DeliveryLoop>();
  #stopped = false;
  /** Loops whose sink was removed, until they have stopped. */
  readonly #ending = new Set<Promise<void>>();
  readonly #failure = Promise.withResolvers<never>();

  constructor(deps: DeliveryDeps, sinks: readonly (Sink | FileSink)[]) {
    this.#deps = deps;
    this.#failure.promise.catch(() => undefined);
    for (const sink of sinks) this.#add(sink);
  }

  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  async start(): Promise<void> {
    const { store, clock, logger } = this.#deps;
    const count = await store.results.retireSinks(clock.wallMs());
    if (count > 0)
      logger.warn({ given_up: count }, 'gave up deliveries to a sink that is no longer configured');
    for (const loop of this.#loops.values()) loop.start();
  }

  use(sinks: readonly (Sink | FileSink)[]): void {
    if (this.#stopped) return;
    const names = new Set(sinks.map(({ name }) => name));
    for (const [name, loop] of this.#loops) {
      if (names.has(name)) continue;
      this.#loops.delete(name);
      const ended = loop.abandon();
      this.#ending.add(ended);
      void ended.finally(() => this.#ending.delete(ended));
    }
    for (const sink of sinks) if (!this.#loops.has(sink.name)) this.#add(sink).start();
  }

  notify(): void {
    for (const loop of this.#loops.values()) loop.notify();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...[...this.#loops.values()].map((loop) => loop.stop()), ...this.#ending]);
  }

  #add(sink: Sink | FileSink): DeliveryLoop {
    const loop = new DeliveryLoop({ ...this.#deps, sink });
    loop.failed.catch((error: unknown) => this.#failure.reject(error));
    this.#loops.set(sink.name, loop);
    return loop;
  }
}
