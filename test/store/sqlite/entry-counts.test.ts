import { stepsOf } from '../../support/steps.ts';
import SqliteDatabase from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { zeroCounts } from '../../../src/core/entry/states.ts';
import { inspectDatabase } from '../../../src/store/sqlite/inspect.ts';
import { close, line, nothing, Outbox } from '../../support/outbox.ts';

let outbox: Outbox;
beforeEach(async () => {
  outbox = await Outbox.open();
});
afterEach(() => outbox.close());

const accept = (count: number, prefix: string, changes: Parameters<typeof line>[0] = {}) =>
  outbox.accept(
    Array.from({ length: count }, (_, index) =>
      line({ orderId: `${prefix}-${index}`, ...changes }),
    ),
  );

/** Runs SQL on a connection of its own, as a program that is not ours would. */
function write(sql: string): void {
  const database = new SqliteDatabase(outbox.path);
  database.exec(sql);
  database.close();
}

function countedUpTo(): number {
  const database = new SqliteDatabase(outbox.path, { readonly: true });
  try {
    return Number(
      database.prepare("SELECT value FROM meta WHERE name = 'counted_up_to'").pluck().get(),
    );
  } finally {
    database.close();
  }
}

const problems = () => inspectDatabase(outbox.path).problems;

describe('the counts of entries', () => {
  it('are those of a scan while entries come in, are sent and settle', async () => {
    await accept(3, 'few');
    expect(outbox.store.read.counts()).toEqual({ ...zeroCounts(), pending: 3 });
    const attempt = await outbox.opened();
    expect(outbox.store.read.counts()).toEqual({ ...zeroCounts(), pending: 2, sending: 1 });
    await accept(1200, 'many', { source: 'shop2', variant: 'other' });
    // The first of them are among those that are counted by now, and others are not.
    expect(countedUpTo()).toBe(1000);
    const done = {
      ...nothing,
      state: 'fulfilled',
      outcomeUnknown: false,
      row: 'accepted',
    } as const;
    await stepsOf(outbox.store).closeAttempt(close(attempt, done));
    await outbox.opened();
    expect(outbox.store.read.counts()).toEqual({
      ...zeroCounts(),
      pending: 1201,
      sending: 1,
      fulfilled: 1,
    });
    expect(outbox.store.read.backlog()).toMatchObject({ open: 1202, oldestOpenAtMs: 1000 });
    expect(problems()).toEqual([]);
  });

  it('survive a change that is rolled back, and a worker that starts again', async () => {
    await accept(1001, 'a');
    const unwritable = Array.from({ length: 1000 }, (_, index) => line({ orderId: `b-${index}` }));
    await expect(outbox.accept([...unwritable, line({ lineId: 'x'.repeat(65) })])).rejects.toThrow(
      'CHECK',
    );
    expect(outbox.store.read.counts()).toEqual({ ...zeroCounts(), pending: 1001 });
    await outbox.reopen();
    expect(countedUpTo()).toBe(1001);
    expect(outbox.store.read.counts()).toEqual({ ...zeroCounts(), pending: 1001 });
    expect(problems()).toEqual([]);
  });

  it('follow a change that another program makes', async () => {
    await accept(2, 'a');
    await outbox.reopen();
    await accept(1, 'b');
    write("UPDATE entries SET state = 'held'");
    expect(outbox.store.read.counts()).toEqual({ ...zeroCounts(), held: 3 });
    expect(problems()).toEqual([]);
  });

  it('are compared with a scan by `db check`', async () => {
    await accept(2, 'a');
    await outbox.reopen();
    write('UPDATE entry_counts SET entries = 7');
    expect(problems()).toEqual([
      'lane shop1|USD|variant:steam-10 has 2 entries in state pending, but 7 are counted',
    ]);
  });
});
