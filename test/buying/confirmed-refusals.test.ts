import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../../sandbox/settings/fault-rules.ts';
import { stateText } from '../../src/admin/entry-text.ts';
import { startSubmission, type Submission } from '../support/submission.ts';

let worker: Submission;
afterEach(() => worker.close());

/**
 * The call is carried out; the answer is that of a second copy, which the API refused because of
 * the first.
 */
const repeated = (
  operation: 'gift_card_order' | 'esim_cancel',
  at: number,
  status: number,
  code: string,
) =>
  ({
    fault: {
      fault: 'answer',
      status,
      body: JSON.stringify({ error: { code, message: `refused: ${code}` } }),
      when: 'after',
    },
    match: { operation },
    at: [at],
  }) satisfies FaultRuleInput;

/** Its answer is lost, so a lookup finds it: from now on lookups are believed. */
const lost = (operation: 'gift_card_order' | 'esim_order'): FaultRuleInput => ({
  fault: { fault: 'lost_answer' },
  match: { operation },
  at: [1],
});

function attempts(reference: string): readonly string[] {
  const database = new SqliteDatabase(worker.databasePath, { readonly: true });
  try {
    return database
      .prepare<[string], string>(
        `SELECT a.purpose || ' ' || a.outcome FROM attempts a JOIN entries e ON e.id = a.entry_id WHERE e.reference = ? ORDER BY a.id`,
      )
      .pluck()
      .all(reference);
  } finally {
    database.close();
  }
}

it('a clean refusal is one line of the log, which ends with the refusal', async () => {
  const body = '{"error":{"code":"order_refused","message":"Not for this account."}}';
  const match = { operation: 'gift_card_order' } as const;
  const refused: FaultRuleInput = {
    fault: { fault: 'answer', status: 422, body, when: 'before' },
    match,
    at: [2],
  };
  worker = await startSubmission({
    sandbox: { limits: { enabled: false }, faults: [lost('gift_card_order'), refused] },
  });
  await worker.accept([{}]);
  await worker.settled();
  const [reference = ''] = await worker.accept([{}]);
  await worker.settled();
  expect(attempts(reference)).toEqual(['submit order_refused', 'lookup not_found']);
  expect(JSON.parse(await worker.logged('gift_card_order rejected'))).toMatchObject({
    reference,
    code: 'order_refused',
    message: 'Not for this account.',
  });
});

it('the first refusal of an installation counts when the first bought order is found meanwhile', async () => {
  worker = await startSubmission({ sandbox: { limits: { enabled: false } } });
  const [bought = '', refused = ''] = await worker.accept([{}, { variant: 'test-refused' }]);
  await worker.settled();
  expect(worker.counts()).toMatchObject({ fulfilled: 1, rejected: 1, needs_review: 0 });
  expect(attempts(bought)).toEqual(['submit accepted']);
  expect(attempts(refused)).toEqual(['submit order_refused', 'lookup not_found']);
});

describe('a refusal of a call that something in between repeated', () => {
  it('of a cancel is no rejection: the order of its eSIM shows that it was cancelled', async () => {
    const faults = [lost('esim_order'), repeated('esim_cancel', 1, 409, 'not_cancellable')];
    worker = await startSubmission({ sandbox: { limits: { enabled: false }, faults } });
    await worker.accept([{ operation: 'esim_order', variant: null, plan: 'es-1gb-7d' }]);
    await worker.settled();
    const iccid = worker.sandbox.ledger().esims[0]?.iccid ?? '';
    const [reference = ''] = await worker.accept([
      { operation: 'esim_cancel', variant: null, quantity: null, currency: null, iccid },
    ]);
    await worker.settled();
    expect(worker.sandbox.ledger().esims[0]?.state).toBe('cancelled');
    expect(worker.counts()).toMatchObject({ fulfilled: 2, rejected: 0 });
    expect(attempts(reference)).toEqual(['submit not_cancellable', 'lookup accepted']);
  });

  it.each([
    ['after its last try', { retryTimeScale: 0.001 }, null, /cancel was refused \(.*cancelled/],
    ['at its deadline', { retryTimeScale: 0.1 }, 1500, /deadline of the cancel passed/],
  ])(
    'of a cancel needs review %s where no lookup shows what became of its eSIM',
    async (_, times, deadlineMs, message) => {
      const faults = [lost('esim_order'), repeated('esim_cancel', 1, 409, 'not_cancellable')];
      worker = await startSubmission({
        sandbox: { limits: { enabled: false }, faults },
        wire: {
          answer: {
            status: ['not_shown'],
            esims: { status: ['not_shown'], ignored: ['state', 'plan', 'created_at'] },
          },
        },
        ...times,
      });
      await worker.accept([{ operation: 'esim_order', variant: null, plan: 'es-1gb-7d' }]);
      await worker.settled();
      const iccid = worker.sandbox.ledger().esims[0]?.iccid ?? '';
      const notAfterMs = deadlineMs === null ? null : Date.now() + deadlineMs;
      const part = { variant: null, quantity: null, currency: null } as const;
      await worker.accept([{ ...part, operation: 'esim_cancel', iccid, notAfterMs }]);
      await worker.settled();
      expect(worker.sandbox.ledger().esims[0]?.state).toBe('cancelled');
      expect(worker.counts()).toMatchObject({ fulfilled: 1, needs_review: 1, rejected: 0 });
      expect(worker.store.read.attention(9)).toMatchObject([
        {
          code: 'not_cancellable',
          message: expect.stringMatching(message),
        },
      ]);
    },
  );

  it('is looked up after a restart, too, and nobody can end it before', async () => {
    const faults = [
      lost('gift_card_order'),
      repeated('gift_card_order', 2, 402, 'insufficient_balance'),
    ];
    // Its lookup is due after at least 0.8 s.
    worker = await startSubmission({
      sandbox: { limits: { enabled: false }, faults },
      retryTimeScale: 0.2,
    });
    await worker.accept([{}]);
    await worker.settled();
    const [reference = ''] = await worker.accept([{ rules: { fallback_currency: 'EUR' } }]);
    await worker.until(() => worker.counts().unknown > 0);
    const [entry] = worker.store.read.showOrder('shop', 'o2')?.entries ?? [];
    expect(entry === undefined ? null : stateText(entry)).toBe('refused, being confirmed');
    await worker.restart();
    expect(worker.counts()).toMatchObject({ unknown: 1, fulfilled: 1 });
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 2, rejected: 0 });
    expect(attempts(reference)).toEqual(['submit insufficient_balance', 'lookup accepted']);
    expect(worker.sandbox.ledger().orders.map(({ currency }) => currency)).toEqual(['USD', 'USD']);
  });

  it('lets other orders be bought meanwhile: it takes no place of an unknown outcome', async () => {
    const faults = [
      lost('gift_card_order'),
      ...[2, 3, 4].map((at) => repeated('gift_card_order', at, 409, 'out_of_stock')),
    ];
    worker = await startSubmission({
      sandbox: { limits: { enabled: false }, faults },
      retryTimeScale: 0.2,
      maxUnknownOutcomes: 2,
    });
    await worker.accept([{}]);
    await worker.settled();
    await worker.accept([{}, {}, {}, {}]);
    await worker.until(() => worker.counts().fulfilled >= 2);
    expect(worker.counts()).toMatchObject({ fulfilled: 2, unknown: 3 });
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 5, rejected: 0 });
    expect(worker.sandbox.ledger().orders).toHaveLength(5);
  });
});
