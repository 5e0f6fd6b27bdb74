import type { Purchase } from '../order/purchase.ts';

/** What was ordered under one reference. A result shows what came of it. */
export interface OrderedEntry extends Pick<Purchase, 'variant' | 'plan' | 'iccid' | 'quantity'> {
  /** Rejected, and other entries took its place. */
  readonly replaced: boolean;
}

/** The ordered entries of one order, by reference. */
export type OrderedEntries = ReadonlyMap<string, OrderedEntry>;
