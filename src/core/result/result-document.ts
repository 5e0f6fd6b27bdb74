import { createHash } from 'node:crypto';
import { entryStates, finalStates, type EntryState } from '../entry/states.ts';
import type { Operation } from '../order/purchase.ts';
import type { Unit } from '../answers/order-answer.ts';

/**
 * The state of a whole order. `completed`: every line was bought, or its cancel was confirmed.
 * `needs_manual_delivery`: the worker has done its part, and units that an operator found to be bought
 * are to be delivered by hand.
 */
export const orderStates = [
  'completed',
  'partial',
  'failed',
  'needs_review',
  'needs_manual_delivery',
  'in_progress',
] as const;
type OrderState = (typeof orderStates)[number];

/**
 * `needs_manual_delivery`: an operator found that it was bought, and units are missing. The worker
 * does nothing more.
 */
export const resultEntryStates = [...entryStates, 'needs_manual_delivery'] as const;
export type ResultEntryState = (typeof resultEntryStates)[number];

/**
 * The state of a line in a result: that of one of its entries; `partial` when all entries ended and
 * only some were bought; `rejected` for a line that was never accepted.
 */
export const lineStates = [...resultEntryStates, 'partial'] as const;
export type LineState = (typeof lineStates)[number];

export interface ResultEntry {
  readonly reference: string;
  readonly operation: Operation;
  readonly state: ResultEntryState;
  /** Who resolved it by hand; null: the answers of the API did. */
  readonly resolved_by: string | null;
  readonly order_number: string | null;
  readonly currency: string | null;
  readonly cost: string | null;
  readonly units: readonly Unit[];
  /** Those of its eSIMs that were cancelled since. Absent: none. */
  readonly cancelled_iccids?: readonly string[];
  /**
   * Only after its units were shredded: how many there were, and when that was
   * (`retention.codes_days`).
   */
  readonly shredded?: { readonly units: number; readonly at: string };
  readonly error: ResultError | null;
}

interface ResultError {
  readonly code: string;
  readonly message: string;
  /** The action that the shop, or a person there, can take. */
  readonly action: string | null;
}

export interface ResultLine {
  readonly line_id: string | null;
  readonly state: LineState;
  readonly entries: readonly ResultEntry[];
  readonly error: ResultError | null;
  /** Columns of the order file that mean nothing to the worker are carried through. */
  readonly extra?: Readonly<Record<string, string>>;
}

/**
 * The result that is written back to the shop. A pure function of the database: it is the same,
 * byte by byte, when it is written again.
 */
export interface ResultDocument {
  readonly source: string;
  readonly order_id: string;
  readonly state: OrderState;
  readonly sandbox: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly lines: readonly ResultLine[];
  readonly updated_at: string;
}

/** The state of a line from those of its entries: the one that an operator must see first. */
export function lineStateOf(states: readonly ResultEntryState[]): LineState {
  const haveEnded = states.every((state) => ended.includes(state));
  if (haveEnded && states.includes('needs_manual_delivery')) return 'needs_manual_delivery';
  const successes = states.filter((state) => bought.includes(state)).length;
  // If the shop read "rejected", it would refund units that its customer has.
  if (haveEnded && successes > 0 && successes < states.length) return 'partial';
  const priority: readonly EntryState[] = [
    'needs_review',
    'unknown',
    'sending',
    'placed',
    'waiting',
    'pending',
    'held',
    'rejected',
    'expired',
    'cancelled',
    'refunded',
    'fulfilled',
  ];
  return priority.find((state) => states.includes(state)) ?? 'rejected';
}

const bought: readonly LineState[] = ['fulfilled', 'refunded'];
const ended: readonly LineState[] = [...finalStates, 'needs_manual_delivery', 'partial'];

export function orderStateOf(lines: readonly LineState[]): OrderState {
  if (lines.includes('needs_review')) return 'needs_review';
  if (!lines.every((state) => ended.includes(state))) return 'in_progress';
  if (lines.includes('needs_manual_delivery')) return 'needs_manual_delivery';
  const successes = lines.filter((state) => bought.includes(state)).length;
  if (successes === lines.length) return 'completed';
  return successes === 0 && !lines.includes('partial') ? 'failed' : 'partial';
}

export function renderResultDocument(document: ResultDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/**
 * The file name of an order's result: the order id if it is safe as a name, else a readable part of
 * it and a hash. No order id can name a file outside its folder or that of another order.
 * @param sharesName whether an earlier order has the same source and id but for capital letters: on
 * disks that take these for the same, the two would be one file
 */
export function resultFileName(
  order: { readonly source: string; readonly order_id: string },
  sharesName: boolean,
): string {
  const { source, order_id: orderId } = order;
  if (!sharesName && /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/.test(orderId)) return `${orderId}.json`;
  const readable = orderId.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 40);
  const hash = createHash('sha256')
    .update(sharesName ? `${source}/${orderId}` : orderId)
    .digest('hex')
    .slice(0, 16);
  return `${readable}~${hash}.json`;
}
