import type { Expectation, Family, Operation, Purchase, ReferencedPurchase } from '../core/order/purchase.ts';
import type { Probe, ProbeQuestion } from '../core/scopes/probe.ts';
import type { LookupOutcome, Outcome } from '../core/answers/outcome.ts';

/**
 * The part of the API client that the submission uses. Each method makes one HTTP request at most, for which the caller took a
 * slot.
 */
export interface WholesalePort {
  render(purchase: ReferencedPurchase): { method: string; path: string; body: string | null };
  /** Never rejects: every end is an outcome. The connection is closed when it resolves. */
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
  /** The path template of lookups, which identifies their proof; null if there are none. */
  lookupPath(family: Family): string | null;
  lookUp(call: {
    family: Family;
    key: string;
    keyValue: string;
    expectReference: string | null;
    /** The order under the reference, to compare with the found one; null if it is not known. */
    ordered: Purchase | null;
    signal: AbortSignal;
  }): Promise<LookupOutcome>;
  /** One small question that spends nothing: does the API answer, and accept this key now? */
  probe(call: { question: ProbeQuestion; keyValue: string; signal: AbortSignal }): Promise<Probe>;
  /** Identifies the connector: the same for the same resolved mapping. */
  connectorHash(): string;
}
