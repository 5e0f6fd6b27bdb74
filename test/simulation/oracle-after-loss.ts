import { lookedUpAs } from '../../src/core/order/operation.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ResultEntry, ResultLine } from '../../src/core/result/result-document.ts';
import type { SimOrder } from './api-ledger.ts';
import type { World } from './world.ts';

/** Whether the outbox was lost, and the one in its place looks up before it sends. */
export const looksUpFirst = (world: World): boolean => world.plan.looksUpFirst && world.wire.outboxLost;

/** Only gift cards come in parts. */
const mayBeIn = (line: AcceptableLine, rule: 'split' | 'partial'): boolean =>
  line.operation === 'gift_card_order' && line.rules?.[rule] === true && (line.quantity ?? 1) > 1;

function mayBeCharged(line: AcceptableLine): boolean {
  const other = line.rules?.fallback_currency;
  return other !== undefined && other !== line.currency;
}

/**
 * An entry that gives way to what may have been bought in its place is told as refused, and the API refused nothing. Only
 * where its rule says in which way, and with the others beside it.
 */
export function isReplaced(world: World, line: AcceptableLine, entry: ResultEntry, shown: ResultLine): boolean {
  if (!looksUpFirst(world) || entry.state !== 'rejected' || shown.entries.length < 2) return false;
  const message = entry.error?.message ?? '';
  if (message.startsWith('the outbox was lost')) return line.rules?.partial === true && !mayBeCharged(line);
  return message.startsWith('charged to the other balance before the outbox was lost') && mayBeCharged(line);
}

/** What a person is asked about after a loss, and only after one: what no lookup can tell. */
export function mayNeedReviewAfterLoss(
  world: World,
  line: AcceptableLine,
  entry: { readonly reference: string; readonly possible: ReadonlySet<string>; readonly orders: readonly SimOrder[] },
): boolean {
  if (!looksUpFirst(world)) return false;
  const { readings, settings } = world.plan;
  const elsewhere = mayBeCharged(line) || mayBeIn(line, 'split') || mayBeIn(line, 'partial');
  const { refused } = world.wire.of(entry.reference);
  const isOverdue = line.notAfterMs !== null;
  // For as long as a doubt may last, and no longer.
  if (settings.referenceExpiryMs < 3_600_000) return true;
  if (!readings.lookup) return elsewhere || refused || isOverdue;
  // In parts, or anew by a person: which of them there are is not found by looking up the first.
  const wasReordered = world.operator.reordersOf(line.source, line.orderId, line.lineId) > 0;
  const others = entry.orders.some((order) => order.reference !== entry.reference);
  if (others && (mayBeIn(line, 'split') || mayBeIn(line, 'partial') || wasReordered)) return true;
  if (mayBeCharged(line) && mayBeIn(line, 'partial')) return true;
  // Of parts above a per-order limit, the first is looked up; the others are found only by meeting the limit again.
  if (mayBeIn(line, 'split') && (refused || isOverdue)) return true;
  const seenMs = world.wire.lastSeenMs(entry.possible);
  if (world.wire.foundBefore(lookedUpAs(line.operation), seenMs)) return false;
  return refused || isOverdue || elsewhere;
}
