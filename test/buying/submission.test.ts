import { stepsOf } from '../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../../sandbox/settings/fault-rules.ts';
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

const faults = (...rules: FaultRuleInput[]): SubmissionOptions => ({
  sandbox: { limits: { enabled: false }, faults: rules },
});

function ordersByReference(worker: Submission): Map<string, number> {
  const counts = new Map<string, number>();
  for (const order of worker.sandbox.ledger().orders)
    counts.set(order.reference ?? '', (counts.get(order.reference ?? '') ?? 0) + 1);
  return counts;
}

function attemptsOf(worker: Submission): { outcome: string; purpose: string }[] {
  const database = new SqliteDatabase(worker.databasePath, { readonly: true });
  try {
    return database
      .prepare<[], { outcome: string; purpose: string }>(
        'SELECT outcome, purpose FROM attempts ORDER BY id',
      )
      .all();
  } finally {
    database.close();
  }
}

describe('the worker', () => {
  it('buys with every operation, and confirms a cancel', async () => {
    const worker = await submission();
    await worker.accept([
      { quantity: 2 },
      { operation: 'esim_order', variant: null, plan: 'es-1gb-7d', quantity: 2 },
      { operation: 'esim_order', variant: null, plan: 'es-daily-1gb', quantity: 1, days: 7 },
    ]);
    await worker.settled();
    expect(worker.counts().fulfilled).toBe(3);
    const [first, second] = worker.sandbox.ledger().esims;
    await worker.accept([
      {
        operation: 'esim_topup',
        variant: null,
        plan: 'es-1gb-7d',
        quantity: null,
        iccid: first?.iccid ?? '',
      },
      {
        operation: 'esim_cancel',
        variant: null,
        quantity: null,
        currency: null,
        iccid: second?.iccid ?? '',
      },
    ]);
    await worker.settled();
    expect(worker.counts().fulfilled).toBe(5);
    const { orders, esims } = worker.sandbox.ledger();
    expect(orders.map((found) => found.kind).toSorted()).toEqual([
      'esim_order',
      'esim_order',
      'esim_topup',
      'gift_card_order',
    ]);
    expect(esims.map((found) => found.state)).toContain('cancelled');
  });

  it('stores the delivered units, the order number and the exact cost', async () => {
    const worker = await submission();
    await worker.accept([{ quantity: 2 }]);
    await worker.settled();
    const [due] = await worker.store.results.dueDeliveries('folder', Date.now(), 1);
    const entry = due?.document.lines[0]?.entries[0];
    const [order] = worker.sandbox.ledger().orders;
    expect(entry).toMatchObject({
      state: 'fulfilled',
      order_number: order?.number,
      cost: '9.46',
      currency: 'USD',
    });
    expect(entry?.units.map((unit) => typeof unit.code)).toEqual(['string', 'string']);
  });

  it.each([
    ['test-out-of-stock', 'out_of_stock'],
    ['test-website-only', 'not_api_sellable'],
    ['test-refused', 'order_refused'],
    ['no-such-variant', 'invalid_variant'],
  ])(
    'rejects an order that the API definitely rejects, with its code and message: %s',
    async (variant, code) => {
      const worker = await submission();
      await worker.accept([{ variant }]);
      await worker.settled();
      const [due] = await worker.store.results.dueDeliveries('folder', Date.now(), 1);
      const error = due?.document.lines[0]?.entries[0]?.error;
      expect(error).toMatchObject({ code });
      expect(error?.message).not.toBe('');
      expect(error?.action).not.toBeNull();
      expect(worker.sandbox.ledger().orders).toEqual([]);
    },
  );
});

