import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { callerOf, idOf, logOf, operatorOf, startSandbox, temporaryFolder } from './running-sandbox.ts';

it('the log keeps so many bodies of so many characters, and so many calls, whatever is sent', async () => {
  const database = join(temporaryFolder(), 'sandbox.db');
  const sandbox = await startSandbox({ request_log: { calls: 1_000, bodies: 100, body_chars: 200 } }, { database });
  const caller = callerOf(sandbox);
  for (let batch = 0; batch < 42; batch += 1) {
    await Promise.all(
      Array.from({ length: 50 }, () => caller.post('/orders?' + 'q'.repeat(3_000), { text: 'z'.repeat(9_000) })),
    );
  }
  const { requests } = await logOf(sandbox, '?limit=1');
  expect(requests[0]?.id).toBe('req-2100');
  expect(requests[0]?.['request']).toMatch(/^.{200}… \(8811 more characters\)$/);
  expect(requests[0]?.path).toMatch(/^.{1000}… \(2008 more characters\)$/);
  await sandbox.close();
  const stored = new Sqlite(database, { readonly: true });
  const count = (table: string): unknown => stored.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  expect(count('exchanges')).toBe(100);
  expect(count('calls')).toBeLessThanOrEqual(2_000);
  stored.close();
  const later = await startSandbox({ request_log: { bodies: 0 } }, { database });
  const last = await callerOf(later).get('/balances');
  const shown = (await operatorOf(later).get(`/requests/${idOf(last)}`)).json;
  expect(shown).toMatchObject({ id: 'req-2101', status: 200, path: null, request: null, response: null });
});
