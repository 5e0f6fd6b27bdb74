import { isDeepStrictEqual } from 'node:util';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { SaleKey } from '../../core/order/sale-key.ts';
import { flags } from './why-not-bought.ts';
import type { OrderKey, StorefrontLine, StorefrontOrder } from './storefront-order.ts';

type State = StorefrontOrder['state'];

export interface SeenState {
  readonly modifiedMs: number;
  readonly receivedMs: number;
  readonly state: State;
  readonly refundCount: number;
  /** How many of each line the customer keeps, by line id; null: that was not read. */
  readonly kept: Readonly<Record<string, number>> | null;
  readonly awaitsReadBack: 0 | 1;
  /** When it was paid, as the first paid state told; null: none has told it. */
  readonly paidMs: number | null;
  readonly saleKey: SaleKey | null;
}

/**
 * Which state of an order can only come after which. Where two have the same time, a higher one
 * stays: an unbought line can be bought later, but not the reverse.
 */
const ranks: Record<State, number> = {
  unpaid: 0,
  paid: 1,
  on_hold: 2,
  unknown_status: 2,
  closed: 3,
  deleted: 4,
};

const selectSeen = statementOf<
  [string, string],
  Omit<SeenState, 'kept' | 'saleKey'> & Record<'kept' | 'saleKey', string | null>
>(
  `SELECT modified_ms AS modifiedMs, seen_at_ms AS receivedMs, state, refund_count AS refundCount, lines_left AS kept, awaits_read_back AS awaitsReadBack, paid_ms AS paidMs, sale_key AS saleKey
   FROM storefront_orders WHERE source = ? AND order_id = ?`,
);
const remember = statementOf<Record<string, unknown>, never>(
  `INSERT INTO storefront_orders (source, order_id, modified_ms, state, refund_count, lines_left, seen_at_ms, awaits_read_back, kept_order, current_at_ms, paid_ms, sale_key)
   VALUES (:source, :orderId, :modifiedMs, :state, :refundCount, :kept, :nowMs, :awaitsReadBack, :keptOrder, :currentAtMs, :paidMs, :saleKey)
   ON CONFLICT (source, order_id) DO UPDATE SET modified_ms = :modifiedMs, state = :state, refund_count = :refundCount,
     lines_left = :kept, awaits_read_back = :awaitsReadBack, kept_order = :keptOrder,
     -- Another sale takes the place of one of which nothing was bought.
     paid_ms = CASE WHEN :isNew = 1 THEN :paidMs ELSE coalesce(paid_ms, :paidMs) END, sale_key = coalesce(:saleKey, sale_key),
     -- An order that waits to be read waits since its first state that did.
     seen_at_ms = CASE WHEN awaits_read_back = 1 AND :awaitsReadBack = 1 THEN seen_at_ms ELSE :nowMs END,
     -- A time ahead of the clock comes from a clock that was set, and must not stay.
     current_at_ms = CASE WHEN current_at_ms > :nowMs THEN :currentAtMs ELSE max(current_at_ms, :currentAtMs) END`,
);
/**
 * Older states than one that cannot be read are ignored. Whether it may be bought stays as it was.
 */
export const rememberUnreadState = statementOf<
  OrderKey & { modifiedMs: number; nowMs: number },
  never
>(
  `INSERT INTO storefront_orders (source, order_id, modified_ms, seen_at_ms) VALUES (:source, :orderId, :modifiedMs, :nowMs)
   ON CONFLICT (source, order_id) DO UPDATE SET modified_ms = :modifiedMs, seen_at_ms = :nowMs, kept_order = NULL`,
);

export function findSeenState(database: Sqlite, { source, orderId }: OrderKey): SeenState | null {
  const row = selectSeen(database).get(source, orderId);
  if (row === undefined) return null;
  return {
    ...row,
    kept: JSON.parse(row.kept ?? 'null'),
    saleKey: JSON.parse(row.saleKey ?? 'null'),
  };
}

/**
 * Returns whether it is paid, with another state or quantities than before. @param seen the state
 * before
 */
