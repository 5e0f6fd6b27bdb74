import type { ServerResponse } from 'node:http';
import PQueue from 'p-queue';

const smallAnswer = 50;
/** So many large answers are in memory at once. Each has at most some MB: a request is limited, and so are its orders. */
const answersAtOnce = 2;

/** A few large answers are made at once: answers to many callers that are not sent yet would fill the memory. */
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
