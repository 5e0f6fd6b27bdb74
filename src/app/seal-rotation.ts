import type { Logger } from 'pino';
import { sealAgain } from '../admin/seal-again.ts';
import type { Clock } from '../core/clock.ts';
import { isDiskFull, repeatWhileDiskIsFull } from '../ops/full-disk.ts';
import type { Sealing } from '../store/sealing/sealing.ts';

const loggedEvery = 10_000;
const emptiedEveryMs = 1000;

/**
 * Seals in the background what is in clear and what older keys have sealed, from each start until it is done. A worker that
 * is killed meanwhile continues at its next start.
 */
export class SealRotation {
  readonly #deps: { readonly sealing: Sealing; readonly clock: Clock; readonly logger: Logger };
  readonly #end = new AbortController();
  readonly #failure = Promise.withResolvers<never>();
  #loop: Promise<void> | null = null;

  constructor(deps: { readonly sealing: Sealing; readonly clock: Clock; readonly logger: Logger }) {
    this.#deps = deps;
    this.#failure.promise.catch(() => undefined);
  }

  /** Rejects when the database could not be written: the worker must stop. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  start(): void {
    this.#loop = this.#run().catch((error: unknown) => {
      // The next start continues.
      if (!isDiskFull(error)) this.#failure.reject(error);
    });
  }

  /** May be called again. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { sealing, clock, logger } = this.#deps;
    const { signal } = this.#end;
    let sealed = 0;
    let more = true;
    while (more && !signal.aborted) {
      const done = await repeatWhileDiskIsFull(() => sealAgain(sealing, clock, loggedEvery, signal), { clock, signal });
      ({ more } = done);
      sealed += done.sealed;
      if (done.unreadable.length > 0)
        logger.error(
          { references: done.unreadable.slice(0, 20), count: done.unreadable.length },
          'sealed codes cannot be opened: they were damaged or moved',
        );
      if (more) logger.info({ entries: sealed, seals_with: sealing.sealsWith }, 'sealing codes with the first key');
    }
    if (sealed === 0) return;
    // Until then it has the codes as they were.
    const isEmpty = (): Promise<boolean> => repeatWhileDiskIsFull(() => sealing.emptyLog(), { clock, signal });
    while (!signal.aborted && !(await isEmpty())) await clock.sleep(emptiedEveryMs, signal);
    if (!more)
      logger.info({ entries: sealed, seals_with: sealing.sealsWith }, 'all codes are sealed with the first key');
  }
}
