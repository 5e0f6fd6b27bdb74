import { decisionTable } from '../core/decision/decision-table.ts';
import type { EndedCall } from '../core/scopes/judge-call.ts';

/** How many products are remembered; beyond it the one that was bought longest ago is forgotten. */
const mostRemembered = 10_000;

/**
 * The products whose last order was bought: these may have more calls under way than others. Kept in memory: after a
 * restart each product is tried again with few calls, which costs one answer.
 */
export class ProvenProducts {
  readonly #products = new Set<string>();

  has(product: string): boolean {
    return this.#products.has(product);
  }

  record({ scopes, purpose, isAccepted, row }: EndedCall): void {
    const { product } = scopes;
    // A lookup that fails says nothing about what orders of the product do.
    const isFailed = purpose === 'submit' && decisionTable[row].clean.verdict === 'unknown';
    if (product === null || (!isAccepted && !isFailed)) return;
    this.#products.delete(product);
    if (!isAccepted) return;
    this.#products.add(product);
    const [oldest] = this.#products;
    if (this.#products.size > mostRemembered && oldest !== undefined) this.#products.delete(oldest);
  }
}
