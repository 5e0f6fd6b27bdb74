import { afterEach, describe, expect, it } from 'vitest';
import { startSubmission, type Submission, type SubmissionOptions } from '../support/submission.ts';

let open: Submission | null = null;

async function submission(options: SubmissionOptions): Promise<Submission> {
  open = await startSubmission(options);
  return open;
}
afterEach(async () => {
  await open?.close();
  open = null;
});

const pausesOf = (worker: Submission) => worker.store.pauses.all();

describe('orders that are rejected one after the other because of how they are written', () => {
  const misfit = {
    wire: {
      gift_card_order: {
        body: { reference: '{reference}', sku: '{variant}', quantity: '{quantity}' },
      },
    },
    concurrency: 1,
    retryTimeScale: 1,
  } as const;

  it('pause their product after three of them, also across a restart, and nothing else', async () => {
    const worker = await submission(misfit);
    await worker.accept([{}, {}]);
    await worker.settled();
    await worker.restart();
    await worker.accept(Array.from({ length: 40 }, () => ({})));
    await worker.until(async () => (await pausesOf(worker)).length > 0);
    await worker.accept([{ operation: 'esim_order', variant: null, plan: 'es-1gb-7d' }]);
    await worker.until(() => worker.counts().fulfilled >= 1);
    expect(await pausesOf(worker)).toMatchObject([
      { scope: 'variant:steam-usd-5', reason: 'consecutive_rejections', openedBy: 'worker' },
    ]);
    expect(worker.counts()).toMatchObject({ needs_review: 3, pending: 39, fulfilled: 1 });
  });

  it('are tried again one at a time, whatever the concurrency, later each time', async () => {
    const worker = await submission({ ...misfit, concurrency: 8, retryTimeScale: 0.0002 });
    await worker.accept(Array.from({ length: 8 }, () => ({})));
    await worker.settled();
    expect(worker.counts()).toMatchObject({ needs_review: 8 });
    // Two calls may be under way before the product was ever bought, so four orders can go out
    // before the pause.
    const [pause] = await pausesOf(worker);
    expect(pause?.probes).toBeGreaterThanOrEqual(4);
    await worker.restart({});
    await worker.accept(Array.from({ length: 24 }, () => ({})));
    await worker.settled();
    expect(worker.counts()).toMatchObject({ needs_review: 8, fulfilled: 24 });
    expect(await pausesOf(worker)).toEqual([]);
  });
});

describe('a probe of the whole account', () => {
  it('pauses the key with which it was denied', async () => {
    const worker = await submission({ keys: { main: 'revoked' }, retryTimeScale: 1 });
    await worker.store.pauses.open({
      scope: 'account',
      reason: 'api_disabled',
      message: '',
      openedBy: 'worker',
      probeAtMs: 1,
      nowMs: 1,
    });
    await worker.dispatcher.pausesChanged();
    await worker.until(async () => (await pausesOf(worker)).length >= 2);
    const pauses = await pausesOf(worker);
    expect(pauses.find((pause) => pause.scope === 'key:main')).toMatchObject({
      reason: 'invalid_key',
    });
    expect(worker.sandbox.ledger().orders).toEqual([]);
  });
});
