import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { maxAddresses, maxLiveKeys } from './accounts.ts';
import { decimalsOf, toMinor } from './money.ts';
import type { OneTimeCodes } from './one-time-codes.ts';
import { buyOnWebsite } from '../orders/purchases.ts';
import type { Shelf } from '../orders/sandbox-state.ts';

/** What came of something that the account holder asked for: words for the page, and a new key if there is one. */
export type Outcome = { message: string; newKey?: string };

/** What only the account holder may do, on the website, signed in: a key can do none of it (Spec 5.9). */
export class AccountDesk {
  readonly #shelf: Shelf;
  readonly #codes: OneTimeCodes;

  constructor(shelf: Shelf, codes: OneTimeCodes) {
    this.#shelf = shelf;
    this.#codes = codes;
  }

  /** Spec 5.3 and 5.4: needs a one-time code; the key is told here once, and only its fingerprint is kept. */
  createKey(account: string, name: string, code: string, now: number): Outcome {
    const label = name.trim();
    if (label.length < 1 || label.length > 60) return { message: 'A name of 1 to 60 characters is needed.' };
    if (this.#shelf.accounts.liveKeys(account) >= maxLiveKeys) {
      return { message: `An account holds at most ${maxLiveKeys} live keys: revoke one first.` };
    }
    if (!this.#codes.redeem(account, 'create_key', code, now)) {
      return { message: 'The one-time code is wrong or too old. Ask for a new one.' };
    }
    const newKey = `wok_${randomBytes(24).toString('base64url')}`;
    this.#shelf.accounts.insertKey(account, label, newKey, now);
    return { message: 'The key was created. Copy it now: it is not shown again.', newKey };
  }

  revokeKey(account: string, key: number, now: number): Outcome {
    const done = this.#shelf.accounts.revokeKey(account, key, now);
    return { message: done ? 'The key was revoked and stopped working.' : 'There is no such live key.' };
  }

  /** Spec 5.6: up to 10 addresses, IPv4 or IPv6; none at all lets the key work from anywhere. */
  setAddresses(account: string, key: number, text: string): Outcome {
    if (!this.#shelf.accounts.keysOf(account).some((own) => own.id === key && own.revoked_at === null)) {
      return { message: 'There is no such live key.' };
    }
    const addresses = text.split(/[\s,]+/).filter((word) => word !== '');
    const wrong = addresses.find((address) => isIP(address) === 0);
    if (wrong !== undefined) return { message: `"${wrong.slice(0, 60)}" is not an IPv4 or IPv6 address.` };
    if (addresses.length > maxAddresses) return { message: `At most ${maxAddresses} addresses stand in an allowlist.` };
    this.#shelf.accounts.setAddresses(key, addresses);
    return { message: 'The allowlist was saved.' };
  }

  addBalance(account: string, currency: string, amount: string, now: number): Outcome {
    if (!/^[A-Z]{3}$/.test(currency)) return { message: 'A currency is three capital letters.' };
    if (!/^\d{1,7}(\.\d+)?$/.test(amount) || (amount.split('.')[1] ?? '').length > decimalsOf(currency)) {
      return { message: 'An amount looks like 100.00 and has at most seven digits before the point.' };
    }
    this.#shelf.accounts.move(account, currency, toMinor(amount, currency), 'funding', now);
    return { message: `${amount} ${currency} was added.` };
  }

  buy(account: string, variant: string, currency: string, now: number): Outcome {
    const bought = buyOnWebsite(account, variant, currency, now, this.#shelf);
    if ('problem' in bought) return { message: bought.problem };
    return { message: `Bought as ${bought.order.number}. Code: ${bought.units.codes[0]?.code ?? ''}` };
  }
}