describe('a call without an answer', () => {
  it.each<FaultRuleInput['fault']>([
    { fault: 'lost_answer' },
    { fault: 'reset', when: 'after' },
    { fault: 'reset', when: 'before' },
    { fault: 'cut_body', framing: 'content_length' },
    { fault: 'cut_body', framing: 'chunked' },
    { fault: 'cut_body', framing: 'close' },
    { fault: 'html_502', when: 'after' },
    { fault: 'html_502', when: 'before' },
    { fault: 'garbage', when: 'after' },
    { fault: 'wrong_content_length' },
    { fault: 'huge_body' },
    { fault: 'late_commit', delay_ms: 200, meanwhile: 'drop' },
  ])('leads to one order under one reference: $fault $when $framing', async (fault) => {
    const worker = await submission(
      faults({ fault, match: { operation: ['gift_card_order', 'esim_order'] }, at: [1, 2] }),
    );
    const references = await worker.accept([
      {},
      { operation: 'esim_order', variant: null, plan: 'es-1gb-7d' },
      {},
    ]);
    await worker.settled();
    expect(worker.counts().fulfilled).toBe(3);
    expect(ordersByReference(worker)).toEqual(
      new Map(references.map((reference) => [reference, 1])),
    );
  });

  it('is looked up before anything is sent again', async () => {
    const worker = await submission(
      faults({ fault: { fault: 'lost_answer' }, match: { operation: 'gift_card_order' }, at: [1] }),
    );
    await worker.accept([{}]);
    await worker.settled();
    expect(attemptsOf(worker)).toEqual([
      { outcome: 'dropped', purpose: 'submit' },
      { outcome: 'accepted', purpose: 'lookup' },
    ]);
  });

  it('is not believed to be a rejection when its own first attempt emptied the stock', async () => {
    const worker = await submission(
      faults(
        { fault: { fault: 'empty_stock' }, match: { operation: 'gift_card_order' }, at: [1] },
        { fault: { fault: 'lost_answer' }, match: { operation: 'gift_card_order' }, at: [1] },
      ),
    );
    await worker.accept([{ variant: 'steam-usd-10' }]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 1, rejected: 0 });
    expect(worker.sandbox.ledger().orders).toHaveLength(1);
  });

  it('is not believed to be absent because the configured path of lookups does not exist', async () => {
    const body = '{"error":{"code":"out_of_stock","message":"Fewer than 1 are available."}}';
    const match = { operation: 'gift_card_order' } as const;
    const worker = await submission({
      ...faults(
        { fault: { fault: 'lost_answer' }, match, at: [2] },
        { fault: { fault: 'answer', status: 409, body, when: 'before' }, match, at: [3] },
      ),
      inFlightWindowMs: 50,
    });
    await worker.accept([{ variant: 'steam-usd-10' }]);
    await worker.settled();
    await worker.until(async () => (await stepsOf(worker.store).lookups.proven()).length > 0);
    await worker.restart({ lookup: { gift_card: { path: '/orders/by-reference/{key}' } } });
    await worker.accept([{ variant: 'steam-usd-10' }]);
    await worker.settled();
    // It was bought, and the API answers not_found to the path that it does not know.
    expect(worker.sandbox.ledger().orders).toHaveLength(2);
    expect(worker.counts()).toMatchObject({ fulfilled: 1, needs_review: 1, rejected: 0 });
  });

  it('is settled by the order that the eSIM came from, if it is a cancel, never by the second answer', async () => {
    const worker = await submission(
      faults({ fault: { fault: 'lost_answer' }, match: { operation: 'esim_cancel' }, at: [1] }),
    );
    await worker.accept([{ operation: 'esim_order', variant: null, plan: 'es-1gb-7d' }]);
    await worker.settled();
    const iccid = worker.sandbox.ledger().esims[0]?.iccid ?? '';
    await worker.accept([
      { operation: 'esim_cancel', variant: null, quantity: null, currency: null, iccid },
    ]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 2, needs_review: 0 });
    expect(
      worker.sandbox.ledger().movements.filter((found) => found.kind === 'refund'),
    ).toHaveLength(1);
  });

  it('stops new purchases while too many outcomes are unknown', async () => {
    const worker = await submission({
      ...faults(
        { fault: { fault: 'lost_answer' }, match: { operation: 'gift_card_order' } },
        { fault: { fault: 'hang', when: 'before' }, match: { operation: 'gift_card_lookup' } },
      ),
      maxUnknownOutcomes: 4,
      concurrency: 1,
      timeouts: { responseMs: 100, totalMs: 200 },
    });
    // Products that were never bought together take 50 % of those that are allowed.
    const variants = ['steam-usd-5', 'steam-usd-10'];
    await worker.accept(
      Array.from({ length: 10 }, (_, index) => ({ variant: variants[index % 2] ?? '' })),
    );
    const { sandbox } = worker;
    await worker.until(() => worker.counts().unknown >= 2);
    const lookups = () => attemptsOf(worker).filter((found) => found.purpose === 'lookup').length;
    const before = lookups();
    await worker.until(() => lookups() >= before + 4);
    expect(sandbox.ledger().orders).toHaveLength(2);
    expect(worker.counts()).toMatchObject({ unknown: 2, pending: 8 });
  });
});

