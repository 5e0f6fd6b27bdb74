/** Calls that people asked for; the end breaks them off, and waits until what they did is recorded. */
export class OpenCalls {
  readonly #end = new AbortController();
  readonly #open = new Set<Promise<unknown>>();

  async run<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = call(this.#end.signal);
    this.#open.add(running);
    try {
      return await running;
    } finally {
      this.#open.delete(running);
    }
  }

  /** May be called again. Never throws: whoever called is told how the call ended. */
  async stop(): Promise<void> {
    this.#end.abort();
    await Promise.allSettled(this.#open);
  }
}
