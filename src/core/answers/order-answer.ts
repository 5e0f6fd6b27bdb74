import { quoted } from '../message-text.ts';
import type { UnitFields } from './unit-fields.ts';

/** One delivered unit. Suppliers deliver codes, pins, links, pictures and eSIM profiles. */
export interface Unit extends UnitFields {
  /** The word of the supplier: only operators see it. */
  readonly status?: string;
}

/**
 * The spec fixes only the word `refunded` (Spec 3); `failed` and `pending` stand for several words.
 */
export type StatusClass = 'refunded' | 'failed' | 'done' | 'pending' | 'none';

/**
 * A success answer, as the connector reads it. The spec shows no payload, so any field may be null.
 */
export interface OrderAnswer {
  readonly orderNumber: string | null;
  readonly reference: string | null;
  readonly status: string | null;
  readonly statusClass: StatusClass;
  /** Decimal text as received; never a float. */
  readonly cost: string | null;
  /** A cost that was shown in another form than a plain amount; absent when there was none. */
  readonly uncountedCost?: string;
  /** Of the charged balance; absent: it was not shown. */
  readonly balanceLeft?: string;
  readonly currency: string | null;
  /** What came back, by the answer to a cancel, as decimal text; absent when it does not say. */
  readonly refund?: string;
  readonly units: readonly Unit[];
  /** Names of the fields of units that the connector did not read; absent when it read all. */
  readonly unreadFields?: readonly string[];
}

/** A sentence about fields of units that were not read, for an operator; null when all were read. */
export function unreadText({ unreadFields = [] }: OrderAnswer): string | null {
  return unreadFields.length === 0
    ? null
    : `the units in the answer have fields that wholesale.wire does not read: ${unreadFields.join(', ')}`;
}

/** What an answer about another order says, for an operator, with the number of that order. */
export function foreignText(message: string, answer: OrderAnswer | null): string {
  return answer?.orderNumber ? `${message} (order number ${quoted(answer.orderNumber)})` : message;
}
