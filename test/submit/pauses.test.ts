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

function timesStopped(worker: Submission): number {
  const database = new SqliteDatabase(worker.databasePath, { readonly: true });
  try {
    const stops = "SELECT count(*) FROM audit WHERE action = 'pause' AND subject = 'family:gift_card'";
    return database.prepare<[], number>(stops).pluck().get() ?? 0;
  } finally {
    database.close();
  }
}

describe('orders whose form is refused one after the other', () => {
  const misfit = {
    wire: { gift_card_order: { fields: { variant: 'sku' } } },
    concurrency: 1,
    retryTimeScale: 1,
  } as const;

  it('stop their family after five of them, also across a restart, and leave the other family alone', async () => {
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

  it('are tried again one at a time, and stop at once while nothing has changed', async () => {
    const worker = await submission({ ...misfit, retryTimeScale: 0.0002 });
    await worker.accept(Array.from({ length: 9 }, () => ({})));
    await worker.settled();
    expect(worker.counts()).toMatchObject({ rejected: 9 });
    expect(timesStopped(worker)).toBe(5);
  });

  it('are tried again one at a time however many calls may be open at once, and go on when one is understood', async () => {
    const worker = await submission({ ...misfit, concurrency: 8, retryTimeScale: 0.0002 });
    await worker.accept(Array.from({ length: 24 }, () => ({})));
    await worker.settled();
    // Of the first ones as many as were under way; of the rest each brought a stop of its own.
    expect(worker.counts()).toMatchObject({ rejected: 24 });
    expect(timesStopped(worker)).toBeGreaterThanOrEqual(10);
    await worker.restart({});
    await worker.accept(Array.from({ length: 24 }, () => ({})));
    await worker.settled();
    expect(worker.counts()).toMatchObject({ rejected: 24, fulfilled: 24 });
  });
});

describe('a probe of the whole account', () => {
  it('lets the key stand still that it was turned away with', async () => {
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
