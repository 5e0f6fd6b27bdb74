import type { Plan } from './catalogue.ts';
import type { Database } from '../database.ts';
import { iccidOf } from './iccid.ts';
import type { Order } from './orders.ts';
import { derivedText } from '../randomness.ts';

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

/** The state that is shown. Cancelled and expired end a life; of the others the latest event counts. */
export function stateOf(esim: Esim, now: number): EsimState {
  if (esim.cancelled_at !== null) return 'cancelled';
  if (now >= esim.expires_at) return 'expired';
  if (esim.topped_up_at !== null) return 'topped_up';
  if (esim.installed_at !== null) return 'installed';
  return 'new';
}

/** eSIMs and their life: new, installed, topped up, cancelled, expired (Spec 3). */
export class Esims {
  readonly #seed: number;
  readonly #settings: { install_within_days: number; smdp_address: string };
  readonly #nextId;
  readonly #insert;
  readonly #byIccid;
  readonly #ofOrder;
  readonly #update;

  constructor(database: Database, seed: number, settings: { install_within_days: number; smdp_address: string }) {
    this.#seed = seed;
    this.#settings = settings;
    this.#nextId = database
      .prepare<[], number>("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'esims'), 0) + 1")
      .pluck();
    this.#insert = database.prepare(
      `INSERT INTO esims (iccid, account, order_number, plan, smdp_address, matching_id, validity_days, created_at,
         installed_at, expires_at, unchecked_left) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#byIccid = database.prepare<[string, string], Esim>('SELECT * FROM esims WHERE iccid = ? AND account = ?');
    this.#ofOrder = database.prepare<[string], Esim>('SELECT * FROM esims WHERE order_number = ? ORDER BY id');
    this.#update = database.prepare(
      `UPDATE esims SET installed_at = @installed_at, topped_up_at = @topped_up_at, cancelled_at = @cancelled_at,
         expires_at = @expires_at, unchecked_left = @unchecked_left WHERE iccid = @iccid`,
    );
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
      this.#insert.run(
        iccidOf(this.#nextId.get() ?? 1),
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

  /** Spec 2: an eSIM must belong to the caller's account. */
  byIccid(account: string, iccid: string): Esim | undefined {
    return this.#byIccid.get(iccid, account);
  }

  ofOrder(number: string): Esim[] {
    return this.#ofOrder.all(number);
  }

  install(esim: Esim, now: number): void {
    this.#update.run({
      ...esim,
      installed_at: esim.installed_at ?? now,
      expires_at: esim.installed_at === null ? now + esim.validity_days * dayMs : esim.expires_at,
    });
  }

  expire(esim: Esim, now: number): void {
    this.#update.run({ ...esim, expires_at: Math.min(esim.expires_at, now) });
  }

  cancel(esim: Esim, now: number): void {
    this.#update.run({ ...esim, cancelled_at: now });
  }

  /** Adds the bought days to an eSIM's life; one that is not installed keeps its longer deadline. */
  topUp(esim: Esim, days: number, now: number): void {
    this.#update.run({
      ...esim,
      topped_up_at: now,
      expires_at: esim.installed_at === null ? esim.expires_at : esim.expires_at + days * dayMs,
    });
  }

  /** Sets how many of the next checks of its state fail; -1 is all of them. */
  setUnchecked(esim: Esim, left: number): void {
    this.#update.run({ ...esim, unchecked_left: left });
  }
}
