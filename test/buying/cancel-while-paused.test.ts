import SqliteDatabase from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { startSubmission } from '../support/submission.ts';

it('a cancel of unknown outcome in a paused family is looked up with a back-off', async () => {
  const worker = await startSubmission({
    retryTimeScale: 0.02,
    sandbox: {
      limits: { enabled: false },
      faults: [{ fault: { fault: 'reset', when: 'before' }, match: { operation: 'esim_cancel' } }],
    },
  });
  onTestFinished(() => worker.close());
  await worker.accept([{ operation: 'esim_order', variant: null, plan: 'es-1gb-7d' }]);
  await worker.settled();
  const iccid = worker.sandbox.ledger().esims[0]?.iccid ?? '';
  await worker.accept([
    { operation: 'esim_cancel', variant: null, quantity: null, currency: null, iccid },
  ]);
  await worker.until(() => worker.counts().unknown >= 1);
  const who = { actor: 'cli:anna', reason: 'stocktaking', nowMs: Date.now() };
  await worker.store.operator.pauseScope({ ...who, scope: 'family:esim' });
  await worker.dispatcher.pausesChanged();
  const clock = new SystemClock();
  const database = new SqliteDatabase(worker.databasePath, { readonly: true });
  onTestFinished(() => void database.close());
  const next = database.prepare<[number], { nextStep: string; inMs: number; lookups: number }>(
    `SELECT next_step AS nextStep, due_steady - ? AS inMs,
       (SELECT count(*) FROM attempts a WHERE a.entry_id = e.id AND purpose = 'lookup') AS lookups
     FROM entries e WHERE operation = 'esim_cancel'`,
  );
  const isDelayed = (): boolean => {
    const { nextStep, inMs = 0, lookups = 0 } = next.get(clock.steadyMs()) ?? {};
    return nextStep === 'lookup' && inMs > 1000 && lookups > 0;
  };
  await worker.until(() => isDelayed() || (next.get(clock.steadyMs())?.lookups ?? 0) >= 50);
  expect(isDelayed()).toBe(true);
});
