import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { callerOf, logOf, startSandbox, temporaryFolder } from './running-sandbox.ts';

it('the log keeps so many calls', async () => {
  const database = join(temporaryFolder(), 'sandbox.db');
  const sandbox = await startSandbox({ logged_calls: 1_000 }, { database });
  const caller = callerOf(sandbox);
  for (let batch = 0; batch < 42; batch += 1)
    await Promise.all(Array.from({ length: 50 }, () => caller.get('/balances')));
  const { requests } = await logOf(sandbox, '?limit=1');
  expect(requests[0]?.id).toBe('req-2100');
  await sandbox.close();
  const stored = new Sqlite(database, { readonly: true });
  expect(stored.prepare('SELECT count(*) FROM calls').pluck().get()).toBeLessThanOrEqual(2_000);
  stored.close();
});
