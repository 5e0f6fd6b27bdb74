import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { callerOf, giftCard, startSandbox, temporaryFolder } from './running-sandbox.ts';

describe('the lock on the database', () => {
  it('a second sandbox on the same database is refused, also with `reset`, and the first one keeps its orders', async () => {
    const folder = temporaryFolder();
    const database = join(folder, 'sandbox.db');
    const first = await startSandbox({}, { database });
    await callerOf(first).post('/orders', giftCard('kept'));
    const otherName = join(folder, 'other-name.db');
    symlinkSync(database, otherName);
    for (const path of [database, otherName]) {
      await expect(startSandbox({}, { database: path, reset: true })).rejects.toMatchObject({
        code: 'SANDBOX_DATABASE_IN_USE',
        message: expect.stringContaining(path),
      });
    }
    expect((await callerOf(first).get('/orders/kept')).status).toBe(200);
    await first.close();
    expect((await startSandbox({}, { database: otherName })).ledger().orders).toHaveLength(1);
  });

  it('of five sandboxes that start at once, one gets the database', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const starts = await Promise.allSettled(
      [1, 2, 3, 4, 5].map(() => startSandbox({}, { database })),
    );
    expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('a program that reads the database keeps a sandbox from starting, and the error says so', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    await (await startSandbox({}, { database })).close();
    const reader = new Sqlite(database, { readonly: true });
    onTestFinished(() => void reader.close());
    reader.exec('BEGIN; SELECT count(*) FROM orders');
    await expect(startSandbox({}, { database })).rejects.toThrow(
      /is in use by another program: stop that one/,
    );
    reader.exec('COMMIT');
    reader.close();
    await startSandbox({}, { database });
  });
});
