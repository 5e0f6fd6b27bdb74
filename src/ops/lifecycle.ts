/**
 * A stack of releasers: each part that starts pushes the function that stops it, and `stop` calls them in reverse order.
 *
 *   starting   parts push their releasers; when `start` fails, it releases them and throws
 *   running    after `start`
 *   stopped    `stop` was called; every further `stop` waits for the same end
 *
 * When releasers fail, the others still run, and all failures are thrown together.
 */
export class Lifecycle {
  readonly #releasers: Releaser[] = [];
  #stopping: Promise<void> | undefined;

  /** Registers a releaser. Once `stop` has been called, it runs at once: nothing leaks. */
  async push(name: string, release: () => void | Promise<void>): Promise<void> {
    if (this.#stopping === undefined) this.#releasers.push({ name, release });
    else await release();
  }

  /** Runs the start. When it fails, every pushed releaser runs before the failure is thrown. */
  async start<T>(begin: () => Promise<T>): Promise<T> {
    try {
      return await begin();
    } catch (error) {
      try {
        await this.stop();
      } catch (stopError) {
        // The first failure is the reason. The second must not be lost either.
        throw new AggregateError([error, stopError], 'The start failed, and so did releasing what had started', {
          cause: stopError,
        });
      }
      throw error;
    }
  }

  /** Runs all releasers, once. Throws an AggregateError afterwards when some failed. */
  stop(): Promise<void> {
    this.#stopping ??= this.#releaseAll();
    return this.#stopping;
  }

  get stopped(): boolean {
    return this.#stopping !== undefined;
  }

  async #releaseAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const { name, release } of this.#releasers.toReversed()) {
      try {
        await release();
      } catch (error) {
        failures.push(new Error(`${name} could not be stopped`, { cause: error }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} parts could not be stopped`);
  }
}

interface Releaser {
  readonly name: string;
  readonly release: () => void | Promise<void>;
}
