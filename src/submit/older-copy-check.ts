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
 * the first call of a start, one entry that was taken in by an earlier run and was never sent is looked up. If the API has
 * an order under its reference, another outbox sent it.
 *
 * One read at each start that has such an entry. A lookup that does not find it, or fails, proves nothing: the worker
 * continues.
 */
export class OlderCopyCheck {
  readonly #upToEntry: number;
  readonly #onFound: (reason: string) => Promise<void>;
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

  /** Makes the check. It is not over where no slot was free for its read: call it again. */
  async run(deps: CheckDeps, signal: AbortSignal): Promise<void> {
    if (this.#isOver) return;
    const { store, wholesale, pauses } = deps;
    const entry = await store.submission.oldestUnsent(this.#upToEntry);
    if (entry === null || !wholesale.canLookUp(familyOf(entry.operation))) {
      this.#isOver = true;
      return;
    }
    const { reference } = entry;
    const read = await budgetedLookup(deps, { family: familyOf(entry.operation), reference }, signal);
    if (read === null) return;
    // An answer that does not show the reference may be about any order.
    if (read.answer.kind === 'found' && read.answer.answer.reference === reference) {
      await this.#onFound(`the API has an order under ${reference}, which was never sent from here`);
      await pauses.refresh();
    }
    this.#isOver = true;
  }
}
