import type { Purchase } from '../order/purchase.ts';
import { judgeUnits } from '../answers/units.ts';
import type { Unit } from '../answers/order-answer.ts';
import type { ResultDocument, ResultEntry, ResultEntryState, ResultLine } from './result-document.ts';

/** The order under one reference. A result shows what came of it. */
export interface OrderedEntry extends Pick<Purchase, 'variant' | 'plan' | 'iccid' | 'quantity'> {
  /** Rejected, and other entries took its place. */
  readonly replaced: boolean;
  /** The state of the shop's order holds it. Absent: no. */
  readonly isHeldByShop?: boolean;
}

export type OrderedEntries = ReadonlyMap<string, OrderedEntry>;

/** A line of an order as its customer sees it: its units, and the number of missing ones. Counts are counts of units. */
export interface DeliveredLine {
  readonly line_id: string | null;
  /** The variant or plan; null for a line that was not accepted. */
  readonly product: string | null;
  readonly giftCards: readonly Unit[];
  readonly esims: readonly Unit[];
  /** The ICCIDs of eSIMs that were topped up. */
  readonly toppedUp: readonly string[];
  /** The worker, or a person who reviews it, still works on these. */
  readonly later: number;
  /** They were bought, and a person gives them to the customer. */
  readonly byHand: number;
  /** Nothing more comes of these; null for a line that was not accepted, whose quantity is not known. */
  readonly notDelivered: number | null;
}

/** Whether everything that was ordered is there. */
export const isComplete = ({ later, byHand, notDelivered }: DeliveredLine): boolean =>
  later === 0 && byHand === 0 && notDelivered === 0;

/**
 * The lines of one order that deliver something, as its customer sees them. Units of which a person has to judge first, because
 * more came than were ordered or one came twice, are not among them: they count as still to come.
 */
export function deliveredLines(document: ResultDocument, ordered: OrderedEntries): readonly DeliveredLine[] {
  return document.lines.flatMap((line) => deliveredLine(line, ordered) ?? []);
}

function deliveredLine({ line_id, entries }: ResultLine, ordered: OrderedEntries): DeliveredLine | null {
  const line = { line_id, product: null, giftCards: [], esims: [], toppedUp: [], later: 0, byHand: 0 };
  if (entries.length === 0) return { ...line, notDelivered: null };
  const parts = entries.flatMap((entry) => {
    const order = ordered.get(entry.reference);
    // A replaced entry says nothing about the line any more, and a cancel delivers nothing.
    const counts = order !== undefined && !order.replaced && entry.operation !== 'esim_cancel';
    return counts ? [{ entry, order, ...deliveredOf(entry, order) }] : [];
  });
  if (parts.length === 0) return null;
  const missingAs = (end: End): number =>
    parts.reduce((sum, part) => sum + (part.missing > 0 && endOf(part.entry.state) === end ? part.missing : 0), 0);
  const unitsOf = (operation: ResultEntry['operation']): readonly Unit[] =>
    parts.flatMap((part) => (part.entry.operation === operation ? part.units : []));
  return {
    line_id,
    product: parts.map(({ order }) => order.variant ?? order.plan).find((product) => product !== null) ?? null,
    giftCards: unitsOf('gift_card_order'),
    esims: unitsOf('esim_order'),
    toppedUp: parts.flatMap(({ entry, order }) =>
      entry.operation === 'esim_topup' && entry.state === 'fulfilled' ? [order.iccid ?? ''] : [],
    ),
    later: missingAs('later'),
    byHand: missingAs('by_hand'),
    notDelivered: missingAs('not_delivered'),
  };
}

/** The units of an entry that its customer may see, and how many of the ordered ones are not among them. */
function deliveredOf(entry: ResultEntry, order: OrderedEntry): { units: readonly Unit[]; missing: number } {
  const { operation, reference, order_number: orderNumber, state } = entry;
  if (operation === 'esim_topup') return { units: [], missing: state === 'fulfilled' ? 0 : 1 };
  const { kind, units, different } = judgeUnits(entry.units, { ...order, operation, reference, orderNumber });
  const quantity = order.quantity ?? 1;
  // Units that were taken back or never came are worth nothing to the customer.
  const isShown = (kind === 'complete' || kind === 'fewer') && endOf(state) !== 'not_delivered';
  return isShown ? { units, missing: quantity - different } : { units: [], missing: quantity };
}

type End = 'later' | 'by_hand' | 'not_delivered';

function endOf(state: ResultEntryState): End {
  if (state === 'fulfilled' || state === 'needs_manual_delivery') return 'by_hand';
  const isOver = state === 'rejected' || state === 'expired' || state === 'cancelled' || state === 'refunded';
  return isOver ? 'not_delivered' : 'later';
}
