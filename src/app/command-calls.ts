/** API calls for commands of people. `stop` aborts them and waits until their ends are recorded. */
export class CommandCalls {
  readonly #abort = new AbortController();
  readonly #open = new Set<Promise<unknown>>();

  async run<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = call(this.#abort.signal);
    this.#open.add(running);
    try {
      return await running;
    } finally {
      this.#open.delete(running);
    }
  }

  /** May be called again. Never throws: the caller of `run` gets the failure of its call. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await Promise.allSettled(this.#open);
  }
}
