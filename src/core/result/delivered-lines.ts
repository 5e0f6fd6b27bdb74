import type { Purchase } from '../order/purchase.ts';
import { judgeUnits } from '../answers/units.ts';
import type { Unit } from '../answers/order-answer.ts';
import type { ResultEntry, ResultEntryState, ResultLine } from './result-document.ts';

/** The order under one reference. A result shows what came of it. */
export interface OrderedEntry extends Pick<Purchase, 'variant' | 'plan' | 'iccid' | 'quantity'> {
  /** Rejected, and other entries took its place. */
  readonly replaced: boolean;
  /** The state of the shop's order holds it. Absent: no. */
  readonly isHeldByShop?: boolean;
}

export type OrderedEntries = ReadonlyMap<string, OrderedEntry>;

export interface Delivered {
  readonly units: readonly Unit[];
  readonly toppedUp: readonly string[];
  readonly isComplete: boolean;
}

/**
 * Finds what a line gives its customer; null for one that delivers nothing, as a cancel. An
 * operator judges units first where more came than were ordered or one came twice: these are not
 * given, and count as missing.
 */
export function deliveredOf({ entries }: ResultLine, ordered: OrderedEntries): Delivered | null {
  const parts = entries.flatMap((entry) => {
    const order = ordered.get(entry.reference);
    // A replaced entry says nothing about the line any more.
    const counts = order !== undefined && !order.replaced && entry.operation !== 'esim_cancel';
    return counts ? [partOf(entry, order)] : [];
  });
  if (parts.length === 0) return null;
  return {
    units: parts.flatMap(({ units }) => units),
    toppedUp: parts.flatMap(({ toppedUp }) => toppedUp),
    isComplete: parts.every((part) => part.isComplete),
  };
}

/** Units that were taken back or never came are worth nothing to the customer. */
const worthless: readonly ResultEntryState[] = ['rejected', 'expired', 'cancelled', 'refunded'];

function partOf(entry: ResultEntry, order: OrderedEntry): Delivered {
  const { operation, reference, order_number: orderNumber, state } = entry;
  if (operation === 'esim_topup') {
    const isComplete = state === 'fulfilled';
    return { units: [], toppedUp: isComplete ? [order.iccid ?? ''] : [], isComplete };
  }
  const { kind, units } = judgeUnits(entry.units, { ...order, operation, reference, orderNumber });
  const isShown = (kind === 'complete' || kind === 'fewer') && !worthless.includes(state);
  const isComplete = isShown && kind === 'complete';
  return { units: isShown ? withoutCancelled(entry, units) : [], toppedUp: [], isComplete };
}

/** The units that still work. One without an ICCID may be the cancelled one. */
export function withoutCancelled(
  { cancelled_iccids: cancelled = [] }: ResultEntry,
  units: readonly Unit[],
): readonly Unit[] {
  return units.filter(({ iccid = cancelled[0] }) => !cancelled.some((it) => it === iccid));
}
