import { appendFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { isoTime, type SandboxClock } from '../clock.ts';
import type { Committer } from '../committer.ts';
import type { Order } from '../orders/orders.ts';
import { buyOnWebsite } from '../orders/purchases.ts';
import type { SandboxState } from '../orders/sandbox-state.ts';
import { maxAddresses, maxLiveKeys, newKeyValue } from './accounts.ts';
import { decimalsOf, toMinor } from './money.ts';
import { type CodePurpose, OneTimeCodes, type Session, Sessions } from './sign-in.ts';

/** What the account page shows after a form was sent: a message, and a key that was created. */
export type Outcome = { message: string; newKey?: string };

/** The message with a one-time code. `code` is the secret. */
type CodeMessage = { to: string; account: string; purpose: CodePurpose; code: string; sent_at: string };

export type AccountServiceParts = {
  state: SandboxState;
  committer: Committer;
  clock: SandboxClock;
  /** The file that stands for the account holder's phone and e-mail; null: messages are only announced. */
  outboxFile: string | null;
  announce: (message: CodeMessage) => void;
};

/** What only the account holder can do, on the website: a key can do none of it (Spec 5.9). */
export class AccountService {
  readonly #parts: AccountServiceParts;
  readonly #codes: OneTimeCodes;
  readonly #sessions: Sessions;

  constructor(parts: AccountServiceParts) {
    this.#parts = parts;
    this.#codes = new OneTimeCodes(parts.state.database);
    this.#sessions = new Sessions(parts.state.database);
  }

  accountOfEmail(email: string): string | undefined {
    return this.#parts.state.accounts.idOfEmail(email);
  }

  /** Everything that the account page shows. */
  facts(account: string) {
    const { accounts, catalogue, database } = this.#parts.state;
    const holder = accounts.account(account);
    const wholesale = holder?.wholesale === 1 ? 'wholesale' : 'not wholesale';
    return {
      account,
      email: holder?.email ?? '',
      standing: holder?.blocked === 1 ? 'blocked' : wholesale,
      balances: accounts.balancesOf(account),
      keys: accounts.keysOf(account).map((key) => ({ ...key, addresses: accounts.addressesOf(key.id) })),
      orders: database
        .prepare<[string], Order>('SELECT * FROM orders WHERE account = ? ORDER BY id DESC LIMIT 100')
        .all(account),
      websiteProducts: [...catalogue.products.values()].filter((product) => product.website_only),
    };
  }

  /** Sends a one-time code to the account holder (Spec 5.3). False: too many were requested in this hour. */
  async sendCode(account: string, purpose: CodePurpose): Promise<boolean> {
    const { state, outboxFile, announce } = this.#parts;
    const [code, now] = await this.#commit((time) => [this.#codes.issue(account, purpose, time), time] as const);
    if (code === null) return false;
    const to = state.accounts.account(account)?.email ?? '';
    const message: CodeMessage = { to, account, purpose, code, sent_at: isoTime(now) };
    if (outboxFile !== null) await appendFile(outboxFile, `${JSON.stringify(message)}\n`, { mode: 0o600 });
    announce(message);
    return true;
  }

  /** Starts a session with a one-time code and returns the value of its cookie; null when the code is not valid. */
  signIn(email: string, code: string): Promise<string | null> {
    return this.#commit((now) => {
      const account = this.accountOfEmail(email);
      if (account === undefined || !this.#codes.redeem(account, 'sign_in', code, now)) return null;
      return this.#sessions.start(account, now);
    });
  }

  session(cookie: string | undefined): Session | null {
    return this.#sessions.of(cookie, this.#parts.clock.now());
  }

  signOut(cookie: string): Promise<void> {
    return this.#commit(() => this.#sessions.end(cookie));
  }

  /** Spec 5.3 and 5.4: needs a one-time code; the key is shown once, and only its fingerprint is stored. */
  createKey(account: string, name: string, code: string): Promise<Outcome> {
    const { accounts } = this.#parts.state;
    return this.#commit((now) => {
      const label = name.trim();
      if (label.length < 1 || label.length > 60) return { message: 'A name of 1 to 60 characters is needed.' };
      if (accounts.liveKeys(account) >= maxLiveKeys) {
        return { message: `An account holds at most ${maxLiveKeys} live keys: revoke one first.` };
      }
      if (!this.#codes.redeem(account, 'create_key', code, now)) {
        return { message: 'The one-time code is wrong or too old. Ask for a new one.' };
      }
      const newKey = newKeyValue();
      accounts.insertKey(account, label, newKey, now);
      return { message: 'The key was created. Copy it now: it is not shown again.', newKey };
    });
  }

  revokeKey(account: string, key: number): Promise<Outcome> {
    return this.#commit((now) => {
      const revoked = this.#parts.state.accounts.revokeKey(account, key, now);
      return { message: revoked ? 'The key was revoked and stopped working.' : 'There is no such live key.' };
    });
  }

  /** Spec 5.6: up to 10 addresses, IPv4 or IPv6; with an empty list the key works from any address. */
  setAddresses(account: string, key: number, text: string): Promise<Outcome> {
    const { accounts } = this.#parts.state;
    return this.#commit(() => {
      if (!accounts.keysOf(account).some((own) => own.id === key && own.revoked_at === null)) {
        return { message: 'There is no such live key.' };
      }
      const addresses = text.split(/[\s,]+/).filter((word) => word !== '');
      const wrong = addresses.find((address) => isIP(address) === 0);
      if (wrong !== undefined) return { message: `"${wrong.slice(0, 60)}" is not an IPv4 or IPv6 address.` };
      if (addresses.length > maxAddresses)
        return { message: `At most ${maxAddresses} addresses can be in an allowlist.` };
      accounts.setAddresses(key, addresses);
      return { message: 'The allowlist was saved.' };
    });
  }

  addBalance(account: string, currency: string, amount: string): Promise<Outcome> {
    return this.#commit((now) => {
      if (!/^[A-Z]{3}$/.test(currency)) return { message: 'A currency is three capital letters.' };
      if (!/^\d{1,7}(\.\d+)?$/.test(amount) || (amount.split('.')[1] ?? '').length > decimalsOf(currency)) {
        return { message: 'An amount looks like 100.00 and has at most seven digits before the point.' };
      }
      this.#parts.state.accounts.move(account, currency, toMinor(amount, currency), 'funding', now);
      return { message: `${amount} ${currency} was added.` };
    });
  }

  buy(account: string, variant: string, currency: string): Promise<Outcome> {
    const { state } = this.#parts;
    return this.#commit((now) => {
      const bought = buyOnWebsite(account, variant, currency, now, state);
      if ('problem' in bought) return { message: bought.problem };
      return { message: `Bought as ${bought.number}. Code: ${state.codes.of(bought)[0]?.code ?? ''}` };
    });
  }

  #commit<T>(work: (now: number) => T): Promise<T> {
    return this.#parts.committer.run(() => work(this.#parts.clock.now()));
  }
}
