import { createHash } from 'node:crypto';
import type { AccountSettings } from '../config.ts';
import type { Database } from '../database.ts';
import { canonicalAddress } from './addresses.ts';
import { toMinor } from './money.ts';

export type Account = { id: string; email: string; phone: string | null; wholesale: number; blocked: number };
export type ApiKey = {
  id: number;
  account: string;
  name: string;
  fingerprint: string;
  created_at: number;
  revoked_at: number | null;
};

/** Spec 5.5 and 5.6. */
export const maxLiveKeys = 5;
export const maxAddresses = 10;

/** Spec 5.4: only this is kept of a key. Keys made here are random, so a plain digest cannot be guessed backwards. */
export function fingerprintOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Accounts, their keys with allowlists, and their balances. */
export class Accounts {
  readonly #database: Database;
  readonly #keyByFingerprint;
  readonly #accountById;
  readonly #addressesOfKey;
  readonly #balance;
  readonly #setBalance;
  readonly #addMovement;

  constructor(database: Database) {
    this.#database = database;
    this.#keyByFingerprint = database.prepare<[string], ApiKey>('SELECT * FROM keys WHERE fingerprint = ?');
    this.#accountById = database.prepare<[string], Account>('SELECT * FROM accounts WHERE id = ?');
    this.#addressesOfKey = database
      .prepare<[number], string>('SELECT address FROM key_addresses WHERE key = ? ORDER BY address')
      .pluck();
    this.#balance = database
      .prepare<[string, string], number>('SELECT amount_minor FROM balances WHERE account = ? AND currency = ?')
      .pluck();
    this.#setBalance = database.prepare(
      'INSERT INTO balances VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET amount_minor = excluded.amount_minor',
    );
    this.#addMovement = database.prepare(
      'INSERT INTO movements (account, currency, amount_minor, kind, order_number, iccid, balance_minor, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
  }

  /** Applies the config: what an account is follows it at every start, its opening balances count only once. */
  seed(accounts: readonly AccountSettings[], now: number): void {
    const upsert = this.#database.prepare(
      `INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         email = excluded.email, phone = excluded.phone, wholesale = excluded.wholesale, blocked = excluded.blocked`,
    );
    for (const account of accounts) {
      const known = this.account(account.id) !== undefined;
      upsert.run(
        account.id,
        account.email,
        account.phone ?? null,
        Number(account.wholesale),
        Number(account.blocked),
        now,
      );
      if (!known) {
        for (const [currency, amount] of Object.entries(account.balances)) {
          this.move(account.id, currency, toMinor(amount, currency), 'funding', now);
        }
      }
      for (const key of account.keys) {
        const present = this.#keyByFingerprint.get(fingerprintOf(key.value));
        if (present !== undefined && present.account !== account.id) {
          throw new Error(`the key "${key.name}" of account ${account.id} already belongs to ${present.account}`);
        }
        if (present === undefined && this.liveKeys(account.id) >= maxLiveKeys) {
          throw new Error(`account ${account.id} already holds ${maxLiveKeys} live keys (Spec 5.5): revoke one first`);
        }
        const id = present?.id ?? this.insertKey(account.id, key.name, key.value, now);
        this.setAddresses(id, key.allow_list);
      }
    }
  }

  account(id: string): Account | undefined {
    return this.#accountById.get(id);
  }

  /** The key with this value, revoked or not. */
  keyOf(value: string): ApiKey | undefined {
    return this.#keyByFingerprint.get(fingerprintOf(value));
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
    return (
      this.#database
        .prepare<[string], number>('SELECT count(*) FROM keys WHERE account = ? AND revoked_at IS NULL')
        .pluck()
        .get(account) ?? 0
    );
  }

  addressesOf(key: number): string[] {
    return this.#addressesOfKey.all(key);
  }

  /** Replaces a key's allowlist. The addresses must be valid and at most 10 (Spec 5.6); the caller has checked. */
  setAddresses(key: number, addresses: readonly string[]): void {
    this.#database.prepare('DELETE FROM key_addresses WHERE key = ?').run(key);
    const insert = this.#database.prepare('INSERT OR IGNORE INTO key_addresses VALUES (?, ?)');
    for (const address of addresses) insert.run(key, canonicalAddress(address));
  }

  setStanding(id: string, standing: { wholesale?: boolean | undefined; blocked?: boolean | undefined }): void {
    const account = this.account(id);
    if (account === undefined) return;
    const wholesale = standing.wholesale ?? account.wholesale === 1;
    const blocked = standing.blocked ?? account.blocked === 1;
    this.#database
      .prepare('UPDATE accounts SET wholesale = ?, blocked = ? WHERE id = ?')
      .run(Number(wholesale), Number(blocked), id);
  }

  /** Minor units; 0 when the account has no balance in that currency. */
  balance(account: string, currency: string): number {
    return this.#balance.get(account, currency) ?? 0;
  }

  balancesOf(account: string): Array<{ currency: string; amount_minor: number }> {
    return this.#database
      .prepare<[string], { currency: string; amount_minor: number }>(
        'SELECT currency, amount_minor FROM balances WHERE account = ? ORDER BY currency',
      )
      .all(account);
  }

  /** The only way money moves: the balance and the line of the ledger that explains it, together. */
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
    this.#setBalance.run(account, currency, after);
    this.#addMovement.run(
      account,
      currency,
      amountMinor,
      kind,
      subject.orderNumber ?? null,
      subject.iccid ?? null,
      after,
      now,
    );
  }
}
