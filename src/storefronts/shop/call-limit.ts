import PQueue from 'p-queue';

/** So many calls to a shop are under way at most: many shops run on a few workers of PHP. */
export const mostCalls = 4;
/** A slower answer says that the shop is busy, in ms. */
const slowMs = 5000;
/** After so many good answers in a row, one call more may be under way. */
const goodAnswers = 10;

/**
 * How many calls to one shop may be under way: fewer after each sign that it is busy, and one more
 * after good answers.
 */
export class CallLimit {
  readonly #queue = new PQueue({ concurrency: mostCalls });
  #goodAnswers = 0;

  /** Makes the call when it is its turn; the one with the higher priority comes first. */
  async add<T>(call: () => Promise<T>, priority: number): Promise<T> {
    return await this.#queue.add(call, { priority });
  }

  /** @param isBusy the shop asked to wait, failed, or gave no answer */
  answered({ isBusy, tookMs }: { readonly isBusy: boolean; readonly tookMs: number }): void {
    const { concurrency } = this.#queue;
    this.#goodAnswers = isBusy || tookMs > slowMs ? 0 : this.#goodAnswers + 1;
    if (this.#goodAnswers === 0) this.#queue.concurrency = Math.max(1, Math.floor(concurrency / 2));
    else if (this.#goodAnswers % goodAnswers === 0)
      this.#queue.concurrency = Math.min(mostCalls, concurrency + 1);
  }
}
