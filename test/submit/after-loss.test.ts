import { afterEach, describe, expect, it } from 'vitest';
import { startSubmission, type Submission, type SubmissionOptions } from '../support/submission.ts';

let open: Submission | null = null;

async function submission(options: SubmissionOptions = {}): Promise<Submission> {
  open = await startSubmission(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = null;
});

const match = { operation: 'gift_card_order' } as const;
const empty = '{"error":{"code":"insufficient_balance","message":"The USD balance does not cover the order."}}';
/** The first call meets an empty balance, which has money again later. */
const emptyOnce: SubmissionOptions = {
  sandbox: {
    limits: { enabled: false },
    faults: [{ fault: { fault: 'answer', status: 402, body: empty, when: 'before' }, match, at: [1] }],
  },
};

const spending = (worker: Submission): number =>
  worker.sandbox.ledger().calls.filter((call) => call.operation === 'gift_card_order').length;

describe('after the loss of the outbox', () => {
  it('an order that had been charged to its other balance is found there, and not bought from the first one', async () => {
    const worker = await submission(emptyOnce);
    const line = { orderId: 'lost', rules: { fallback_currency: 'EUR' } };
    await worker.accept([line]);
    await worker.settled();
    expect(worker.sandbox.ledger().orders).toMatchObject([{ currency: 'EUR' }]);
    await worker.loseOutbox({ looksFirst: true });
    await worker.accept([line]);
    await worker.settled();
    expect(worker.sandbox.ledger().orders).toHaveLength(1);
    expect(worker.counts()).toMatchObject({ fulfilled: 1, rejected: 1 });
  });

  it('what was bought is found without spending a call on it, and what was not is bought', async () => {
    const worker = await submission();
    const lines = [{ orderId: 'a' }, { orderId: 'b' }, { orderId: 'c' }];
    await worker.accept(lines);
    await worker.settled();
    await worker.loseOutbox({ looksFirst: true });
    await worker.accept([...lines, { orderId: 'new' }, { orderId: 'newer' }]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 5 });
    expect(worker.sandbox.ledger().orders).toHaveLength(5);
    expect(spending(worker)).toBe(5);
  });

  it('nobody is told that an order expired which the lost outbox had bought in time', async () => {
    const worker = await submission();
    const line = { orderId: 'late', notAfterMs: Date.now() + 60_000 };
    await worker.accept([line]);
    await worker.settled();
    await worker.loseOutbox({ looksFirst: true });
    await worker.accept([{ ...line, notAfterMs: 1 }]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 1, expired: 0 });
  });

  it('nothing is taken back before it was looked up, because it may have been bought', async () => {
    const worker = await submission({ minFreeBytes: Number.MAX_SAFE_INTEGER });
    await worker.loseOutbox({ looksFirst: true });
    const [reference] = await worker.accept([{ orderId: 'refunded' }]);
    const wish = { actor: 'shop', reason: 'refunded there', nowMs: Date.now() };
    const taken = await worker.store.cancelUnsent({ source: 'shop', orderId: 'refunded', ...wish });
    expect(taken).toMatchObject({ kind: 'refused', lines: [{ reference, state: 'pending' }] });
  });
});
