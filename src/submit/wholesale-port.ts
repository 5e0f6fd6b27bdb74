import type { Family, Operation } from '../core/order/operation.ts';
import type { Expectation, Purchase, ReferencedPurchase } from '../core/order/purchase.ts';
import type { LookupOutcome, Outcome } from '../core/decision/outcome.ts';

/**
 * What the submission needs of the API client. One call of a method is one HTTP request, never more: each is paid for
 * with a slot of the budget before it is made.
 */
export interface WholesalePort {
  render(purchase: ReferencedPurchase): { method: string; path: string; body: string | null };
  /** Never rejects: every end is an outcome. The connection is dead when it resolves. */
  submit(call: {
    operation: Operation;
    method: string;
    path: string;
    body: string | null;
    keyValue: string;
    expect: Expectation;
    signal: AbortSignal;
  }): Promise<Outcome>;
  canLookUp(family: Family): boolean;
  /** The path template of such a lookup, by which its proof is told apart; null where there is none. */
  lookupPath(family: Family): string | null;
  lookUp(call: {
    family: Family;
    key: string;
    keyValue: string;
    expectReference: string | null;
    /** What was ordered under the reference, to compare the found order with; null where that is not known. */
    ordered: Purchase | null;
    signal: AbortSignal;
  }): Promise<LookupOutcome>;
  /** One cheap GET that spends nothing: does the API take this key now? */
  probe(call: { keyValue: string; signal: AbortSignal }): Promise<Outcome>;
}
