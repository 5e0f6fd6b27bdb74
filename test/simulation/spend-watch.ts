import type { Database } from 'better-sqlite3';
import type { SpendLimit } from '../../src/buying/spending/settings.ts';
import type { OpenAttempt } from '../../src/buying/queue/claim-sql.ts';
import type { Invariant } from './invariants.ts';

/** A purchase as the books of the API have it. Amounts are in hundredths. */
export interface Booked {
  readonly reference: string;
  readonly product: string;
  readonly currency: string;
  readonly cents: number;
  readonly atMs: number;
}

interface Key {
  readonly product: string | null;
  readonly days: number | null;
  readonly currency: string | null;
}

const nameOf = ({ product, days, currency }: Key): string => `${product} ${days ?? 0} ${currency}`;

/**
 * Checks each purchase against the limits on spending, by the books of the API and its time. What
 * an order was expected to cost when it was claimed follows from the answers that were recorded by
 * then.
 */
export class SpendWatch {
  readonly #limits: readonly SpendLimit[];
  readonly #violate: (invariant: Invariant, sentence: string) => void;
  /** Of an order that an operator released, no limit is asked. */
  readonly #isTouched: (reference: string) => boolean;
  readonly #mostCalls: () => number;
  readonly #unitCents = new Map<string, number>();
  /** What the order of a reference was expected to cost; null: nobody knew. */
  readonly #expected = new Map<string, number | null>();
  readonly #booked: (Booked & { readonly counted: number })[] = [];
  readonly #above = new Map<string, number>();

  constructor(options: {
    limits: readonly SpendLimit[];
    violate: (invariant: Invariant, sentence: string) => void;
    isTouched: (reference: string) => boolean;
    mostCalls: () => number;
  }) {
    this.#limits = options.limits;
    this.#violate = options.violate;
    this.#isTouched = options.isTouched;
    this.#mostCalls = options.mostCalls;
  }

  /** An order was claimed. */
  claimed({ entry, purpose }: OpenAttempt): void {
    if (this.#limits.length === 0 || purpose !== 'submit') return;
    const { reference, quantity, variant, plan, days, currency } = entry;
    const unit = this.#unitCents.get(nameOf({ product: variant ?? plan, days, currency }));
    const now = unit === undefined ? null : unit * (quantity ?? 1);
    const before = this.#expected.get(reference);
    // What was reserved at first may stay.
    const least = before === undefined || now === null ? now : before && Math.min(before, now);
    this.#expected.set(reference, least);
  }

  /** An answer was recorded. */
  closed(entryId: number, database: Database): void {
    if (this.#limits.length === 0) return;
    const row = database
      .prepare<[number], Key & { cost: string | null; quantity: number | null }>(
        'SELECT coalesce(variant, plan) AS product, days, currency, cost, quantity FROM entries WHERE id = ?',
      )
      .get(entryId);
    if (row === undefined || row.cost === null) return;
    this.#unitCents.set(nameOf(row), (Number(row.cost) * 100) / (row.quantity ?? 1));
  }

  /** The API sold an order. */
  sold(booked: Booked): void {
    const { reference, product, currency, cents, atMs } = booked;
    const expected = this.#expected.get(reference) ?? null;
    if (expected === null || this.#isTouched(reference)) return;
    this.#booked.push({ ...booked, counted: Math.min(cents, Math.ceil(expected)) });
    if (cents > Math.ceil(expected)) this.#soldAbove(product);
    for (const { amount, per } of this.#limits) {
      if (amount.currency !== currency) continue;
      const windowMs = { order: 0, hour: 3_600_000, day: 86_400_000 }[per];
      const spent = this.#booked
        .filter((it) => it.currency === currency && it.atMs > atMs - windowMs)
        .filter((it) => !this.#isTouched(it.reference))
        .reduce((sum, { counted }) => sum + counted, 0);
      if (spent * 10_000 > amount.millionths)
        this.#violate('I50', `${reference}: ${spent} of ${amount.text} per ${per} are spent`);
    }
  }

  /** The price rose: nobody can know until an answer shows it. */
  #soldAbove(product: string): void {
    const count = (this.#above.get(product) ?? 0) + 1;
    this.#above.set(product, count);
    if (count > this.#mostCalls())
      this.#violate('I50', `${count} orders of ${product} were bought above the known price`);
  }
}
