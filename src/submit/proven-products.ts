import { decisionTable } from '../core/decision/decision-table.ts';
import { evidenceRules } from '../core/scopes/evidence.ts';
import type { EndedCall, ProductRecord } from '../core/scopes/judge-call.ts';

/** How many products are remembered; beyond it the one that was bought longest ago is forgotten. */
const mostRemembered = 10_000;
/** After so many different products failed, and none of them was bought, the others that nobody has bought are suspect. */
const fewFailing = 4;
const latelyMs = 600_000;

const rejected: ReadonlySet<string> = new Set(evidenceRules.consecutive_rejections.rows);
/** Variants are gift cards, and plans are eSIMs. */
const familyOfProduct = (product: string): string =>
  product.startsWith('variant:') ? 'family:gift_card' : 'family:esim';

/**
 * What the orders of each product have shown. Kept in memory: a new worker knows which products were bought lately, and
 * tries each with few calls first, which costs one answer.
 */
export class ProvenProducts implements ProductRecord {
  readonly #latelyMs: number;
  /** The number of the last purchase, and whether this worker made it. 1 if an order was refused since; 0 if one failed. */
  readonly #products = new Map<string, { readonly number: number; readonly isOwn: boolean }>();
  #purchases = 1;
  /** By family: products that failed and were never bought, or not since, with none of them bought between. */
  readonly #failing = new Map<string, Set<string>>();
  /** When an order of a family, or of any, was accepted last. */
  readonly #acceptedMono = new Map<string, number>();

  constructor(retryTimeScale: number) {
    this.#latelyMs = latelyMs * retryTimeScale;
  }

  /** These were bought before this worker started, the last one last, and some of them failed since. */
  remember(bought: readonly string[], failing: readonly string[]): void {
    for (const product of bought.slice(-mostRemembered)) this.#set(product, false);
    for (const product of failing) this.#fail(product);
  }

  #fail(product: string): void {
    if (this.#products.has(product)) this.#products.set(product, { number: 0, isOwn: false });
  }

  #set(product: string, isOwn: boolean): void {
    this.#purchases += 1;
    this.#products.delete(product);
    this.#products.set(product, { number: this.#purchases, isOwn });
  }

  isProven(product: string): boolean {
    return this.#products.get(product)?.isOwn === true;
  }

  wasBought(product: string): boolean {
    return this.#products.has(product);
  }

  hasBought(family: string): boolean {
    return this.#products.keys().some((it) => familyOfProduct(it) === family);
  }

  isSound(product: string): boolean {
    return this.lastPurchase(product) > 0;
  }

  lastPurchase(product: string): number {
    return this.#products.get(product)?.number ?? 0;
  }

  isSuspect(product: string): boolean {
    return !this.isSound(product) && (this.#failing.get(familyOfProduct(product))?.size ?? 0) >= fewFailing;
  }

  acceptedSince(scope: string, sinceMono: number): boolean {
    return (this.#acceptedMono.get(scope) ?? Number.NEGATIVE_INFINITY) > sinceMono;
  }

  boughtLately(scope: string, nowMono: number): boolean {
    return this.acceptedSince(scope, nowMono - this.#latelyMs);
  }

  record({ scopes, purpose, isAccepted, isUnread, row }: EndedCall, nowMono: number): void {
    const { product, family } = scopes;
    if (product === null) return;
    // What was accepted and cannot be delivered proves nothing, also where that shows only when its units come.
    if (isUnread && purpose === 'lookup') this.#products.delete(product);
    if (isUnread) return;
    const failing = this.#failing.get(family) ?? new Set<string>();
    this.#failing.set(family, failing);
    if (isAccepted) {
      for (const scope of [family, 'account']) this.#acceptedMono.set(scope, nowMono);
      if (!this.isSound(product)) failing.clear();
      this.#set(product, true);
      const [oldest] = this.#products;
      if (this.#products.size > mostRemembered && oldest !== undefined) this.#products.delete(oldest[0]);
      return;
    }
    // A lookup that fails says nothing about what orders of the product do.
    const { verdict } = decisionTable[row].clean;
    const isFailed = purpose === 'submit' && (verdict === 'unknown' || verdict === 'resolve');
    if (isFailed) this.#fail(product);
    // The next trial goes to another product.
    else if (purpose === 'submit' && this.isSound(product))
      this.#products.set(product, { number: 1, isOwn: this.isProven(product) });
    // Where nothing is bought, the products may be well.
    const isAgainst = (isFailed || rejected.has(row)) && this.boughtLately(family, nowMono);
    if (isAgainst && !this.isSound(product) && failing.size < fewFailing) failing.add(product);
  }
}
