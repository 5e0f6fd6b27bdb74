import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../create-sandbox.ts';
import {
  callerOf,
  giftCard,
  mainKey,
  operatorOf,
  refusalOf,
  startSandbox,
  temporaryFolder,
} from './running-sandbox.ts';

const newKey = (name: string, more: object = {}) => ({
  name,
  value: `sandbox-key-${name}`,
  ...more,
});

/** A sandbox whose account has these keys, over and over on one database. */
function restarts(): (keys: Array<ReturnType<typeof newKey>>) => Promise<Sandbox> {
  const database = join(temporaryFolder(), 'sandbox.db');
  return (keys) => startSandbox({ accounts: [{ id: 'acme', keys }] }, { database });
}

describe('API keys', () => {
  it('only the fingerprint of a key is stored: the database file does not contain the key', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const sandbox = await startSandbox({}, { database });
    await operatorOf(sandbox).post('/accounts', {
      id: 'job',
      keys: [{ name: 'main', value: 'chosen-key-7' }],
    });
    for (const key of [mainKey, 'chosen-key-7'])
      await callerOf(sandbox, key).post('/orders', giftCard('a'));
    expect(sandbox.ledger().orders).toHaveLength(2);
    await sandbox.close();
    new Sqlite(database).pragma('wal_checkpoint(TRUNCATE)');
    const bytes = readFileSync(database);
    for (const secret of [mainKey, 'chosen-key-7']) expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes('acme')).toBe(true);
  });

  it('an account has at most five live keys, and a revoked key stops working at once and frees its place', async () => {
    const start = restarts();
    const [first, ...others] = ['main', 'two', 'three', 'four', 'five'].map((name) => newKey(name));
    const sandbox = await start([newKey('main'), ...others]);
    expect((await callerOf(sandbox).get('/balances')).status).toBe(200);
    await sandbox.close();
    await expect(start([newKey('six')])).rejects.toThrow('already holds 5 live keys');
    const again = await start([]);
    expect((await callerOf(again, first?.value).get('/balances')).status).toBe(200);
    expect(await again.operate((operator) => operator.revokeKey('acme', 'main'))).toBe(true);
    expect(refusalOf(await callerOf(again).get('/balances'))).toBe('401 invalid_key');
    await again.close();
    expect(
      (await callerOf(await start([newKey('six')]), 'sandbox-key-six').get('/balances')).status,
    ).toBe(200);
  });

  it('a key that the operator revoked stays revoked when the sandbox starts again with the same config', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const first = await startSandbox({}, { database });
    expect(await first.operate((operator) => operator.revokeKey('acme', 'main'))).toBe(true);
    await first.close();
    expect(refusalOf(await callerOf(await startSandbox({}, { database })).get('/balances'))).toBe(
      '401 invalid_key',
    );
  });

  it('a key has an allowlist of up to 10 IPv4 or IPv6 addresses, and with an empty one it works from any address', async () => {
    const start = restarts();
    const statusFrom = (sandbox: Sandbox, localAddress: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${mainKey}` };
        const call = request(
          `${sandbox.url}/balances`,
          { localAddress, headers, agent: false },
          (response) => {
            response.resume();
            resolve(response.statusCode ?? 0);
          },
        );
        call.on('error', reject);
        call.end();
      });
    const limited = await start([newKey('main', { allow_list: ['2001:DB8:0::7', '127.0.0.2'] })]);
    expect([
      await statusFrom(limited, '127.0.0.1'),
      await statusFrom(limited, '127.0.0.2'),
    ]).toEqual([403, 200]);
    expect(refusalOf(await callerOf(limited).get('/balances'))).toBe('403 ip_not_allowed');
    await limited.close();
    await expect(start([newKey('main', { allow_list: ['localhost'] })])).rejects.toThrow(
      'IPv4 or IPv6',
    );
    const eleven = Array.from({ length: 11 }, (_, index) => `10.0.0.${index}`);
    await expect(start([newKey('main', { allow_list: eleven })])).rejects.toThrow(
      'at most 10 addresses',
    );
    expect(await statusFrom(await start([newKey('main', { allow_list: [] })]), '127.0.0.1')).toBe(
      200,
    );
  });

  it('a key can neither add balance nor change the account', async () => {
    const sandbox = await startSandbox({ admin_token: 'a-long-secret' });
    const before = sandbox.ledger();
    const key = callerOf(sandbox);
    for (const path of ['/balances', '/accounts/acme', '/keys', '/orders/GC-100001/refund']) {
      expect(refusalOf(await key.post(path, { currency: 'USD', amount: '5.00' }))).toBe(
        '404 not_found',
      );
    }
    expect(refusalOf(await key.post('/__sandbox/accounts/acme', { add: { USD: '5.00' } }))).toBe(
      '403 account_not_allowed',
    );
    const after = sandbox.ledger();
    expect([after.balances, after.keys.length, after.orders]).toEqual([
      before.balances,
      before.keys.length,
      before.orders,
    ]);
  });
});
