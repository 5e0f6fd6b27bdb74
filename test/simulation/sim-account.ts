import type { ApiAnswer, ApiCall } from './api-call.ts';
import { errorAnswer } from './api-answers.ts';
import type { SimEsim } from './api-ledger.ts';
import type { Purchase } from './sim-api.ts';

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/**
 * A span of virtual time. Faults end with the faulty part of a run; the nature of a product does
 * not.
 */
export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Product {
  /** Of a day, where days are ordered. */
  readonly priceCents: number;
  readonly rise?: { readonly atMs: number; readonly percent: number };
  /** The per-order limit. */
  readonly limit?: number;
  /** How many can be sold until that time. */
  readonly stock?: { readonly units: number; readonly untilMs: number };
  /** Orders are refused during these spans. */
  readonly refusals: readonly (Refusal & Span)[];
  /** After the first sale, further orders are refused like this until that time. */
  readonly afterSale: (Refusal & { readonly untilMs: number }) | null;
}

/** The highest price that a product has in a run. */
export const dearestCents = ({ priceCents, rise }: Product): number =>
  Math.ceil(priceCents * (1 + (rise?.percent ?? 0) / 100));

/** Calls with this authorization are denied; null: all calls. */
export type Denial = Refusal & Span & { readonly authorization: string | null };

export interface AccountPlan {
  readonly products: ReadonlyMap<string, Product>;
  readonly balances: Readonly<Record<string, number>>;
  /** When money is added to every balance. */
  readonly depositAtMs: number;
  /** The only balance that is filled; absent: each is. */
  readonly depositTo?: string;
  readonly denials: readonly Denial[];
  readonly authorizations: readonly string[];
  /**
   * The one of these that is of another account, which knows nothing of this one's orders; absent:
   * all are of one.
   */
  readonly foreign?: string;
  /** eSIMs whose state cannot be checked during a span. */
  readonly unchecked: ReadonlyMap<string, Span>;
}

const lasts = (span: Span, nowMs: number): boolean => nowMs >= span.fromMs && nowMs < span.untilMs;

function costOf(
  product: Product,
  { quantity, days }: Pick<Purchase, 'quantity' | 'days'>,
  nowMs: number,
): number {
  const isRisen = product.rise !== undefined && nowMs >= product.rise.atMs;
  return (isRisen ? dearestCents(product) : product.priceCents) * quantity * (days ?? 1);
}

/** The account at the API: products, balances and keys. It decides which calls the API refuses. */
export class SimAccount {
  readonly #plan: AccountPlan;
  readonly #balances = new Map<string, number>();
  /** How many units of each product were sold. */
  readonly #sold = new Map<string, number>();
  #deposited = false;
  /**
   * Every charge, and every refund as less than 0, of a reference or of `cancel:` and an ICCID.
   */
  readonly movements: {
    readonly subject: string;
    readonly currency: string;
    readonly cents: number;
  }[] = [];

  constructor(plan: AccountPlan) {
    this.#plan = plan;
    for (const [currency, cents] of Object.entries(plan.balances))
      this.#balances.set(currency, cents);
  }

  /** The account of a call, by its key. */
  accountOf(call: ApiCall): 'own' | 'other' {
    return call.authorization === this.#plan.foreign ? 'other' : 'own';
  }

  denialOf(call: ApiCall, nowMs: number): ApiAnswer | null {
    const known = this.#plan.authorizations.includes(call.authorization);
    const denial = this.#plan.denials.find(
      (it) =>
        lasts(it, nowMs) && (it.authorization === null || it.authorization === call.authorization),
    );
    if (denial !== undefined) return errorAnswer(denial.status, denial.code, denial.message);
    return known ? null : errorAnswer(401, 'invalid_key', 'The key is not known.');
  }

  refusalOf(asked: Purchase, esim: SimEsim | null, nowMs: number): Refusal | null {
    if (asked.operation === 'esim_topup') {
      if (esim === null)
        return { status: 404, code: 'not_found', message: 'No eSIM with that ICCID.' };
      if (esim.state === 'cancelled' || esim.state === 'expired')
        return {
          status: 422,
          code: 'topup_not_allowed',
          message: 'The eSIM is cancelled or expired.',
        };
    }
    const product = this.#plan.products.get(asked.product);
    const code = asked.operation === 'gift_card_order' ? 'invalid_variant' : 'invalid_plan';
    if (product === undefined) return { status: 404, code, message: 'Not in the catalogue.' };
    const refusal = product.refusals.find((it) => lasts(it, nowMs));
    if (refusal !== undefined) return refusal;
    const { afterSale } = product;
    if (afterSale !== null && this.#sold.has(asked.product) && nowMs < afterSale.untilMs)
      return afterSale;
    if (asked.quantity > (product.limit ?? asked.quantity))
      return {
        status: 422,
        code: 'limit_exceeded',
        message: `At most ${product.limit} per order.`,
      };
    const { stock } = product;
    const left = (stock?.units ?? 0) - (this.#sold.get(asked.product) ?? 0);
    if (stock !== undefined && nowMs < stock.untilMs && asked.quantity > left)
      return { status: 409, code: 'out_of_stock', message: 'Fewer are available.' };
    const balance = this.#balanceOf(asked.currency, nowMs);
    if (balance === undefined)
      return {
        status: 422,
        code: 'currency_unavailable',
        message: `No price in ${asked.currency}.`,
      };
    if (balance < costOf(product, asked, nowMs))
      return {
        status: 402,
        code: 'insufficient_balance',
        message: `The ${asked.currency} balance is too low.`,
      };
    return null;
  }

  #balanceOf(currency: string, nowMs: number): number | undefined {
    if (!this.#deposited && nowMs >= this.#plan.depositAtMs) {
      this.#deposited = true;
      for (const [name, cents] of this.#balances)
        if (name === (this.#plan.depositTo ?? name)) this.#balances.set(name, cents + 100_000_000);
    }
    return this.#balances.get(currency);
  }

  charge(asked: Purchase, nowMs: number): number {
    const product = this.#plan.products.get(asked.product);
    const cost = product === undefined ? 0 : costOf(product, asked, nowMs);
    const balance = (this.#balanceOf(asked.currency, nowMs) ?? 0) - cost;
    this.#move(asked.reference, asked.currency, balance, cost);
    this.#sold.set(asked.product, (this.#sold.get(asked.product) ?? 0) + asked.quantity);
    return cost;
  }

  refund(subject: string, currency: string, cents: number): void {
    this.#move(subject, currency, (this.#balances.get(currency) ?? 0) + cents, -cents);
  }

  #move(subject: string, currency: string, balance: number, cents: number): void {
    this.#balances.set(currency, balance);
    this.movements.push({ subject, currency, cents });
  }

  cannotCheck(iccid: string, nowMs: number): boolean {
    const span = this.#plan.unchecked.get(iccid);
    return span !== undefined && lasts(span, nowMs);
  }
}
