import { afterEach, expect, it } from 'vitest';
import { stepsOf } from '../support/steps.ts';
import { startSubmission, type Submission } from '../support/submission.ts';

let worker: Submission;
afterEach(() => worker.close());

const esimPart = { variant: null, quantity: null } as const;
const nobodys = '8990000000000000001';

function counts() {
  const { fulfilled, needs_review: review, rejected } = worker.counts();
  return { fulfilled, review, rejected };
}

it('a 404 is final only after the API has accepted a call of that path, also after a restart', async () => {
  worker = await startSubmission({ sandbox: { limits: { enabled: false } } });
  await worker.accept([{ operation: 'esim_order', variant: null, plan: 'es-1gb-7d' }]);
  await worker.settled();
  const topup = (iccid: string) => ({
    ...esimPart,
    operation: 'esim_topup' as const,
    plan: 'es-1gb-7d',
    iccid,
  });
  const cancel = (iccid: string) => ({
    ...esimPart,
    operation: 'esim_cancel' as const,
    currency: null,
    iccid,
  });
  // An order was accepted, which says nothing about the paths of top-ups and cancels.
  await worker.accept([topup(nobodys), cancel(nobodys)]);
  await worker.settled();
  expect(counts()).toEqual({ fulfilled: 1, review: 2, rejected: 0 });

  await worker.accept([topup(worker.sandbox.ledger().esims[0]?.iccid ?? '')]);
  await worker.settled();
  expect(counts()).toEqual({ fulfilled: 2, review: 2, rejected: 0 });
  await worker.restart();
  await worker.accept([topup(nobodys)]);
  await worker.settled();
  expect(counts()).toEqual({ fulfilled: 2, review: 2, rejected: 1 });
});

it('a 404 under a path that was changed to a wrong one rejects nothing, although lookups are believed', async () => {
  const lost = {
    fault: { fault: 'lost_answer' as const },
    match: { operation: 'esim_topup' as const },
    at: [1],
  };
  worker = await startSubmission({ sandbox: { limits: { enabled: false }, faults: [lost] } });
  await worker.accept([{ operation: 'esim_order', variant: null, plan: 'es-1gb-7d' }]);
  await worker.settled();
  const topup = {
    ...esimPart,
    operation: 'esim_topup' as const,
    plan: 'es-1gb-7d',
    iccid: worker.sandbox.ledger().esims[0]?.iccid ?? '',
  };
  await worker.accept([topup]);
  await worker.settled();
  const proven = await stepsOf(worker.store).lookups.proven();
  expect(proven.map(({ kind }) => kind)).toContain('esim_topup');
  await worker.restart({ esim_topup: { path: '/esim/esims/{iccid}/recharges' } });
  await worker.accept([topup]);
  await worker.settled();
  expect(counts()).toEqual({ fulfilled: 2, review: 1, rejected: 0 });
});

it('mistyped ICCIDs pause no plan and no family that was bought', async () => {
  worker = await startSubmission({ sandbox: { limits: { enabled: false } } });
  const order = (plan: string) => ({ operation: 'esim_order' as const, variant: null, plan });
  const plans = ['es-1gb-7d', 'es-5gb-30d'];
  await worker.accept(plans.map(order));
  await worker.settled();
  const topup = (plan: string, iccid: string) => ({
    ...esimPart,
    operation: 'esim_topup' as const,
    plan,
    iccid,
  });
  await worker.accept(
    [0, 1, 2, 3, 4, 5].map((digit) =>
      topup(plans[digit % 2] ?? '', nobodys.replace(/.$/, `${digit}`)),
    ),
  );
  await worker.settled();
  expect(await worker.store.pauses.all()).toEqual([]);
  expect(counts()).toEqual({ fulfilled: 2, review: 6, rejected: 0 });
});