describe('an API that denies or limits calls', () => {
  it('makes no order fail while it is switched off, and orders resume afterwards', async () => {
    const worker = await submission(faults({ fault: { fault: 'api_disabled' }, times: 3 }));
    await worker.accept([{}, {}]);
    await worker.settled();
    expect(worker.counts().fulfilled).toBe(2);
    expect(await worker.store.pauses.all()).toEqual([]);
    expect(
      attemptsOf(worker).every((found) => ['api_disabled', 'accepted'].includes(found.outcome)),
    ).toBe(true);
  });

  it('pauses one empty balance after three refused orders while orders of another one are bought', async () => {
    const worker = await submission({
      sandbox: {
        limits: { enabled: false },
        accounts: [
          {
            id: 'acme',
            balances: { USD: '1.00', EUR: '100.00' },
            keys: [{ name: 'main', value: 'sandbox-key-main' }],
          },
        ],
      },
      retryTimeScale: 0.2,
    });
    await worker.accept([{}, { currency: 'EUR' }, {}, { currency: 'EUR' }, {}, {}]);
    await worker.until(() => worker.counts().waiting >= 4 && worker.counts().fulfilled >= 2);
    expect(worker.counts()).toMatchObject({ fulfilled: 2, rejected: 0 });
    expect(await worker.store.pauses.all()).toMatchObject([
      { scope: 'balance:USD', reason: 'insufficient_balance' },
    ]);
  });

  it('loses no order by an unexpected 429', async () => {
    const worker = await submission(
      faults({
        fault: { fault: 'rate_limited' },
        match: { operation: 'gift_card_order' },
        times: 3,
      }),
    );
    await worker.accept([{}, {}]);
    await worker.settled();
    expect(worker.counts().fulfilled).toBe(2);
    expect(ordersByReference(worker).size).toBe(2);
  });
});

describe('an order whose units come later', () => {
  it('is looked up until all of them are there', async () => {
    const worker = await submission({
      sandbox: {
        limits: { enabled: false },
        fulfilment: { mode: 'delayed', delay_ms: [150, 200] },
      },
    });
    await worker.accept([{ quantity: 3 }]);
    await worker.settled();
    expect(worker.counts().fulfilled).toBe(1);
    expect(attemptsOf(worker).filter((found) => found.purpose === 'submit')).toHaveLength(1);
  });
});

describe('a restart', () => {
  it('continues all orders, and buys nothing twice', async () => {
    const worker = await submission({
      sandbox: { limits: { enabled: false }, latency: { after_ms: [30, 60] } },
    });
    const references = await worker.accept(Array.from({ length: 40 }, () => ({})));
    for (let turn = 0; turn < 3; turn += 1) {
      const before = worker.counts().fulfilled;
      await worker.until(() => worker.counts().fulfilled >= before + 3);
      await worker.restart();
    }
    await worker.settled();
    expect(worker.counts().fulfilled).toBe(40);
    expect(ordersByReference(worker)).toEqual(
      new Map(references.map((reference) => [reference, 1])),
    );
  });
});

