/**
 * The release stack: whatever is started pushes what stops it, and everything is released in the opposite order.
 *
 *   starting   releasers are pushed; a failure in `start` releases what stands and throws
 *   running    after `start`
 *   stopped    `stop` has been called; every further `stop` waits for the same end
 *
 * A releaser that fails does not keep the others from running: all failures are thrown together.
 */
export class Lifecycle {
  readonly #releasers: Releaser[] = [];
  #stopping: Promise<void> | undefined;

  /** Registers what to do at the end. Pushed after the end has begun, it is done at once, so that nothing leaks. */
  async push(name: string, release: () => void | Promise<void>): Promise<void> {
    if (this.#stopping === undefined) this.#releasers.push({ name, release });
    else await release();
  }

  /** Runs the start; when it fails, everything that it had pushed is released before the failure is thrown. */
  async start<T>(begin: () => Promise<T>): Promise<T> {
    try {
      return await begin();
    } catch (error) {
      try {
        await this.stop();
      } catch (stopError) {
        // The first failure is the reason; the second must not be lost either.
        throw new AggregateError([error, stopError], 'The start failed, and so did cleaning up', { cause: stopError });
      }
      throw error;
    }
  }

  /** Releases everything, once. Throws an AggregateError when releasers failed, after all of them ran. */
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
