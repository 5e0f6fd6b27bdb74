import type { OutcomeRow } from '../../core/answers/outcome.ts';
import { decisionTable } from '../decision/decision-table.ts';
import type { EndedCall } from './judge-call.ts';

/** What the orders of products have shown. Products are named by their scopes. */
export interface ProductStates {
  /** An order of it was accepted, as far as that is remembered. */
  isProven(product: string): boolean;
  /** Its last order failed: nobody knew at first whether it was bought. */
  isFailing(product: string): boolean;
  /** So many products fail that another new one may well do so, too. */
  manyFail(): boolean;
}

/** How many products are remembered; beyond it the one that was bought longest ago is forgotten. */
const mostRemembered = 10_000;
/**
 * From so many failing products on, an order of one of them is looked up before it is sent a second
 * time.
 */
const many = 4;
const latelyMs = 600_000;
/** The answers 401 and 403. A maintenance (503) is never that of a product. */
const denials: ReadonlySet<OutcomeRow> = new Set<OutcomeRow>([
  'invalid_key',
  'account_not_allowed',
  'ip_not_allowed',
]);

/**
 * What the orders of each product have shown: proven products were bought, failing ones had a call
 * of which nobody knew at first what became of it, or a denial. Kept in memory: a new worker knows
 * which products were bought and failed lately.
 */
export class Products implements ProductStates {
  readonly #latelyMs: number;
  /** When each was accepted last; the one that was bought last comes last. */
  readonly #proven = new Map<string, number>();
  readonly #failing = new Set<string>();
  /** When an order of a product was denied last. */
  readonly #deniedMs = new Map<string, number>();
  /** When any order was accepted last. */
  #acceptedMs = Number.NEGATIVE_INFINITY;

  constructor(retryTimeScale: number) {
    this.#latelyMs = latelyMs * retryTimeScale;
  }

  /**
   * These were bought before this worker started, the last one last, and some of them failed since.
   */
  remember(bought: readonly string[], failing: readonly string[]): void {
    for (const product of bought.slice(-mostRemembered))
      this.#proven.set(product, Number.NEGATIVE_INFINITY);
    for (const product of failing.slice(-mostRemembered)) this.#failing.add(product);
  }

  isProven(product: string): boolean {
    return this.#proven.has(product);
  }

  /** Whether this worker has seen an order of it accepted after this time. */
  isAcceptedSince(product: string, steadyMs: number): boolean {
    return (this.#proven.get(product) ?? Number.NEGATIVE_INFINITY) > steadyMs;
  }

  isFailing(product: string): boolean {
    return this.#failing.has(product);
  }

  manyFail(): boolean {
    return this.#failing.size >= many;
  }

  isOneOfMany(product: string): boolean {
    return this.#failing.has(product) && this.manyFail();
  }

  /** Whether any order was accepted within the last ten minutes. */
  boughtLately(steadyMs: number): boolean {
    return this.#acceptedMs > steadyMs - this.#latelyMs;
  }

  /**
   * Whether an answer denies the product alone: its last order was denied, too, and another one was
   * accepted since.
   */
  isDeniedAlone(product: string, row: OutcomeRow): boolean {
    const deniedMs = this.#deniedMs.get(product) ?? Number.POSITIVE_INFINITY;
    return denials.has(row) && this.#acceptedMs > deniedMs;
  }

  record(
    { scopes: { product }, purpose, isAccepted, isUnread, row }: EndedCall,
    steadyMs: number,
  ): void {
    if (product === null) return;
    // An accepted order that cannot be delivered proves nothing, also where only its units show
    // that.
    if (isUnread && purpose === 'lookup') this.#proven.delete(product);
    if (isUnread) return;
    if (isAccepted) {
      this.#acceptedMs = steadyMs;
      for (const known of [this.#proven, this.#failing, this.#deniedMs]) known.delete(product);
      this.#proven.set(product, steadyMs);
      this.#forgetOldest();
      return;
    }
    // A lookup that fails says nothing about what orders of the product do.
    if (purpose === 'lookup') return;
    const { verdict } = decisionTable[row].clean;
    const isDenied = denials.has(row);
    if (isDenied) this.#deniedMs.set(product, steadyMs);
    if (verdict === 'unknown' || verdict === 'resolve' || isDenied) this.#failing.add(product);
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const known of [this.#proven, this.#failing, this.#deniedMs]) {
      const [oldest] = known.keys();
      if (known.size > mostRemembered && oldest !== undefined) known.delete(oldest);
    }
  }
}
