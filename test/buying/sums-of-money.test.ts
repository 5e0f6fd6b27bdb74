import { afterEach, describe, expect, it } from 'vitest';
import { startSubmission, type Submission, type SubmissionOptions } from '../support/submission.ts';

let open: Submission | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

async function submission(options: SubmissionOptions = {}): Promise<Submission> {
  open = await startSubmission(options);
  return open;
}

/** What left each balance, by the books of the sandbox and by the worker, in hundredths. */
function sums({ sandbox, store }: Submission) {
  const booked: Record<string, number> = {};
  for (const { currency, kind, amount_minor: minor } of sandbox.ledger().movements)
    if (kind !== 'funding') booked[currency] = (booked[currency] ?? 0) - minor;
  const nowMs = Date.now();
  const days = store.read.spending({ fromMs: nowMs - 86_400_000, untilMs: nowMs + 1 });
  const told: Record<string, number> = {};
  for (const { currency, spent, refunded } of days)
    told[currency] = (told[currency] ?? 0) + Math.round((Number(spent) - Number(refunded)) * 100);
  const unknown = days.reduce((sum, day) => sum + day.refunds_unknown, 0);
  return { booked, told, unknown };
}

const esimOrder = (quantity: number) =>
  ({ operation: 'esim_order', variant: null, plan: 'es-1gb-7d', quantity }) as const;
const cancelOf = (iccid = '') =>
  ({ operation: 'esim_cancel', variant: null, quantity: null, currency: null, iccid }) as const;
const lostCancel = {
  fault: { fault: 'lost_answer' },
  match: { operation: 'esim_cancel' },
} as const;
const iccids = ({ sandbox }: Submission) => sandbox.ledger().esims.map(({ iccid }) => iccid);

describe('the sums of money are the movements of each balance', () => {
  it('after orders, an order that is refunded, and the cancel of one eSIM of three', async () => {
    const worker = await submission();
    await worker.accept([
      { quantity: 2 },
      { currency: 'EUR' },
      { variant: 'test-refunded' },
      esimOrder(3),
    ]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 3, refunded: 1 });
    await worker.accept([cancelOf(iccids(worker)[1])]);
    await worker.settled();
    const { booked, told, unknown } = sums(worker);
    expect(told).toEqual(booked);
    expect(unknown).toBe(0);
    const { refunded } = worker.store.read.numbers({ fromMs: 0, untilMs: Date.now() + 1 }).total;
    expect(refunded).toHaveLength(1);
  });

  it('except for a refund whose answer was lost, which is listed as unknown', async () => {
    const worker = await submission({ sandbox: { faults: [{ ...lostCancel, at: [1] }] } });
    await worker.accept([esimOrder(1)]);
    await worker.settled();
    await worker.accept([cancelOf(iccids(worker)[0])]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 2 });
    const { booked, told, unknown } = sums(worker);
    expect(booked).toEqual({ USD: 0 });
    expect(told['USD']).toBeGreaterThan(0);
    expect(unknown).toBe(1);
  });

  it('where two cancels of one eSIM both end as done: it came back once', async () => {
    const worker = await submission({ sandbox: { faults: [lostCancel] } });
    await worker.accept([esimOrder(1)]);
    await worker.settled();
    const cancel = cancelOf(iccids(worker)[0]);
    await worker.accept([cancel]);
    await worker.settled();
    await worker.accept([cancel]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ fulfilled: 3 });
    expect(sums(worker).unknown).toBe(1);
  });
});
