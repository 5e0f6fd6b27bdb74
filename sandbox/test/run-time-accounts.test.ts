import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Sandbox } from '../create-sandbox.ts';
import { maxAccounts } from '../account/accounts.ts';
import {
  callerOf,
  giftCard,
  mainKey,
  messageOf,
  operatorOf,
  refusalOf,
  startSandbox,
  temporaryFolder,
} from './running-sandbox.ts';

const made = z.strictObject({
  id: z.string(),
  keys: z.array(z.strictObject({ name: z.string(), value: z.string() })),
});

async function makeAccount(
  sandbox: Sandbox,
  wanted: object = {},
): Promise<{ id: string; key: string }> {
  const { id, keys } = made.parse((await operatorOf(sandbox).post('/accounts', wanted)).json);
  return { id, key: keys[0]?.value ?? '' };
}

describe('accounts made at run time', () => {
  it('an account is made with money and a key, and two of them see nothing of each other', async () => {
    const sandbox = await startSandbox({ limits: { orders: 2 } });
    const [one, two] = [await makeAccount(sandbox), await makeAccount(sandbox)];
    expect(one.id).toMatch(/^account-[0-9a-f]{10}$/);
    expect(one.key).toMatch(/^wok_[\w-]{32}$/);
    expect(new Set([one.id, two.id, one.key, two.key]).size).toBe(4);
    for (const { key } of [one, two]) {
      const caller = callerOf(sandbox, key);
      expect((await caller.post('/orders', giftCard('same-reference'))).status).toBe(201);
      expect((await caller.get('/balances')).json).toEqual({
        balances: [
          { currency: 'EUR', amount: '100000.00' },
          { currency: 'USD', amount: '99981.10' },
        ],
      });
    }
    // The limit of one key is not that of the other.
    expect((await callerOf(sandbox, one.key).post('/orders', giftCard('a'))).status).toBe(201);
    expect((await callerOf(sandbox, one.key).post('/orders', giftCard('b'))).status).toBe(429);
    expect((await callerOf(sandbox, two.key).post('/orders', giftCard('c'))).status).toBe(201);
    expect(refusalOf(await callerOf(sandbox, two.key).get('/orders/a'))).toBe('404 not_found');
    const operator = operatorOf(sandbox);
    const ledger = z.object({
      orders: z.array(z.object({ account: z.string(), reference: z.string() })),
      keys: z.array(z.object({ account: z.string(), limited: z.number() })),
      calls: z.array(z.looseObject({})),
    });
    const own = ledger.parse((await operator.get(`/ledger?account=${two.id}`)).json);
    expect(own.orders.map(({ reference }) => reference)).toEqual(['same-reference', 'c']);
    expect(own.keys).toEqual([{ account: two.id, limited: 0 }]);
    expect(own.calls).toHaveLength(4);
    const { requests } = await sandbox.operate((operate) =>
      operate.requests({ search: '', account: one.id, failed: 'true', before: '', limit: 50 }),
    );
    expect(requests.map(({ status }) => status)).toEqual([429]);
  });

  it('an account has what was asked for: balances, standing, keys with values and allowlists', async () => {
    const sandbox = await startSandbox();
    const account = await makeAccount(sandbox, {
      id: 'job-7',
      balances: { USD: '18.90' },
      keys: [
        { name: 'chosen', value: 'chosen-key-7' },
        { name: 'elsewhere', allow_list: ['192.0.2.9'] },
        { name: 'old', value: 'chosen-old-7', revoked: true },
      ],
    });
    expect(account).toEqual({ id: 'job-7', key: 'chosen-key-7' });
    const caller = callerOf(sandbox, 'chosen-key-7');
    expect((await caller.post('/orders', giftCard('a'))).status).toBe(201);
    expect(refusalOf(await caller.post('/orders', giftCard('b')))).toBe('402 insufficient_balance');
    expect(refusalOf(await callerOf(sandbox, 'chosen-old-7').get('/balances'))).toBe(
      '401 invalid_key',
    );
    const blocked = await makeAccount(sandbox, { blocked: true });
    expect(refusalOf(await callerOf(sandbox, blocked.key).get('/balances'))).toBe(
      '403 account_not_allowed',
    );
  });

  it('a fault can be for one account, and the others do not meet it', async () => {
    const sandbox = await startSandbox();
    const [one, two] = [await makeAccount(sandbox), await makeAccount(sandbox)];
    await operatorOf(sandbox).post('/faults', {
      fault: { fault: 'rate_limited' },
      match: { account: one.id },
    });
    expect((await callerOf(sandbox, one.key).get('/balances')).status).toBe(429);
    expect((await callerOf(sandbox, two.key).get('/balances')).status).toBe(200);
    expect((await callerOf(sandbox).get('/balances')).status).toBe(200);
  });

  it('an account stays over a restart, and is gone after a reset', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    const first = await startSandbox({}, { database });
    const { key } = await makeAccount(first);
    await callerOf(first, key).post('/orders', giftCard('kept'));
    await first.close();
    const second = await startSandbox({}, { database });
    expect((await callerOf(second, key).get('/orders/kept')).status).toBe(200);
    await operatorOf(second).post('/reset');
    expect(refusalOf(await callerOf(second, key).get('/balances'))).toBe('401 invalid_key');
    expect((await callerOf(second).get('/balances')).status).toBe(200);
  });

  it('an id or a key that exists already is refused with the place, and nothing is stored', async () => {
    const sandbox = await startSandbox();
    const operator = operatorOf(sandbox);
    const count = sandbox.ledger().balances.length;
    for (const [wanted, message] of [
      [{ id: 'acme' }, /^id: the account acme exists already/],
      [
        { keys: [{ name: 'a' }, { name: 'b', value: mainKey }] },
        /^keys\[1\]\.value: this key exists already/,
      ],
      [
        {
          keys: [
            { name: 'a', value: 'twice-the-same' },
            { name: 'b', value: 'twice-the-same' },
          ],
        },
        /^keys\[1\]\.value/,
      ],
      [
        { keys: Array.from({ length: 6 }, (_, index) => ({ name: `k${index}` })) },
        /at most 5 live keys/,
      ],
      [{ id: 'Not Allowed' }, /id/],
      [{ money: 'much' }, /Unrecognized key: "money"/],
      [{ balances: { USD: 'much' } }, /balances/],
    ] as const) {
      const reply = await operator.post('/accounts', wanted);
      expect([reply.status, messageOf(reply)]).toEqual([422, expect.stringMatching(message)]);
      expect(messageOf(reply)).not.toContain(mainKey);
    }
    expect(sandbox.ledger().balances).toHaveLength(count);
  });

  it('there are at most so many accounts', async () => {
    const sandbox = await startSandbox();
    const present = new Set(sandbox.ledger().balances.map(({ account }) => account)).size;
    await sandbox.operate((operator) => {
      for (let more = present; more < maxAccounts; more += 1) {
        operator.createAccount({
          wholesale: true,
          blocked: false,
          balances: { USD: '1.00' },
          keys: [],
        });
      }
    });
    const reply = await operatorOf(sandbox).post('/accounts', {});
    expect([reply.status, messageOf(reply)]).toEqual([
      422,
      expect.stringContaining(`there are ${maxAccounts} accounts`),
    ]);
  });
});

