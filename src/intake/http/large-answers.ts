import type { ServerResponse } from 'node:http';
import PQueue from 'p-queue';

const smallAnswer = 50;
/** So many large answers are in memory at once. Each has at most some MB: a request is limited, and so are its orders. */
const answersAtOnce = 2;

/**
 * Answers with the results of many orders. A few at once are made, and the next one when its caller has one of these, or is
 * gone: callers that all wait for large batches would fill the memory with answers that are not sent yet.
 */
export class LargeAnswers {
  readonly #turns = new PQueue({ concurrency: answersAtOnce });

  /** Resolves when an answer with so many results may be made; a small one at once. */
  async turn(results: number, outgoing: Pick<ServerResponse, 'closed' | 'once'>): Promise<void> {
    if (results <= smallAnswer) return;
    await new Promise<void>((begin) => {
      void this.#turns.add(async () => {
        begin();
        if (!outgoing.closed) await new Promise<void>((sent) => outgoing.once('close', () => sent()));
      });
    });
  }
}
