import SqliteDatabase from 'better-sqlite3';
import { afterEach, expect, it } from 'vitest';
import { Attempt } from '../../src/buying/run-call.ts';
import { recoverOpenAttempts } from '../../src/buying/recovery.ts';
import { attemptDeps } from '../support/attempt-deps.ts';
import { line, Outbox } from '../support/outbox.ts';

let outbox: Outbox | null = null;
afterEach(async () => {
  await outbox?.close();
  outbox = null;
});

it('a call that was open when the worker died is recorded as sent, and its outcome is unknown', async () => {
  outbox = await Outbox.open();
  await outbox.accept([line()]);
  await outbox.opened();
  await outbox.reopen();
  const deps = attemptDeps(outbox.store);
  const { steps, clock } = deps;
  expect(await recoverOpenAttempts({ steps, attempts: new Attempt(deps), clock })).toBe(1);
  const database = new SqliteDatabase(outbox.path, { readonly: true });
  try {
    expect(database.prepare('SELECT outcome, sent FROM attempts').all()).toEqual([
      { outcome: 'crashed', sent: 1 },
    ]);
    expect(database.prepare('SELECT state, outcome_unknown FROM entries').all()).toEqual([
      { state: 'unknown', outcome_unknown: 1 },
    ]);
  } finally {
    database.close();
  }
});
