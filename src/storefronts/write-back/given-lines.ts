import type { ShopOrder } from '../shop-order.ts';
import type { LineStatement, OrderStatement } from './order-statement.ts';

/**
 * The lines whose units the customer gets: they are done, and the shop's order as it stands now has each with the quantity
 * that was bought. What was refunded, removed or edited since is left to a person.
 */
export function givenLines(
  { lines }: OrderStatement,
  order: Pick<ShopOrder, 'state' | 'lines'>,
): readonly LineStatement[] {
  if (order.state !== 'paid') return [];
  const left = new Map(order.lines.map(({ lineId, remaining }) => [lineId, remaining]));
  return lines.filter(
    ({ lineId, stage, pieces }) => stage === 'done' && pieces !== null && left.get(lineId) === pieces,
  );
}

/** Whether every line of the shop's order is ours and given to the customer, and none of it was refunded as a whole. */
export function isWholeOrderGiven(statement: OrderStatement, order: ShopOrder): boolean {
  if (order.lines.length === 0 || order.unreadable.length > 0 || order.refundUnclear) return false;
  const given = new Set(givenLines(statement, order).map(({ lineId }) => lineId));
  const isGiven = ({ lineId, parentId }: ShopOrder['lines'][number]): boolean => {
    if (given.has(lineId) || (parentId !== null && given.has(parentId))) return true;
    // A bundle without a SKU of the map is given with all of its parts.
    const parts = order.lines.filter((line) => line.parentId === lineId);
    return parts.length > 0 && parts.every((part) => given.has(part.lineId));
  };
  return order.lines.every((line) => line.remaining > 0 && isGiven(line));
}
