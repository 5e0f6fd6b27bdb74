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
  /** The addresses that may use it, in canonical form, as JSON; empty: every address. */
  allow_list: string;
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

/**
 * Spec 5.4: of a secret only this is stored. The secrets are random, so a plain digest gives none
 * of them away.
 */
export function fingerprintOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** The token in `Authorization: Bearer <token>`, if that is the form of the header. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}

/**
 * One spelling for each IP address: IPv6 compressed and in small letters, IPv4 also when it is
 * mapped into IPv6.
 */
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

/** A sandbox that runs for long must not fill its disk with accounts of test runs. */
export const maxAccounts = 1_000;

/**
 * An account to make while the sandbox runs: all that a config can say of it. Missing values are
 * made up.
 */
export const newAccountSchema = accountSchema.partial({ id: true }).extend({
  keys: z
    .array(keySchema.partial({ value: true }))
    .max(5, 'an account holds at most 5 live keys (Spec 8)')
    .prefault([{ name: 'main' }]),
});

/** A new account, with its keys, which are not shown again. */
export type NewAccount = { id: string; keys: Array<{ name: string; value: string }> };

/**
 * Accounts, their keys with allowlists, and their balances.
 * @internal
 */
export class Accounts {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Stores an account of the config: its fields and keys at every start, its opening balances only
   * once.
   */
  seed({ id, wholesale, blocked, balances, keys }: AccountSettings, now: number): void {
    const openingBalances = this.account(id) === undefined ? Object.entries(balances) : [];
    this.#database.run(
      `INSERT INTO accounts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         wholesale = excluded.wholesale, blocked = excluded.blocked`,
      [id, Number(wholesale), Number(blocked), now],
    );
    for (const [currency, amount] of openingBalances) {
      this.move(id, currency, toMinor(amount, currency), 'funding', now);
    }
    for (const key of keys) this.#seedKey(id, key, now);
  }

  #seedKey(
    account: string,
    { name, value, allow_list, revoked }: AccountSettings['keys'][number],
    now: number,
  ): void {
    const present = this.keyOf(value);
    if (present !== undefined && present.account !== account) {
      throw new Error(
        `the key "${name}" of account ${account} already belongs to ${present.account}`,
      );
    }
    const live = this.keysOf(account).filter((key) => key.revoked_at === null);
    if (present === undefined && !revoked && live.length >= maxLiveKeys) {
      throw new Error(
        `account ${account} already holds ${maxLiveKeys} live keys (Spec 5.5): revoke one first`,
      );
    }
    this.#database.run(
      `INSERT INTO keys (account, name, fingerprint, allow_list, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (fingerprint) DO UPDATE SET allow_list = excluded.allow_list,
           revoked_at = coalesce(revoked_at, excluded.revoked_at)`,
      [
        account,
        name,
        fingerprintOf(value),
        JSON.stringify(allow_list.map(canonicalAddress)),
        now,
        revoked ? now : null,
      ],
    );
  }

  /**
   * Stores a new account. It stays until the sandbox is reset.
   * Throws when its id or a key exists already, or when there are too many accounts.
   */
  create(wanted: z.output<typeof newAccountSchema>, now: number): NewAccount {
    const id = wanted.id ?? `account-${randomBytes(5).toString('hex')}`;
    if (this.#database.all('SELECT id FROM accounts').length >= maxAccounts) {
      throw new Error(
        `there are ${maxAccounts} accounts, which is the limit: use one of them, or reset the sandbox`,
      );
    }
    if (this.account(id) !== undefined)
      throw new Error(`id: the account ${id} exists already: leave out the id`);
    const keys = wanted.keys.map((key) => ({ ...key, value: key.value ?? newKeyValue() }));
    for (const [index, { value }] of keys.entries()) {
      if (this.keyOf(value) === undefined && keys.findIndex((key) => key.value === value) === index)
        continue;
      throw new Error(`keys[${index}].value: this key exists already: leave out the value`);
    }
    this.seed({ ...wanted, id, keys }, now);
    return { id, keys: keys.map(({ name, value }) => ({ name, value })) };
  }

  account(id: string): Account | undefined {
    return this.#database.all<Account>('SELECT * FROM accounts WHERE id = ?', id)[0];
  }

  /** The key with this value, revoked or not. */
  keyOf(value: string): ApiKey | undefined {
    return this.#database.all<ApiKey>(
      'SELECT * FROM keys WHERE fingerprint = ?',
      fingerprintOf(value),
    )[0];
  }

  keysOf(account: string): ApiKey[] {
    return this.#database.all('SELECT * FROM keys WHERE account = ? ORDER BY id', account);
  }

  /**
   * Spec 5.5: a revoked key stops working at once. Returns false when the account has no such live
   * key.
   */
  revokeKey(account: string, name: string, now: number): boolean {
    const live = this.keysOf(account).find((key) => key.name === name && key.revoked_at === null);
    if (live !== undefined)
      this.#database.run('UPDATE keys SET revoked_at = ? WHERE id = ?', now, live.id);
    return live !== undefined;
  }

  setStanding(id: string, wholesale: boolean, blocked: boolean): void {
    const sql = 'UPDATE accounts SET wholesale = ?, blocked = ? WHERE id = ?';
    this.#database.run(sql, Number(wholesale), Number(blocked), id);
  }

  /** Minor units; 0 when the account has no balance in that currency. */
  balance(account: string, currency: string): number {
    return (
      this.balancesOf(account).find((balance) => balance.currency === currency)?.amount_minor ?? 0
    );
  }

  balancesOf(account: string): Balance[] {
    const sql = 'SELECT currency, amount_minor FROM balances WHERE account = ? ORDER BY currency';
    return this.#database.all(sql, account);
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
    const upsert =
      'INSERT INTO balances VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET amount_minor = excluded.amount_minor';
    this.#database.run(upsert, account, currency, after);
    const { orderNumber = null, iccid = null } = subject;
    this.#database.run(
      `INSERT INTO movements (account, currency, amount_minor, kind, order_number, iccid, balance_minor, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [account, currency, amountMinor, kind, orderNumber, iccid, after, now],
    );
  }
}
