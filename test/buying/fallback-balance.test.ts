import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { startSubmission, type Submission, type SubmissionOptions } from '../support/submission.ts';

let worker: Submission;
afterEach(() => worker.close());

const line = { rules: { fallback_currency: 'EUR' } };
/** One EUR buys nothing, and so does one USD. */
async function startEmpty(options: SubmissionOptions = {}): Promise<void> {
  const keys = [{ name: 'main', value: 'sandbox-key-main' }];
  const accounts = [{ id: 'acme', balances: { USD: '1.00', EUR: '1.00' }, keys }];
  const sandbox = { limits: { enabled: false }, accounts };
  worker = await startSubmission({ lookupsProven: true, sandbox, ...options });
}

const deposit = (currency: string): Promise<unknown> =>
  worker.sandbox.operate((operator) =>
    operator.accountEvent('acme', { add: { [currency]: '500' } }),
  );

function entries(): readonly { reference: string; state: string; currency: string }[] {
  const database = new SqliteDatabase(worker.databasePath, { readonly: true });
  try {
    return database
      .prepare<[], { reference: string; state: string; currency: string }>(
        'SELECT reference, state, currency FROM entries ORDER BY line_id, id',
      )
      .all();
  } finally {
    database.close();
  }
}

/** An operator acts on the entry that waits. Returns its reference. */
async function decide(action: 'retry' | 'cancel'): Promise<string> {
  const reference = entries().find(({ state }) => state === 'waiting')?.reference ?? '';
  await worker.store.operator.actOnEntry({
    reference,
    order: { action },
    actor: 'test',
    reason: 'the balance was filled',
    nowMs: Date.now(),
    steadyMs: 0,
    referenceExpiryMs: 86_400_000,
    lookupFamilies: ['gift_card'],
  });
  return reference;
}

const calls = (): number =>
  worker.sandbox.ledger().calls.filter(({ operation }) => operation === 'gift_card_order').length;
const untilCalls = (count: number): Promise<void> => worker.until(() => calls() >= count);

describe('an order with two balances that are both empty', () => {
  it.each(['USD', 'EUR'])('is bought once when %s is filled', async (currency) => {
    await startEmpty();
    await worker.accept([line]);
    await untilCalls(6);
    await deposit(currency);
    await worker.settled();
    const { orders } = worker.sandbox.ledger();
    expect(orders.map((order) => order.currency)).toEqual([currency]);
    // However often they were asked, each balance has one reference.
    const [first, second, ...others] = entries();
    expect(others).toEqual([]);
    expect([first?.currency, second?.currency]).toEqual(['USD', 'EUR']);
    const bought = currency === 'USD' ? first : second;
    expect(bought).toMatchObject({ state: 'fulfilled', reference: orders[0]?.reference });
    expect(worker.counts()).toMatchObject({ fulfilled: 1, rejected: 1 });
  });

  it('is bought with all others when both balances were paused, and the first one is filled', async () => {
    await startEmpty();
    await worker.accept(Array.from({ length: 8 }, () => line));
    const paused = async (): Promise<number> =>
      (await worker.store.pauses.all()).filter(({ scope }) => scope.startsWith('balance:')).length;
    await worker.until(async () => (await paused()) === 2);
    await untilCalls(14);
    await deposit('USD');
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 8 });
    expect(worker.sandbox.ledger().orders.map(({ currency }) => currency)).toEqual(
      Array.from({ length: 8 }, () => 'USD'),
    );
    // Some wait for the trial of a balance, and never came to the other one.
    expect(entries().length).toBeLessThanOrEqual(16);
  });

  it('is bought at once when an operator retries it after a deposit', async () => {
    // Its next try comes after 6 s.
    await startEmpty({ retryTimeScale: 0.1 });
    await worker.accept([line]);
    await worker.until(() => worker.counts().waiting === 1 && worker.counts().rejected === 1);
    await deposit('USD');
    const waiting = await decide('retry');
    worker.dispatcher.notify();
    const sinceMs = performance.now();
    await worker.settled();
    expect(worker.sandbox.ledger().orders).toMatchObject([{ currency: 'USD', reference: waiting }]);
    expect(performance.now() - sinceMs).toBeLessThan(5000);
  });

  it('ends unbought at its deadline, or when an operator cancels it, whichever balance has its turn', async () => {
    await startEmpty();
    const notAfterMs = Date.now() + 700;
    await worker.accept([{ ...line, notAfterMs }]);
    await worker.settled();
    await worker.accept([line]);
    await untilCalls(calls() + 4);
    await worker.until(() => worker.counts().waiting > 0);
    await decide('cancel');
    await worker.settled();
    await deposit('USD');
    await deposit('EUR');
    expect(worker.sandbox.ledger().orders).toEqual([]);
    expect(worker.counts()).toMatchObject({ rejected: 3, cancelled: 1 });
  });
});

it('an order waits for its first balance where the product has no price in the other one', async () => {
  const body = '{"error":{"code":"currency_unavailable","message":"No price in EUR."}}';
  const match = { operation: 'gift_card_order' } as const;
  await startEmpty({
    sandbox: {
      limits: { enabled: false },
      accounts: [
        {
          id: 'acme',
          balances: { USD: '1.00' },
          keys: [{ name: 'main', value: 'sandbox-key-main' }],
        },
      ],
      faults: [{ fault: { fault: 'answer', status: 422, body, when: 'before' }, match, at: [2] }],
    },
  });
  await worker.accept([line]);
  await untilCalls(5);
  await deposit('USD');
  await worker.settled();
  expect(worker.sandbox.ledger().orders).toMatchObject([{ currency: 'USD' }]);
  expect(entries()).toHaveLength(2);
});
