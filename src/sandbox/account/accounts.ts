import { createHash, randomBytes } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { accountSchema, type AccountSettings, keySchema } from '../settings/config.ts';
import type { Database } from '../storage/database.ts';
import { toMinor } from '../values/money.ts';
import * as z from 'zod';

export type Account = { id: string; wholesale: number; blocked: number };
export type ApiKey = {
  id: number;
  account: string;
  name: string;
  fingerprint: string;
  created_at: number;
  revoked_at: number | null;
};
export type Balance = { currency: string; amount_minor: number };

/** Spec 5.5. */
const maxLiveKeys = 5;

/** The value of a new key. The request log recognises keys by this form. */
function newKeyValue(): string {
  return `wok_${randomBytes(24).toString('base64url')}`;
}

/** Spec 5.4: of a secret only this is stored. The secrets are random, so a plain digest gives none of them away. */
export function fingerprintOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** The token in `Authorization: Bearer <token>`, if that is the form of the header. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}

/** One spelling for each IP address: IPv6 compressed and in small letters, IPv4 also when it is mapped into IPv6. */
export function canonicalAddress(address: string): string {
  const [bare = ''] = address.replace(/^\[|\]$/g, '').split('%', 1);
  if (isIPv4(bare) || !isIPv6(bare)) return bare;
  const compressed = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  if (mapped === null) return compressed;
  const high = Number.parseInt(mapped[1] ?? '0', 16);
  const low = Number.parseInt(mapped[2] ?? '0', 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/**
 * Accounts, their keys with allowlists, and their balances.
 * @internal
 */
export class Accounts {
  readonly #database: Database;
  readonly #sql;

  constructor(database: Database) {
    this.#database = database;
    this.#sql = {
      keyByFingerprint: database.prepare<[string], ApiKey>('SELECT * FROM keys WHERE fingerprint = ?'),
      accountById: database.prepare<[string], Account>('SELECT * FROM accounts WHERE id = ?'),
      addressesOfKey: database
        .prepare<[number], string>('SELECT address FROM key_addresses WHERE key = ? ORDER BY address')
        .pluck(),
      upsertAccount: database.prepare(
        `INSERT INTO accounts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
           wholesale = excluded.wholesale, blocked = excluded.blocked`,
      ),
      balance: database
        .prepare<[string, string], number>('SELECT amount_minor FROM balances WHERE account = ? AND currency = ?')
        .pluck(),
      setBalance: database.prepare(
        'INSERT INTO balances VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET amount_minor = excluded.amount_minor',
      ),
      addMovement: database.prepare(
        'INSERT INTO movements (account, currency, amount_minor, kind, order_number, iccid, balance_minor, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      ),
    };
  }

  /** Stores an account of the config: its fields and keys at every start, its opening balances only once. */
  seed(account: AccountSettings, now: number): void {
    const { id, wholesale, blocked } = account;
    const openingBalances = this.account(id) === undefined ? Object.entries(account.balances) : [];
    this.#sql.upsertAccount.run(id, Number(wholesale), Number(blocked), now);
    for (const [currency, amount] of openingBalances) {
      this.move(id, currency, toMinor(amount, currency), 'funding', now);
    }
    for (const key of account.keys) this.#seedKey(id, key, now);
  }

  #seedKey(account: string, key: AccountSettings['keys'][number], now: number): void {
    const present = this.keyOf(key.value);
    if (present !== undefined && present.account !== account) {
      throw new Error(`the key "${key.name}" of account ${account} already belongs to ${present.account}`);
    }
    if (present === undefined && !key.revoked && this.liveKeys(account) >= maxLiveKeys) {
      throw new Error(`account ${account} already holds ${maxLiveKeys} live keys (Spec 5.5): revoke one first`);
    }
    const id = present?.id ?? this.insertKey(account, key.name, key.value, now);
    this.setAddresses(id, key.allow_list);
    if (key.revoked) this.revokeKey(account, id, now);
  }

  count(): number {
    return this.#database.prepare<[], number>('SELECT count(*) FROM accounts').pluck().get() ?? 0;
  }

  account(id: string): Account | undefined {
    return this.#sql.accountById.get(id);
  }

  /** The key with this value, revoked or not. */
  keyOf(value: string): ApiKey | undefined {
    return this.#sql.keyByFingerprint.get(fingerprintOf(value));
  }

  keysOf(account: string): ApiKey[] {
    return this.#database
      .prepare<[string], ApiKey>('SELECT * FROM keys WHERE account = ? ORDER BY revoked_at IS NOT NULL, id')
      .all(account);
  }

  insertKey(account: string, name: string, value: string, now: number): number {
    const done = this.#database
      .prepare('INSERT INTO keys (account, name, fingerprint, created_at) VALUES (?, ?, ?, ?)')
      .run(account, name, fingerprintOf(value), now);
    return Number(done.lastInsertRowid);
  }

  /** Spec 5.5: a revoked key stops working at once. Returns false when the account has no such live key. */
  revokeKey(account: string, key: number, now: number): boolean {
    const done = this.#database
      .prepare('UPDATE keys SET revoked_at = ? WHERE id = ? AND account = ? AND revoked_at IS NULL')
      .run(now, key, account);
    return done.changes === 1;
  }

  liveKeys(account: string): number {
    return this.keysOf(account).filter((key) => key.revoked_at === null).length;
  }

  addressesOf(key: number): string[] {
    return this.#sql.addressesOfKey.all(key);
  }

  /** Replaces the allowlist of a key. The caller has checked that the addresses are valid and at most 10 (Spec 5.6). */
  setAddresses(key: number, addresses: readonly string[]): void {
    this.#database.prepare('DELETE FROM key_addresses WHERE key = ?').run(key);
    const insert = this.#database.prepare('INSERT OR IGNORE INTO key_addresses VALUES (?, ?)');
    for (const address of addresses) insert.run(key, canonicalAddress(address));
  }

  setStanding(id: string, standing: { wholesale?: boolean | undefined; blocked?: boolean | undefined }): void {
    const { wholesale, blocked } = standing;
    this.#database
      .prepare('UPDATE accounts SET wholesale = coalesce(?, wholesale), blocked = coalesce(?, blocked) WHERE id = ?')
      .run(wholesale === undefined ? null : Number(wholesale), blocked === undefined ? null : Number(blocked), id);
  }

  /** Minor units; 0 when the account has no balance in that currency. */
  balance(account: string, currency: string): number {
    return this.#sql.balance.get(account, currency) ?? 0;
  }

  balancesOf(account: string): Balance[] {
    return this.#database
      .prepare<[string], Balance>('SELECT currency, amount_minor FROM balances WHERE account = ? ORDER BY currency')
      .all(account);
  }

  /** Changes a balance and stores the movement that explains it. Nothing else changes a balance. */
  move(
    account: string,
    currency: string,
    amountMinor: number,
    kind: 'funding' | 'charge' | 'refund',
    now: number,
    subject: { orderNumber?: string; iccid?: string } = {},
  ): void {
    const after = this.balance(account, currency) + amountMinor;
    if (!Number.isSafeInteger(after) || after < 0) {
      throw new Error(`a balance must stay between 0 and 2^53: ${account} ${currency} ${after}`);
    }
    this.#sql.setBalance.run(account, currency, after);
    const { orderNumber = null, iccid = null } = subject;
    this.#sql.addMovement.run(account, currency, amountMinor, kind, orderNumber, iccid, after, now);
  }
}

/** A sandbox that runs for long must not fill its disk with accounts of test runs. */
export const maxAccounts = 1_000;

/** An account to make while the sandbox runs: all that a config can say of it. Missing values are made up. */
export const newAccountSchema = accountSchema.partial({ id: true }).extend({
  keys: z
    .array(keySchema.partial({ value: true }))
    .max(5, 'an account holds at most 5 live keys (Spec 8)')
    .prefault([{ name: 'main' }]),
});

/** A new account, with its keys, which are not shown again. */
export type NewAccount = { id: string; keys: Array<{ name: string; value: string }> };

/**
 * Stores a new account. It stays until the sandbox is reset. Must run inside a transaction.
 * Throws when its id or a key exists already, or when there are too many accounts.
 * @internal
 */
export function createAccount(accounts: Accounts, wanted: z.output<typeof newAccountSchema>, now: number): NewAccount {
  const id = wanted.id ?? `account-${randomBytes(5).toString('hex')}`;
  if (accounts.count() >= maxAccounts) {
    throw new Error(`there are ${maxAccounts} accounts, which is the limit: use one of them, or reset the sandbox`);
  }
  if (accounts.account(id) !== undefined) throw new Error(`id: the account ${id} exists already: leave out the id`);
  const keys = wanted.keys.map((key) => ({ ...key, value: key.value ?? newKeyValue() }));
  for (const [index, { value }] of keys.entries()) {
    if (accounts.keyOf(value) === undefined && keys.findIndex((key) => key.value === value) === index) continue;
    throw new Error(`keys[${index}].value: this key exists already: leave out the value`);
  }
  accounts.seed({ ...wanted, id, keys }, now);
  return { id, keys: keys.map(({ name, value }) => ({ name, value })) };
}