describe('accounts and keys of the default config', () => {
  it('each of them is refused in its known way, and none of them sells', async () => {
    const sandbox = await startSandbox();
    const order = async (key: string): Promise<string> =>
      refusalOf(await callerOf(sandbox, key).post('/orders', giftCard('a')));
    expect(await order('sandbox-key-revoked')).toBe('401 invalid_key');
    expect(await order('sandbox-key-other-address')).toBe('403 ip_not_allowed');
    expect(await order('sandbox-key-blocked')).toBe('403 account_not_allowed');
    expect(await order('sandbox-key-not-wholesale')).toBe('403 account_not_allowed');
    expect(await order('sandbox-key-empty')).toBe('402 insufficient_balance');
    expect((await callerOf(sandbox, 'sandbox-key-empty').get('/products')).status).toBe(200);
    expect(sandbox.ledger().orders).toEqual([]);
  });

  it('a key that the config revokes later stops working at the next start', async () => {
    const database = join(temporaryFolder(), 'sandbox.db');
    await (await startSandbox({}, { database })).close();
    const keys = [{ name: 'main', value: mainKey, revoked: true }];
    const later = await startSandbox({ accounts: [{ id: 'acme', keys }] }, { database });
    expect(refusalOf(await callerOf(later).get('/balances'))).toBe('401 invalid_key');
  });
});
