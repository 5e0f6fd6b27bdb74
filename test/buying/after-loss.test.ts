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
const short = '{"error":{"code":"out_of_stock","message":"Fewer are available."}}';
const empty =
  '{"error":{"code":"insufficient_balance","message":"The USD balance does not cover the order."}}';
/** The first call meets an empty balance, which has money again later. */
const emptyOnce: SubmissionOptions = {
  lookupsProven: true,
  sandbox: {
    limits: { enabled: false },
    faults: [
      { fault: { fault: 'answer', status: 402, body: empty, when: 'before' }, match, at: [1] },
    ],
  },
};

const spending = (worker: Submission): number =>
  worker.sandbox.ledger().calls.filter((call) => call.operation === 'gift_card_order').length;

describe('after the loss of the outbox', () => {
  it('an order that had been charged to its other balance needs review, and is not bought from the first one', async () => {
    const worker = await submission(emptyOnce);
    const line = { orderId: 'lost', rules: { fallback_currency: 'EUR' } };
    await worker.accept([line]);
    await worker.settled();
    expect(worker.sandbox.ledger().orders).toMatchObject([{ currency: 'EUR' }]);
    await worker.loseOutbox({ looksFirst: true });
    await worker.accept([line]);
    await worker.settled();
    expect(worker.sandbox.ledger().orders).toHaveLength(1);
    expect(worker.counts()).toMatchObject({ needs_review: 1, fulfilled: 0 });
  });

  it('a bought order is found by a lookup alone, and an order that was not bought is bought', async () => {
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

  it('an order that the lost outbox bought in time does not expire', async () => {
    const worker = await submission();
    const line = { orderId: 'late', notAfterMs: Date.now() + 60_000 };
    await worker.accept([line]);
    await worker.settled();
    await worker.loseOutbox({ looksFirst: true });
    await worker.accept([{ ...line, notAfterMs: 1 }]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 1, expired: 0 });
  });

  it('no order is cancelled before it was looked up, because it may have been bought', async () => {
    const worker = await submission({ minFreeBytes: Number.MAX_SAFE_INTEGER });
    await worker.loseOutbox({ looksFirst: true });
    const [reference] = await worker.accept([{ orderId: 'refunded' }]);
    const request = { actor: 'shop', reason: 'refunded there', nowMs: Date.now() };
    const taken = await worker.store.intake.cancelUnsent({
      source: 'shop',
      orderId: 'refunded',
      ...request,
    });
    expect(taken).toMatchObject({ kind: 'refused', lines: [{ reference, state: 'pending' }] });
  });

  it('an order that was bought in part needs review, and is not bought whole, now that all of it is in stock', async () => {
    const worker = await submission({
      concurrency: 1,
      lookupsProven: true,
      sandbox: {
        limits: { enabled: false },
        // The whole order, its first part and both parts of that are out of stock; the second part
        // is bought.
        faults: [
          {
            fault: { fault: 'answer', status: 409, body: short, when: 'before' },
            match,
            at: [1, 2, 4, 5],
          },
        ],
      },
    });
    const line = { orderId: 'part', quantity: 4, rules: { partial: true } };
    await worker.accept([line]);
    await worker.settled();
    const bought = (): number =>
      worker.sandbox.ledger().orders.reduce((sum, order) => sum + order.quantity, 0);
    const whole = { orderId: 'whole' };
    await worker.accept([whole]);
    await worker.settled();
    expect(bought()).toBe(3);
    await worker.loseOutbox({ looksFirst: true });
    // The first order that is found proves that lookups work.
    await worker.accept([whole]);
    await worker.settled();
    await worker.accept([line]);
    await worker.settled();
    expect(bought()).toBe(3);
    expect(worker.counts()).toMatchObject({ fulfilled: 1, needs_review: 1 });
  });

  it('an order that an operator re-ordered needs review, and is not bought a second time', async () => {
    const worker = await submission({
      lookupsProven: true,
      sandbox: {
        limits: { enabled: false },
        faults: [
          { fault: { fault: 'answer', status: 409, body: short, when: 'before' }, match, at: [1] },
        ],
      },
    });
    const [reference = ''] = await worker.accept([{ orderId: 'again' }]);
    await worker.settled();
    await worker.store.operator.actOnEntry({
      reference,
      order: { action: 'reorder', confirm: reference },
      actor: 'test',
      reason: 'in stock again',
      nowMs: Date.now(),
      steadyMs: 0,
      referenceExpiryMs: 86_400_000,
      lookupFamilies: ['gift_card'],
    });
    await worker.settled();
    expect(worker.counts()).toMatchObject({ rejected: 1, fulfilled: 1 });
    await worker.loseOutbox({ looksFirst: true });
    await worker.accept([{ orderId: 'again' }]);
    await worker.settled();
    expect(worker.sandbox.ledger().orders).toHaveLength(1);
    expect(worker.counts()).toMatchObject({ needs_review: 1 });
  });

  it('an order that may have been charged to its other balance needs review when lookups are impossible', async () => {
    const worker = await submission(emptyOnce);
    const line = { orderId: 'lost', rules: { fallback_currency: 'EUR' } };
    await worker.accept([line]);
    await worker.settled();
    await worker.restart({ lookup: { gift_card: 'off' } });
    await worker.loseOutbox({ looksFirst: true });
    await worker.accept([line, { orderId: 'plain' }]);
    await worker.settled();
    expect(worker.sandbox.ledger().orders.map((order) => order.currency)).toEqual(['EUR', 'USD']);
    expect(worker.counts()).toMatchObject({ needs_review: 1, fulfilled: 1 });
  });
});
