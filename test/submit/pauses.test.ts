import SqliteDatabase from 'better-sqlite3';
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

const turn = (worker: Submission): Promise<unknown> =>
  Promise.race([worker.dispatcher.failed, new Promise((resolve) => void setImmediate(resolve))]);

function timesPaused(worker: Submission): number {
  const database = new SqliteDatabase(worker.databasePath, { readonly: true });
  try {
    const stops = "SELECT count(*) FROM audit WHERE action = 'pause' AND subject = 'family:gift_card'";
    return database.prepare<[], number>(stops).pluck().get() ?? 0;
  } finally {
    database.close();
  }
}

describe('orders that are rejected one after the other because of how they are written', () => {
  const misfit = {
    wire: { gift_card_order: { fields: { variant: 'sku' } } },
    concurrency: 1,
    retryTimeScale: 1,
  } as const;

  it('pause their family after five of them, also across a restart, and do not pause the other family', async () => {
    const worker = await submission(misfit);
    await worker.accept([{}, {}, {}]);
    await worker.settled();
    await worker.restart();
    await worker.accept(Array.from({ length: 40 }, () => ({})));
    while ((await worker.store.submission.pauses.all()).length === 0) await turn(worker);
    await worker.accept([{ operation: 'esim_order', variant: null, plan: 'es-1gb-7d' }]);
    while (worker.counts().fulfilled < 1) await turn(worker);
    expect(await worker.store.submission.pauses.all()).toMatchObject([
      { scope: 'family:gift_card', reason: 'consecutive_rejections', openedBy: 'worker' },
    ]);
    expect(worker.counts()).toMatchObject({ rejected: 5, pending: 38, fulfilled: 1 });
  });

  it('are tried again one at a time, and pause the family again while nothing has changed', async () => {
    const worker = await submission({ ...misfit, retryTimeScale: 0.0002 });
    await worker.accept(Array.from({ length: 9 }, () => ({})));
    await worker.settled();
    expect(worker.counts()).toMatchObject({ rejected: 9 });
    expect(timesPaused(worker)).toBe(5);
  });

  it('are tried again one at a time, whatever the concurrency, and resume the family when one is accepted', async () => {
    const worker = await submission({ ...misfit, concurrency: 8, retryTimeScale: 0.0002 });
    await worker.accept(Array.from({ length: 24 }, () => ({})));
    await worker.settled();
    // The first ones were in flight at once; each of the others paused the family again.
    expect(worker.counts()).toMatchObject({ rejected: 24 });
    expect(timesPaused(worker)).toBeGreaterThanOrEqual(10);
    await worker.restart({});
    await worker.accept(Array.from({ length: 24 }, () => ({})));
    await worker.settled();
    expect(worker.counts()).toMatchObject({ rejected: 24, fulfilled: 24 });
  });
});

describe('a probe of the whole account', () => {
  it('pauses the key with which it was denied', async () => {
    const worker = await submission({ keys: { main: 'revoked' }, retryTimeScale: 1 });
    await worker.store.submission.pauses.open({
      scope: 'account',
      reason: 'api_disabled',
      message: '',
      openedBy: 'worker',
      probeAtMs: 1,
      nowMs: 1,
    });
    await worker.dispatcher.pausesChanged();
    while ((await worker.store.submission.pauses.all()).length < 2) await turn(worker);
    const pauses = await worker.store.submission.pauses.all();
    expect(pauses.find((pause) => pause.scope === 'key:main')).toMatchObject({ reason: 'invalid_key' });
    expect(worker.sandbox.ledger().orders).toEqual([]);
  });
});
