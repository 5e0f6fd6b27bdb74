import type { Logger } from 'pino';
import { familyOf } from '../core/order/purchase.ts';
import { budgetedLookup, type CallDeps } from './budgeted-read.ts';
import type { WholesalePort } from './wholesale-port.ts';

interface CheckDeps extends CallDeps {
  readonly wholesale: Pick<WholesalePort, 'canLookUp' | 'lookUp'>;
  readonly logger: Logger;
}

/**
 * Notices an older copy of the outbox by what the API knows, where the progress file is missing or was restored, too. Before
 * the first call of a start, up to five entries that were taken in by an earlier run and were never sent are looked up, until
 * the API has an order under the reference of one: then another outbox sent it.
 *
 * One read for each of them at each start. Lookups that find nothing, or fail, prove nothing: the worker continues.
 */
export class OlderCopyCheck {
  readonly #upToEntry: number;
  readonly #onFound: (reason: string) => Promise<void>;
  readonly #asked = new Set<string>();
  #isOver = false;

  /**
   * @param options.upToEntry the newest entry at this start
   * @param options.onFound begins the after-loss mode
   */
  constructor(options: { upToEntry: number; onFound: (reason: string) => Promise<void> }) {
    this.#upToEntry = options.upToEntry;
    this.#onFound = options.onFound;
  }

  /** Until then no entry may be claimed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Makes the check. It is not over where no slot was free for a read: call it again. */
  async run(deps: CheckDeps, signal: AbortSignal): Promise<void> {
    if (this.#isOver) return;
    const { store, wholesale, pauses } = deps;
    const unsent = await store.submission.oldestUnsent(this.#upToEntry);
    for (const { reference, operation } of unsent) {
      if (this.#asked.has(reference) || !wholesale.canLookUp(familyOf(operation))) continue;
      const read = await budgetedLookup(deps, { family: familyOf(operation), reference }, signal);
      if (read === null) return;
      this.#asked.add(reference);
      // An API that does not answer must not delay the start five times.
      if (read.answer.kind === 'failed') break;
      // An answer that does not show the reference may be about any order.
      if (read.answer.kind !== 'found' || read.answer.answer.reference !== reference) continue;
      await this.#onFound(`the API has an order under ${reference}, which was never sent from here`);
      await pauses.refresh();
      break;
    }
    this.#isOver = true;
  }
}
