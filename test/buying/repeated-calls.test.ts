import { afterEach, describe, expect, it } from 'vitest';
import { secondAnswers as answers } from '../support/second-answers.ts';
import { startSubmission, type Submission, type SubmissionOptions } from '../support/submission.ts';

/*
 * Something between the worker and the API repeats a call: the first copy is bought, and the worker
 * gets the answer to the second one.
 */

let worker: Submission | null = null;
afterEach(async () => {
  await worker?.close();
  worker = null;
});

const rules = { split: true, partial: true, fallback_currency: 'EUR' };

async function start(
  [status, code]: readonly [number, string],
  options: SubmissionOptions & { readonly isBought: boolean },
): Promise<Submission> {
  const body = `{"error":{"code":"${code}","message":"not now"}}`;
  const when = options.isBought ? 'after' : 'before';
  worker = await startSubmission({
    retryTimeScale: 0.02,
    sandbox: {
      limits: { enabled: false },
      faults: [
        {
          fault: { fault: 'answer', status, body, when },
          match: { operation: 'gift_card_order' },
          at: [1],
        },
      ],
    },
    ...options,
  });
  return worker;
}

/** The operator cancels the entry while it waits; false: it does not wait. */
async function cancel({ store }: Submission, reference: string): Promise<void> {
  const command = { actor: 'test', reason: 'the customer left', nowMs: Date.now() };
  await store.operator
    .actOnEntry({
      ...command,
      reference,
      order: { action: 'cancel' },
      steadyMs: 0,
      referenceExpiryMs: 86_400_000,
      lookupFamilies: ['gift_card', 'esim'],
    })
    .catch((error: Error) => {
      // It is looked up already.
      if (!error.message.includes('cannot be changed by cancel')) throw error;
    });
}

const ends = ['nobody', 'an operator', 'its deadline'] as const;
const ways = [
  ['lookups have found an order', { lookupsProven: true }],
  ['lookups have found nothing yet', {}],
  ['there are no lookups', { wire: { lookup: { gift_card: 'off' } } }],
] as const;

describe.each(ways)('a call whose second copy is answered, where %s', (_, way) => {
  it.each(ends.flatMap((end) => answers.map(([http, code]) => ({ http, code, end }))))(
    'is told as bought, or is flagged: $http $code, ended by $end',
    async ({ http, code, end }) => {
      const submission = await start([http, code], { ...way, isBought: true });
      const notAfterMs = end === 'its deadline' ? Date.now() + 60 : null;
      const [reference = ''] = await submission.accept([{ quantity: 2, rules, notAfterMs }]);
      await submission.until(() => submission.counts().pending + submission.counts().sending === 0);
      if (end === 'an operator') await cancel(submission, reference);
      await submission.settled();
      const { orders } = submission.sandbox.ledger();
      const isSold = orders.length === 1;
      const { fulfilled, needs_review: inReview, expired } = submission.counts();
      // The deadline may have passed before it was sent.
      expect([orders.length, fulfilled + inReview, expired]).toEqual(
        isSold ? [1, 1, 0] : [0, 0, 1],
      );
      // Where lookups work, nobody needs to look.
      const isSettled = isSold && 'lookupsProven' in way && end === 'nobody';
      expect(fulfilled).toBeGreaterThanOrEqual(isSettled && code !== 'reference_in_use' ? 1 : 0);
    },
  );
});

describe('a call that was refused once', () => {
  it.each([
    [429, 'rate_limited', 'cancelled', 3],
    [503, 'api_disabled', 'cancelled', 3],
    [404, 'invalid_variant', 'rejected', 1],
    [422, 'order_refused', 'rejected', 1],
  ] as const)('ends as it should: %s %s', async (http, code, state, reads) => {
    const submission = await start([http, code], { lookupsProven: true, isBought: false });
    const [reference = ''] = await submission.accept([{}]);
    await submission.until(() => submission.counts().pending + submission.counts().sending === 0);
    await cancel(submission, reference);
    await submission.settled();
    expect(submission.counts()).toMatchObject({ [state]: 1 });
    const { orders, calls } = submission.sandbox.ledger();
    expect(orders).toEqual([]);
    const lookups = calls.filter(({ operation }) => !operation.endsWith('_order'));
    // One read confirms a rejection; an absence that ends an order is asked for three times.
    expect(lookups.length).toBeGreaterThanOrEqual(reads);
    expect(lookups.length).toBeLessThanOrEqual(reads === 1 ? 1 : 6);
  });
});
