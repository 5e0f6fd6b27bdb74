import SqliteDatabase from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OrderSyncError } from '../../src/core/order-sync-error.ts';
import { startSubmission } from '../support/submission.ts';
import { wrappedStore } from '../support/wrapped-store.ts';

/**
 * A worker whose disk is full at the first calls of one step of the store, or at the first ones
 * after another step.
 */
async function withFullDiskAt(failing: string, times: number, after?: string) {
  let failures = 0;
  let isFull = after === undefined;
  let lastMs = 0;
  const worker = await startSubmission({
    limits: { windowMs: 600_000, orders: 1, requests: 1 },
    wrap: (store) =>
      wrappedStore(store, (name, step) => (...values) => {
        isFull ||= name === after;
        if (!isFull || name !== failing || failures === times) return step(...values);
        failures += 1;
        lastMs = Date.now();
        return Promise.reject(new OrderSyncError('DISK_FULL', 'The disk is full'));
      }),
  });
  onTestFinished(() => worker.close());
  return { worker, failures: () => failures, lastFailureMs: () => lastMs };
}

describe('a disk that is full', () => {
  it('when a call is to begin costs no place in the budget: the order is sent when there is space', async () => {
    // Of one order in ten minutes, no second one would be sent in the time of this test.
    const { worker, failures } = await withFullDiskAt('buying.openAttempt', 2);
    await worker.accept([{}]);
    await worker.settled();
    expect([failures(), worker.counts().fulfilled]).toEqual([2, 1]);
  });

  it('when a call has ended loses no outcome: it is recorded when there is space, and sold once', async () => {
    const { worker, failures, lastFailureMs } = await withFullDiskAt('buying.closeAttempt', 2);
    await worker.accept([{}]);
    await worker.settled();
    expect([failures(), worker.counts().fulfilled, worker.sandbox.ledger().orders.length]).toEqual([
      2, 1, 1,
    ]);
    const database = new SqliteDatabase(worker.databasePath, { readonly: true });
    onTestFinished(() => void database.close());
    expect(database.prepare('SELECT count(*) FROM attempts').pluck().get()).toBe(1);
    // Otherwise the result would be older than another one of its order that was told meanwhile.
    const changedMs = database.prepare('SELECT updated_at_ms FROM requests').pluck().get();
    expect(changedMs).toBeGreaterThan(lastFailureMs());
  });

  it('when the pauses are read after a denial does not stop the worker: it sends with the other key', async () => {
    const { worker, failures } = await withFullDiskAt('pauses.all', 1, 'buying.closeAttempt');
    await worker.useKeys({ main: 'not-a-key', other: 'sandbox-key-main' });
    await worker.accept([{}]);
    await worker.settled();
    expect([failures(), worker.counts().fulfilled, worker.sandbox.ledger().orders.length]).toEqual([
      1, 1, 1,
    ]);
    expect(worker.store.read.pauses().map(({ scope }) => scope)).toEqual(['key:main']);
  });
});
