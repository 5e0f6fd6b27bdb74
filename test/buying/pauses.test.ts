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
    // The first pause lasts twelve seconds, longer than the test, and a refusal is confirmed after one.
    retryTimeScale: 0.2,
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
    const { needs_review: reviewed, unknown: confirmed, ...others } = worker.counts();
    expect(reviewed + confirmed).toBe(3);
    expect(others).toMatchObject({ pending: 39, fulfilled: 1 });
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

describe('orders of a product that the supplier refuses', () => {
  const body = '{"error":{"code":"order_refused","message":"The brand stopped deliveries."}}';
  const refusing = (calls: readonly number[], retryTimeScale: number): SubmissionOptions => ({
    sandbox: {
      limits: { enabled: false },
      faults: [
        { fault: { fault: 'lost_answer' }, match: { operation: 'gift_card_order' }, at: [1] },
        {
          fault: { fault: 'answer', status: 422, body, when: 'before' },
          match: { item: 'steam-usd-5' },
          at: [...calls],
        },
      ],
    },
    concurrency: 1,
    retryTimeScale,
  });
  const other = { variant: 'steam-usd-10' };

  it('pause it after three that lookups have confirmed, and its other lines wait', async () => {
    const worker = await submission(refusing([1, 2, 3], 0.02));
    await worker.accept([other]);
    await worker.settled();
    await worker.accept(Array.from({ length: 18 }, () => ({})));
    await worker.until(async () => (await pausesOf(worker)).length > 0);
    await worker.accept([other]);
    await worker.until(() => worker.counts().fulfilled >= 2);
    expect(await pausesOf(worker)).toMatchObject([
      {
        scope: 'variant:steam-usd-5',
        reason: 'product_refused',
        message: '3 entries in a row: order_refused: The brand stopped deliveries.',
      },
    ]);
    // Nothing was sent while lookups had still to confirm the three.
    expect(worker.counts()).toMatchObject({ rejected: 3, pending: 15, fulfilled: 2 });
    const [row] = worker.store.read.attention(1, { kind: 'pause' });
    expect(row).toMatchObject({
      reason: 'product_refused',
      message: expect.stringMatching(/^the supplier refuses this product, so its other lines wait/),
      whatToDo: expect.stringContaining('orders reorder'),
    });
  });

  it('are tried again one at a time, and go on once one is bought', async () => {
    const worker = await submission(refusing([1, 2, 3, 4, 5, 6], 0.0004));
    await worker.accept([other]);
    await worker.settled();
    await worker.accept(Array.from({ length: 12 }, () => ({})));
    await worker.settled();
    // Three before the pause, and three trials.
    expect(worker.counts()).toMatchObject({ rejected: 6, fulfilled: 7 });
    expect(await pausesOf(worker)).toEqual([]);
  });

  it('do not count when another one was accepted before lookups confirmed them', async () => {
    const worker = await submission(refusing([1, 2, 4], 0.02));
    await worker.accept([other]);
    await worker.settled();
    await worker.accept([{}, {}, {}, {}]);
    await worker.settled();
    expect(worker.counts()).toMatchObject({ rejected: 3, fulfilled: 2 });
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
