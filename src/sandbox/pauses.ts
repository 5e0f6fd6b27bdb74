import { setTimeout as delay } from 'node:timers/promises';

/** Everything that is still on its way through the sandbox, so that closing it can hurry and then await it all. */
export class Pauses {
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  /** Resolves after so many milliseconds, or at once when the sandbox closes. Never rejects. */
  async pause(ms: number): Promise<void> {
    try {
      await delay(ms, undefined, { signal: this.#ending.signal });
    } catch {
      // Closing: whoever waits goes on right away.
    }
  }

  track(work: Promise<unknown>): void {
    const settled = work.catch(() => {}).finally(() => this.#running.delete(settled));
    this.#running.add(settled);
  }

  /** Ends all pauses and resolves when everything tracked has ended. */
  async end(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#running);
  }
}
