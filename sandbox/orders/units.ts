import { isoTime } from '../values/clock.ts';
import { derivedDigits, derivedText } from '../values/randomness.ts';
import type { Database } from '../storage/database.ts';
import type { Plan } from './catalogue.ts';
import type { Order } from './orders.ts';

const dayMs = 86_400_000;
const codeValidityDays = 3 * 365;
/** An eSIM that is not installed expires after so many days. */
const installWithinDays = 180;
const smdpAddress = 'rsp.sandbox.example';

/**
 * The codes of an order, as the API shows them. Other than a software key, a gift card has a PIN,
 * an address and an end.
 */
export function makeCodes(
  { number, quantity, created_at: createdAt }: Order,
  category: string,
  seed: number,
): object[] {
  return Array.from({ length: quantity }, (_, index) => {
    const purpose = `${number}/${index + 1}`;
    const serial = `${number}-${index + 1}`;
    if (category === 'software') return { code: derivedText(seed, purpose, 5, 5), serial };
    const code = derivedText(seed, purpose, 4, 4);
    const pin = derivedDigits(seed, purpose, 4);
    const expiresAt = isoTime(createdAt + codeValidityDays * dayMs);
    return {
      code,
      serial,
      pin,
      url: `https://redeem.sandbox.example/${code}`,
      expires_at: expiresAt,
    };
  });
}

export type Esim = {
  id: number;
  iccid: string;
  account: string;
  order_number: string;
  plan: string;
  smdp_address: string;
  matching_id: string;
  validity_days: number;
  created_at: number;
  installed_at: number | null;
  topped_up_at: number | null;
  cancelled_at: number | null;
  expires_at: number;
  /** How many of the next checks of its state fail; -1 is all of them. */
  unchecked_left: number;
};

export type EsimState = 'new' | 'installed' | 'topped_up' | 'cancelled' | 'expired';

/**
 * The state that the API shows. Cancelled and expired are final; of the others the latest event
 * counts.
 */
export function stateOf(esim: Esim, now: number): EsimState {
  if (esim.cancelled_at !== null) return 'cancelled';
  if (now >= esim.expires_at) return 'expired';
  if (esim.topped_up_at !== null) return 'topped_up';
  if (esim.installed_at !== null) return 'installed';
  return 'new';
}

/**
 * eSIMs and their states: new, installed, topped up, cancelled, expired (Spec 3).
 * @internal
 */
export class Esims {
  readonly #database: Database;
  readonly #seed: number;

  constructor(database: Database, seed: number) {
    this.#database = database;
    this.#seed = seed;
  }

  deliver(
    { number, account, quantity, days, created_at: now }: Order,
    { plan, validity_days, esim }: Plan,
  ): void {
    const validityDays = days ?? validity_days ?? 1;
    const constant = {
      account,
      number,
      plan,
      smdpAddress,
      validityDays,
      now,
      unchecked: esim.unchecked,
    };
    const lifeDays = { new: installWithinDays, installed: validityDays, expired: 0 }[esim.state];
    for (let position = 1; position <= quantity; position += 1) {
      this.#database.run(
        `INSERT INTO esims (iccid, account, order_number, plan, smdp_address, matching_id, validity_days, created_at,
           installed_at, expires_at, unchecked_left) VALUES (@iccid, @account, @number, @plan, @smdpAddress, @matchingId,
           @validityDays, @now, @installedAt, @expiresAt, @unchecked)`,
        {
          ...constant,
          iccid: iccidOf(this.#database.nextId('esims')),
          matchingId: derivedText(this.#seed, `${number}/${position}`, 4, 5),
          installedAt: esim.state === 'installed' ? now : null,
          expiresAt: now + lifeDays * dayMs,
        },
      );
    }
  }

  /** The eSIM with this ICCID, of any account. */
  find(iccid: string): Esim | undefined {
    return this.#database.all<Esim>('SELECT * FROM esims WHERE iccid = ?', iccid)[0];
  }

  /** Spec 2: an eSIM must belong to the caller's account. */
  byIccid(account: string, iccid: string): Esim | undefined {
    const esim = this.find(iccid);
    return esim?.account === account ? esim : undefined;
  }

  ofOrder(number: string): Esim[] {
    return this.#database.all('SELECT * FROM esims WHERE order_number = ? ORDER BY id', number);
  }

  install(esim: Esim, now: number): void {
    if (esim.installed_at !== null) return;
    this.update({ ...esim, installed_at: now, expires_at: now + esim.validity_days * dayMs });
  }

  /**
   * Adds the bought days to the validity of an installed eSIM. One that is not installed keeps its
   * deadline to install.
   */
  topUp(esim: Esim, days: number, now: number): void {
    const addedMs = esim.installed_at === null ? 0 : days * dayMs;
    this.update({ ...esim, topped_up_at: now, expires_at: esim.expires_at + addedMs });
  }

  /** Stores what can change of an eSIM. */
  update(esim: Esim): void {
    this.#database.run(
      `UPDATE esims SET installed_at = @installed_at, topped_up_at = @topped_up_at, cancelled_at = @cancelled_at,
         expires_at = @expires_at, unchecked_left = @unchecked_left WHERE iccid = @iccid`,
      esim,
    );
  }
}

/**
 * The check digit at the end of an ICCID: Luhn's formula over the digits before it (ITU-T E.118).
 */
export function luhnDigit(digits: string): number {
  const values = Array.from(digits)
    .toReversed()
    .map((digit, index) => {
      const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
      return value > 9 ? value - 9 : value;
    });
  return (10 - (values.reduce((sum, value) => sum + value, 0) % 10)) % 10;
}

/**
 * 19 digits: 89, the unassigned country code 999, issuer 01, an eleven-digit serial number, the
 * check digit.
 */
function iccidOf(serial: number): string {
  const digits = `8999901${String(serial).padStart(11, '0')}`;
  return digits + String(luhnDigit(digits));
}
