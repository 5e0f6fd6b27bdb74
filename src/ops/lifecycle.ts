/**
 * The stops of a running program: each part registers the function that stops it, and `stop` calls
 * these functions in the given order of names.
 *
 *   starting   parts register; when `start` fails, it releases what has started, and throws
 *   running    after `start`
 *   stopped    `stop` was called; every further `stop` waits for the same end
 *
 * When one of them fails, the others still run, and all failures are thrown together.
 */
export class Lifecycle<Name extends string = string> {
  readonly #order: readonly Name[];
  readonly #releasers: { readonly name: Name; readonly release: () => void | Promise<void> }[] = [];
  #stopping: Promise<void> | undefined;

  /** @param order the names of all parts, in the order in which they stop */
  constructor(order: readonly Name[]) {
    this.#order = order;
  }

  /** Registers how a part stops. Once `stop` has been called, it stops at once: nothing leaks. */
  async push(name: Name, release: () => void | Promise<void>): Promise<void> {
    if (this.#stopping === undefined) this.#releasers.push({ name, release });
    else await release();
  }

  /**
   * Runs the start. When it fails, everything that has started is released before the failure is
   * thrown.
   */
  async start<T>(begin: () => Promise<T>): Promise<T> {
    try {
      return await begin();
    } catch (error) {
      try {
        await this.stop();
      } catch (stopError) {
        // The first failure is the reason. The second must not be lost either.
        throw new AggregateError(
          [error, stopError],
          'The start failed, and the parts that had started could not be stopped',
          {
            cause: stopError,
          },
        );
      }
      throw error;
    }
  }

  /** Stops all parts, once. Throws an AggregateError afterwards when some failed. */
  stop(): Promise<void> {
    this.#stopping ??= this.#releaseAll();
    return this.#stopping;
  }

  get stopped(): boolean {
    return this.#stopping !== undefined;
  }

  async #releaseAll(): Promise<void> {
    const failures: unknown[] = [];
    const place = ({ name }: { readonly name: Name }): number => this.#order.indexOf(name);
    for (const { name, release } of this.#releasers.toSorted(
      (left, right) => place(left) - place(right),
    )) {
      try {
        await release();
      } catch (error) {
        failures.push(new Error(`${name} could not be stopped`, { cause: error }));
      }
    }
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} parts could not be stopped`);
  }
}
