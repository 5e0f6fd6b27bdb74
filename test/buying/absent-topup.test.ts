import { stepsOf } from '../support/steps.ts';
import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxConfig } from '../../sandbox/settings/config.ts';
import { startSubmission, type Submission } from '../support/submission.ts';

let open: Submission | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

const notFound = '{"error":{"code":"not_found","message":"There is no order of that reference."}}';
const empty =
  '{"error":{"code":"insufficient_balance","message":"The USD balance does not cover the order."}}';
const match = { operation: 'esim_topup' } as const;
const isTooDear = { fault: 'answer', status: 402, body: empty, when: 'before' } as const;

/** A worker that has bought an eSIM, whose lookup has found it. */
async function withEsim(
  faults: SandboxConfig['faults'],
): Promise<{ worker: Submission; iccid: string }> {
  const worker = await startSubmission({ sandbox: { limits: { enabled: false }, faults } });
  open = worker;
  await worker.accept([
    { operation: 'esim_order', variant: null, plan: 'es-1gb-7d', orderId: 'esim' },
  ]);
  await worker.settled();
  await proven(worker, 1);
  const [unit] = worker.store.read.resultDocument(1).document.lines[0]?.entries[0]?.units ?? [];
  return { worker, iccid: unit?.iccid ?? '' };
}

const proven = (worker: Submission, kinds: number): Promise<void> =>
  worker.until(async () => (await stepsOf(worker.store).lookups.proven()).length >= kinds);

const topup = (orderId: string, iccid: string) => ({
  orderId,
  iccid,
  operation: 'esim_topup' as const,
  variant: null,
  plan: 'es-1gb-7d',
  quantity: null,
  rules: { fallback_currency: 'EUR' },
});

const topups = (worker: Submission) =>
  worker.sandbox.ledger().orders.filter((order) => order.kind === 'esim_topup');

describe('a top-up that a lookup does not find', () => {
  it('is not charged to its other balance when only eSIM orders were ever found: the first call may have bought it', async () => {
    const { worker, iccid } = await withEsim([
      {
        fault: { fault: 'answer', status: 404, body: notFound, when: 'before' },
        match: { operation: 'esim_order_lookup' },
        at: Array.from({ length: 50 }, (_, index) => index + 2),
      },
      { fault: { fault: 'lost_answer' }, match, at: [1] },
      { fault: isTooDear, match, at: [2] },
    ]);
    await worker.accept([topup('unknown', iccid)]);
    await worker.settled();
    expect(topups(worker)).toHaveLength(1);
    expect(worker.counts()).toMatchObject({ fulfilled: 1, needs_review: 1 });
  });

  it('is believed to be absent after a lookup has found another top-up', async () => {
    const { worker, iccid } = await withEsim([
      { fault: { fault: 'reset', when: 'before' }, match, at: [2] },
      { fault: isTooDear, match, at: [3] },
    ]);
    await worker.accept([topup('plain', iccid)]);
    await worker.settled();
    await proven(worker, 2);
    await worker.accept([topup('unknown', iccid)]);
    await worker.settled();
    expect(topups(worker).map((order) => order.currency)).toEqual(['USD', 'EUR']);
    expect(worker.counts()).toMatchObject({ fulfilled: 3, rejected: 1, needs_review: 0 });
  });
});
