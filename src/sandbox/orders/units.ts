import type { SandboxSettings } from '../settings/config.ts';
import type { Database } from '../storage/database.ts';
import type { Order } from './orders.ts';
import { derivedDigits, derivedText } from '../values/randomness.ts';
import type { Plan } from './catalogue.ts';

export type Code = {
  position: number;
  code: string;
  pin: string | null;
  serial: string;
  url: string | null;
  expires_at: number | null;
};

const threeYearsMs = 3 * 365 * 86_400_000;

/**
 * The codes of gift card and software orders.
 * @internal
 */
export class Codes {
  readonly #seed: number;
  readonly #insert;
  readonly #ofOrder;

  constructor(database: Database, seed: number) {
    this.#seed = seed;
    this.#insert = database.prepare('INSERT INTO codes VALUES (?, ?, ?, ?, ?, ?, ?)');
    this.#ofOrder = database.prepare<[string], Code>('SELECT * FROM codes WHERE order_number = ? ORDER BY position');
  }

  /** Makes one code for each unit. A gift card code has a PIN, an address and an end date; a software key has none. */
  deliver(order: Order, category: string): void {
    for (let position = 1; position <= order.quantity; position += 1) {
      const purpose = `${order.number}/${position}`;
      const software = category === 'software';
      const code = software ? derivedText(this.#seed, purpose, 5, 5) : derivedText(this.#seed, purpose, 4, 4);
      this.#insert.run(
        order.number,
        position,
        code,
        software ? null : derivedDigits(this.#seed, purpose, 4),
        `${order.number}-${position}`,
        software ? null : `https://redeem.sandbox.example/${code}`,
        software ? null : order.created_at + threeYearsMs,
      );
    }
  }

  of(order: Order): Code[] {
    return this.#ofOrder.all(order.number);
  }
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
  unchecked_left: number;
};

export type EsimState = 'new' | 'installed' | 'topped_up' | 'cancelled' | 'expired';

const dayMs = 86_400_000;

/** The state that the API shows. Cancelled and expired are final; of the others the latest event counts. */
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
  readonly #seed: number;
  readonly #settings: SandboxSettings['esims'];
  readonly #sql;

  constructor(database: Database, seed: number, settings: SandboxSettings['esims']) {
    this.#seed = seed;
    this.#settings = settings;
    this.#sql = {
      nextId: database
        .prepare<[], number>("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'esims'), 0) + 1")
        .pluck(),
      insert: database.prepare(
        `INSERT INTO esims (iccid, account, order_number, plan, smdp_address, matching_id, validity_days, created_at,
           installed_at, expires_at, unchecked_left) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      byIccid: database.prepare<[string], Esim>('SELECT * FROM esims WHERE iccid = ?'),
      ofOrder: database.prepare<[string], Esim>('SELECT * FROM esims WHERE order_number = ? ORDER BY id'),
      update: database.prepare(
        `UPDATE esims SET installed_at = @installed_at, topped_up_at = @topped_up_at, cancelled_at = @cancelled_at,
           expires_at = @expires_at, unchecked_left = @unchecked_left WHERE iccid = @iccid`,
      ),
    };
  }

  /** One eSIM for each unit of the order. */
  deliver(order: Order, plan: Plan): void {
    const validityDays = order.days ?? plan.validity_days ?? 1;
    for (let position = 1; position <= order.quantity; position += 1) {
      const installedAt = plan.esim.state === 'installed' ? order.created_at : null;
      const expiresAt = {
        new: order.created_at + this.#settings.install_within_days * dayMs,
        installed: order.created_at + validityDays * dayMs,
        expired: order.created_at,
      }[plan.esim.state];
      this.#sql.insert.run(
        iccidOf(this.#sql.nextId.get() ?? 1),
        order.account,
        order.number,
        plan.plan,
        this.#settings.smdp_address,
        derivedText(this.#seed, `${order.number}/${position}`, 4, 5),
        validityDays,
        order.created_at,
        installedAt,
        expiresAt,
        plan.esim.unchecked,
      );
    }
  }

  /** The eSIM with this ICCID, of any account. */
  find(iccid: string): Esim | undefined {
    return this.#sql.byIccid.get(iccid);
  }

  /** Spec 2: an eSIM must belong to the caller's account. */
  byIccid(account: string, iccid: string): Esim | undefined {
    const esim = this.find(iccid);
    return esim?.account === account ? esim : undefined;
  }

  ofOrder(number: string): Esim[] {
    return this.#sql.ofOrder.all(number);
  }

  install(esim: Esim, now: number): void {
    this.#sql.update.run({
      ...esim,
      installed_at: esim.installed_at ?? now,
      expires_at: esim.installed_at === null ? now + esim.validity_days * dayMs : esim.expires_at,
    });
  }

  expire(esim: Esim, now: number): void {
    this.#sql.update.run({ ...esim, expires_at: Math.min(esim.expires_at, now) });
  }

  cancel(esim: Esim, now: number): void {
    this.#sql.update.run({ ...esim, cancelled_at: now });
  }

  /** Adds the bought days to the validity of an installed eSIM. One that is not installed keeps its deadline to install. */
  topUp(esim: Esim, days: number, now: number): void {
    this.#sql.update.run({
      ...esim,
      topped_up_at: now,
      expires_at: esim.installed_at === null ? esim.expires_at : esim.expires_at + days * dayMs,
    });
  }

  /** Sets how many of the next checks of its state fail; -1 is all of them. */
  setUnchecked(esim: Esim, left: number): void {
    this.#sql.update.run({ ...esim, unchecked_left: left });
  }
}

/** The check digit at the end of an ICCID: Luhn's formula over the digits before it (ITU-T E.118). */
export function luhnDigit(digits: string): number {
  let sum = 0;
  let doubled = true;
  for (let index = digits.length - 1; index >= 0; index -= 1) {
    let digit = Number(digits[index]);
    if (doubled) {
      digit *= 2;
      if (digit > 9) digit -= 9;
    }
    sum += digit;
    doubled = !doubled;
  }
  return (10 - (sum % 10)) % 10;
}

/** 19 digits: 89, the unassigned country code 999, issuer 01, an eleven-digit serial number, the check digit. */
function iccidOf(serial: number): string {
  const digits = `8999901${String(serial).padStart(11, '0')}`;
  return digits + String(luhnDigit(digits));
}