describe('the rules of an order', () => {
  it('an order above the per-order limit is bought in parts, each under a reference of its own', async () => {
    const worker = await submission({ lookupsProven: true });
    await worker.accept([{ variant: 'test-limit-5', quantity: 17, rules: { split: true } }]);
    await worker.settled();
    const { orders } = worker.sandbox.ledger();
    expect(orders.map((order) => order.quantity).toSorted((a, b) => a - b)).toEqual([4, 4, 4, 5]);
    expect(new Set(orders.map((order) => order.reference)).size).toBe(4);
    const [due] = await worker.store.results.dueDeliveries('folder', Date.now(), 1);
    expect(due?.document).toMatchObject({ state: 'completed', lines: [{ state: 'fulfilled' }] });
    expect(due?.document.lines[0]?.entries.flatMap((entry) => entry.units)).toHaveLength(17);
  });

  it('a limit that was learned saves calls for the next order', async () => {
    const worker = await submission({ lookupsProven: true });
    const calls = () =>
      attemptsOf(worker).filter((attempt) => attempt.outcome === 'limit_exceeded').length;
    await worker.accept([{ variant: 'test-limit-5', quantity: 16, rules: { split: true } }]);
    await worker.settled();
    const first = calls();
    await worker.accept([{ variant: 'test-limit-5', quantity: 16, rules: { split: true } }]);
    await worker.settled();
    expect([first, calls() - first]).toEqual([3, 1]);
    expect(worker.sandbox.ledger().orders).toHaveLength(8);
  });

  it('an order above the limit that does not allow a split is rejected', async () => {
    const worker = await submission({ lookupsProven: true });
    await worker.accept([{ variant: 'test-limit-5', quantity: 6 }]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ rejected: 1, fulfilled: 0 });
  });

  it('an order of more than is in stock buys what there is, to an eighth, and reports the rest as short', async () => {
    const worker = await submission();
    await worker.accept([{ variant: 'xbox-usd-10', quantity: 48 }]);
    await worker.settled();
    // 32 are left: 24 and 6 of them are bought.
    await worker.accept([
      { orderId: 'some', variant: 'xbox-usd-10', quantity: 48, rules: { partial: true } },
    ]);
    await worker.settled();
    const { orders } = worker.sandbox.ledger();
    expect(orders.map((order) => order.quantity).toSorted((a, b) => a - b)).toEqual([6, 24, 48]);
    const due = await worker.store.results.dueDeliveries('folder', Date.now(), 2);
    const document = due.find((found) => found.document.order_id === 'some')?.document;
    expect(document).toMatchObject({ state: 'partial', lines: [{ state: 'partial' }] });
    expect(document?.lines[0]?.entries.flatMap((entry) => entry.units)).toHaveLength(30);
    expect(
      attemptsOf(worker).filter((attempt) => attempt.outcome === 'out_of_stock').length,
    ).toBeLessThanOrEqual(15);
  });

  it('an order whose balance is empty is charged to the other one, under another reference', async () => {
    const worker = await submission({
      lookupsProven: true,
      sandbox: {
        limits: { enabled: false },
        accounts: [
          {
            id: 'acme',
            balances: { USD: '1.00', EUR: '100.00' },
            keys: [{ name: 'main', value: 'sandbox-key-main' }],
          },
        ],
      },
    });
    const [first] = await worker.accept([{ rules: { fallback_currency: 'EUR' } }]);
    await worker.settled();
    const [order] = worker.sandbox.ledger().orders;
    expect(order).toMatchObject({ currency: 'EUR' });
    expect(order?.reference).not.toBe(first);
    expect(worker.counts()).toMatchObject({ rejected: 1, fulfilled: 1 });
  });
});

describe('a disk that is nearly full', () => {
  it('stops sending', async () => {
    const worker = await submission({ minFreeBytes: Number.MAX_SAFE_INTEGER });
    const [reference] = await worker.accept([{}]);
    await expect(
      worker.logged('the disk of the outbox is nearly full: nothing is sent until space is freed'),
    ).resolves.toBeDefined();
    expect(reference).toBeDefined();
    expect(worker.sandbox.ledger().calls).toEqual([]);
  });
});
