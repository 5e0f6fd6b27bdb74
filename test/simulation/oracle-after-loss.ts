import { lookedUpAs } from '../../src/core/order/purchase.ts';
import type { AcceptableLine } from '../../src/core/order/order-request.ts';
import type { SimOrder } from './api-ledger.ts';
import type { World } from './world.ts';

/** Whether the outbox was lost and the new one looks up before it sends. */
export const looksUpFirst = (world: World): boolean =>
  world.plan.looksUpFirst && world.wire.outboxLost;

/** Only gift cards are bought in parts. */
const mayBeInParts = ({ operation, rules, quantity }: AcceptableLine): boolean =>
  operation === 'gift_card_order' &&
  (rules?.split === true || rules?.partial === true) &&
  (quantity ?? 1) > 1;

function mayBeCharged(line: AcceptableLine): boolean {
  const other = line.rules?.fallback_currency;
  return other !== undefined && other !== line.currency;
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
  const elsewhere = mayBeCharged(line) || mayBeInParts(line);
  const { refused } = world.wire.of(entry.reference);
  const isOverdue = line.notAfterMs !== null;
  // The reference may have expired.
  if (settings.referenceExpiryMs < 3_600_000) return true;
  if (!readings.lookup) return elsewhere || refused || isOverdue;
  // It is never sent, so it is not bought under its own reference.
  const isBought = entry.orders.some((order) => order.reference === entry.reference);
  if (mayBeInParts(line) && !isBought) return true;
  const wasReordered = world.operator.reordersOf(line.source, line.orderId, line.lineId) > 0;
  const others = entry.orders.some((order) => order.reference !== entry.reference);
  if (others && (mayBeCharged(line) || wasReordered)) return true;
  // In a copy it may be in parts already, each of which is looked up for itself.
  const seenMs = world.wire.lastSeenMs(
    world.plan.copyAtMs === null ? entry.possible : [entry.reference],
  );
  if (world.wire.foundBefore(lookedUpAs(line.operation), seenMs)) return false;
  return refused || isOverdue || elsewhere;
}