export function rememberState(
  database: Sqlite,
  order: StorefrontOrder,
  seen: SeenState | null,
): boolean {
  const { source, orderId, state, refundCount, lines, nowMs, isReadNow = false } = order;
  const before = seen !== null && isSameMoment(order, seen) ? seen.kept : null;
  const kept = lines === null ? before : keptOf({ ...order, lines }, before);
  remember(database).run({
    source,
    orderId,
    // The shop does not say when an order was deleted: this machine's clock stands in for its own.
    modifiedMs:
      seen !== null && isInDoubt(order, seen) && isReadAfter(order, seen)
        ? order.modifiedMs
        : Math.max(order.modifiedMs, seen?.modifiedMs ?? 0),
    state,
    refundCount,
    kept: kept === null ? null : JSON.stringify(kept),
    nowMs,
    awaitsReadBack: lines === null ? 1 : 0,
    keptOrder: order.keptOrder ?? null,
    paidMs: order.paidMs ?? null,
    isNew: seen === null ? 1 : 0,
    saleKey: order.saleKey ? JSON.stringify(order.saleKey) : null,
    currentAtMs: isReadNow ? nowMs : Math.min(nowMs, order.modifiedMs),
  });
  if (seen === null || state !== 'paid' || kept === null) return false;
  return seen.state !== state || !isDeepStrictEqual(seen.kept, kept);
}

/** The clocks of a shop and of this machine may differ by so much, in ms. */
const clockLeewayMs = 5000;

/**
 * Whether the time of the newest state cannot be true, because it was later than its receipt: a
 * server's clock, or a local time that is called GMT. Then a state with an earlier time may be newer.
 */
export const isInDoubt = (order: { readonly modifiedMs: number }, seen: SeenState): boolean =>
  seen.modifiedMs > seen.receivedMs + clockLeewayMs && order.modifiedMs < seen.modifiedMs;

/** No call to a shop takes as long, in ms: its answer is newer than any state that came in before. */
const longestReadMs = 120_000;

/** A state that came in while the shop was read may be newer than what was read. */
const isReadAfter = (
  { isReadNow, nowMs }: Pick<StorefrontOrder, 'isReadNow' | 'nowMs'>,
  seen: SeenState,
): boolean => isReadNow === true && nowMs - seen.receivedMs > longestReadMs;

/** Then nobody knows which of the two states came last. */
export function isSameMoment(
  order: Pick<StorefrontOrder, 'modifiedMs' | 'isReadNow' | 'nowMs'>,
  seen: SeenState,
): boolean {
  if (seen.modifiedMs === order.modifiedMs) return true;
  // By a clock that is ahead, a late state may look newer than the end of its order.
  const isAhead = seen.state === 'closed' && order.modifiedMs > order.nowMs + clockLeewayMs;
  return (isAhead || isInDoubt(order, seen)) && !isReadAfter(order, seen);
}

/**
 * Whether a newer state was seen before. Nothing comes after the deletion but a state that the shop
 * changed later.
 */
export function isOlder(order: StorefrontOrder, seen: SeenState): boolean {
  if (order.state === 'deleted') return false;
  if (order.state === 'closed' && isReadAfter(order, seen)) return false;
  if (!isSameMoment(order, seen))
    return order.modifiedMs < seen.modifiedMs && !isInDoubt(order, seen);
  if (ranks[order.state] !== ranks[seen.state]) return ranks[order.state] < ranks[seen.state];
  return order.refundCount < seen.refundCount;
}

/**
 * The order, of which the customer keeps the smaller quantity of each line where nobody knows
 * which of two states came last. A line that one of the states does not have is not bought, and nothing of
 * it is ordered later either.
 */
export function withLeastLines(order: StorefrontOrder, seen: SeenState | null): StorefrontOrder {
  const kept = seen !== null && isSameMoment(order, seen) ? seen.kept : null;
  if (order.lines === null || kept === null) return order;
  const lines = order.lines.map((line) => {
    const remaining = Math.min(line.remaining, kept[line.lineId] ?? 0);
    if (remaining === line.remaining) return line;
    return {
      ...line,
      remaining,
      buy: null,
      hold: (line.buy ?? line.hold) === null ? null : flags.lessInOneState,
    };
  });
  const isSame = lines.every((line, index) => line === order.lines?.[index]);
  return isSame ? order : { ...order, lines, keptOrder: null };
}

/**
 * The shop may have any quantity of a line that cannot be read: such a state says nothing about it.
 */
const anyQuantity = Number.MAX_SAFE_INTEGER;

function keptOf(
  {
    lines,
    unreadable,
  }: Pick<StorefrontOrder, 'unreadable'> & { readonly lines: readonly StorefrontLine[] },
  before: SeenState['kept'],
): SeenState['kept'] {
  if (unreadable.some(({ lineId }) => lineId === null)) return before;
  const ids = [
    ...lines.map((line): [string, number] => [line.lineId, line.remaining]),
    ...unreadable.map(({ lineId }): [string, number] => [
      lineId ?? '',
      before?.[lineId ?? ''] ?? anyQuantity,
    ]),
  ];
  // A line that an earlier state of the same second had is not here: it may have been removed.
  const missing = Object.keys(before ?? {}).filter(
    (id) => !ids.some(([present]) => present === id),
  );
  return Object.fromEntries([...ids, ...missing.map((id): [string, number] => [id, 0])]);
}
