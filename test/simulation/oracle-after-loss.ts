import { lookedUpAs } from '../../src/core/order/purchase.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { ResultEntry, ResultLine } from '../../src/core/result/result-document.ts';
import type { SimOrder } from './api-ledger.ts';
import type { World } from './world.ts';

/** Whether the outbox was lost and the new one looks up before it sends. */
export const looksUpFirst = (world: World): boolean =>
  world.plan.looksUpFirst && world.wire.outboxLost;

/** Only gift cards can be split. */
const mayBeIn = (line: AcceptableLine, rule: 'split' | 'partial'): boolean =>
  line.operation === 'gift_card_order' && line.rules?.[rule] === true && (line.quantity ?? 1) > 1;

function mayBeCharged(line: AcceptableLine): boolean {
  const other = line.rules?.fallback_currency;
  return other !== undefined && other !== line.currency;
}

/**
 * Whether an entry is shown as rejected, although the API refused nothing, because others may have
 * been bought in its place. Only with the rule that allows it, and with the other entries shown.
 */
export function isReplaced(
  world: World,
  line: AcceptableLine,
  entry: ResultEntry,
  shown: ResultLine,
): boolean {
  if (!looksUpFirst(world) || entry.state !== 'rejected' || shown.entries.length < 2) return false;
  const message = entry.error?.message ?? '';
  // In a copy it may be charged to its other balance already: then nothing but its parts is left to
  // look up.
  const hasOtherBalance = mayBeCharged(line) && world.plan.copyAtMs === null;
  if (message.startsWith('the outbox was lost'))
    return line.rules?.partial === true && !hasOtherBalance;
  return (
    message.startsWith('charged to the other balance before the outbox was lost') &&
    mayBeCharged(line)
  );
}

/** What needs review after a loss only, because no lookup can decide it. */
export function mayNeedReviewAfterLoss(
  world: World,
  line: AcceptableLine,
  entry: {
    readonly reference: string;
    readonly possible: ReadonlySet<string>;
    readonly orders: readonly SimOrder[];
  },
): boolean {
  if (!looksUpFirst(world)) return false;
  const { readings, settings } = world.plan;
  const elsewhere = mayBeCharged(line) || mayBeIn(line, 'split') || mayBeIn(line, 'partial');
  const { refused } = world.wire.of(entry.reference);
  const isOverdue = line.notAfterMs !== null;
  // The reference may have expired.
  if (settings.referenceExpiryMs < 3_600_000) return true;
  if (!readings.lookup) return elsewhere || refused || isOverdue;
  // A lookup of the first reference does not find the other parts or the re-orders.
  const wasReordered = world.operator.reordersOf(line.source, line.orderId, line.lineId) > 0;
  const others = entry.orders.some((order) => order.reference !== entry.reference);
  if (others && (mayBeIn(line, 'split') || mayBeIn(line, 'partial') || wasReordered)) return true;
  if (mayBeCharged(line) && mayBeIn(line, 'partial')) return true;
  // Only the first part is looked up; the others are found when the API refuses the whole quantity
  // again.
  if (mayBeIn(line, 'split') && (refused || isOverdue)) return true;
  // In a copy it may be in parts already, each of which is looked up for itself.
  const seenMs = world.wire.lastSeenMs(
    world.plan.copyAtMs === null ? entry.possible : [entry.reference],
  );
  if (world.wire.foundBefore(lookedUpAs(line.operation), seenMs)) return false;
  return refused || isOverdue || elsewhere;
}
