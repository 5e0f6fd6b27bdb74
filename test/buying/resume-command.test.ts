import SqliteDatabase from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { performInWorker } from '../../src/admin/perform-command.ts';
import type { CommandResult } from '../../src/core/operator/operator-command.ts';
import { SystemClock } from '../../src/ops/system-clock.ts';
import { startSubmission, type Submission } from '../support/submission.ts';

let open: Submission | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** A worker whose account an operator paused, with an order that waits. */
async function pausedWorker(): Promise<Submission> {
  open = await startSubmission();
  await open.store.operator.pauseScope({
    scope: 'account',
    actor: 'test',
    reason: 'a rest',
    nowMs: 1,
  });
  await open.dispatcher.pausesChanged();
  await open.accept([{}]);
  return open;
}

function resume(worker: Submission): Promise<CommandResult> {
  const command = { action: 'resume', scope: 'account', actor: 'test', reason: 'rested' } as const;
  const commanded = {
    pausesChanged: () => worker.dispatcher.pausesChanged(),
    notify: () => worker.dispatcher.notify(),
  };
  const settings = { keyNames: ['main'], referenceExpiryMs: 86_400_000, lookupFamilies: [] };
  return performInWorker(commanded, worker.store, command, settings, new SystemClock());
}

function write(worker: Submission, sql: string): void {
  const database = new SqliteDatabase(worker.databasePath);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

describe('a scope that an operator resumes', () => {
  it('is resumed, also when the command fails because the change is on disk already', async () => {
    const worker = await pausedWorker();
    // The state after a resume whose commit reached the disk, but was reported as failed.
    write(worker, "DELETE FROM pauses WHERE scope = 'account'");
    await expect(resume(worker)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
    await worker.settled();
    expect(worker.counts().fulfilled).toBe(1);
  });

  it('makes the worker stop when the pauses cannot be read', async () => {
    const worker = await pausedWorker();
    write(worker, 'ALTER TABLE pauses RENAME TO pauses_away');
    const message = 'no such table: pauses';
    await expect(resume(worker)).rejects.toMatchObject({ message });
    await expect(worker.dispatcher.failed).rejects.toMatchObject({ message });
  });
});
