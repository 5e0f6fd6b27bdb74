import { fingerprintOf, type AcceptableLine } from '../../core/order/order-request.ts';
import type { Purchase } from '../../core/order/purchase.ts';
import { whyForeign } from '../entries/esim-origins.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { purchaseColumnsOf } from '../sqlite/rows.ts';
import { lineDifferences, type AcceptedLine } from './accept-batch.ts';
import { insertLines } from './new-lines.ts';
import { findRequest } from './requests.ts';

/** One request as it was sent: all of its orders are accepted, or none. */
export interface WholeRequest {
  readonly nowMs: number;
  readonly lines: readonly AcceptableLine[];
}

export type RequestOutcome =
  | { readonly kind: 'accepted'; readonly orders: readonly AcceptedOrder[] }
  | { readonly kind: 'conflict'; readonly conflicts: readonly OrderConflict[] }
  /** The first line that would cancel an eSIM of others. */
  | { readonly kind: 'foreign'; readonly line: ForeignLine }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface AcceptedOrder {
  /** `known`: the whole order was accepted before, with the same content. */
  readonly status: 'accepted' | 'known';
  readonly requestId: number;
  readonly source: string;
  readonly orderId: string;
  readonly lines: readonly { readonly lineId: string; readonly reference: string }[];
}

export type ForeignLine = AcceptableLine & { readonly rule: string };

/** The differences between an order that was accepted before and the one that was sent now. */
export interface OrderConflict {
  readonly source: string;
  readonly orderId: string;
  readonly lines: readonly {
    readonly lineId: string;
    /**
     * The reference that the line was accepted under; null for a line that was not part of the
     * order.
     */
    readonly reference: string | null;
    readonly differences: AcceptedLine['differences'];
  }[];
}

type Order = readonly [AcceptableLine, ...AcceptableLine[]];

interface StoredPurchase extends Purchase {
  readonly requestId: number;
  readonly lineId: string;
  readonly fingerprint: string;
  readonly reference: string;
}

const selectLines = statementOf<[number], StoredPurchase>(
  `SELECT l.request_id AS requestId, l.line_id AS lineId, ${purchaseColumnsOf('l')}, l.fingerprint,
          (SELECT e.reference FROM entries e WHERE e.line_id = l.id ORDER BY e.id LIMIT 1) AS reference
   FROM lines l WHERE l.request_id = ? ORDER BY l.id`,
);

/**
 * Accepts a request whole or not at all, for callers that get the answer at once and can correct
 * what they sent. A known order must come with exactly the lines that were accepted: a caller that
 * numbers its lines anew when it tries again would otherwise buy them again.
 */
export function acceptRequest(outbox: Outbox, { lines, nowMs }: WholeRequest): RequestOutcome {
  const orders = ordersOf(lines).map((order) => ({
    order,
    known: knownLines(outbox.database, order[0]),
  }));
  const conflicts = orders.flatMap(({ order, known }) => conflictOf(order, known));
  if (conflicts.length > 0) return { kind: 'conflict', conflicts };
  // Each token is limited to sources.
  const [foreign] = orders
    .flatMap(({ order, known }) => (known.length > 0 ? [] : order))
    .flatMap((line): readonly ForeignLine[] => {
      const rule = whyForeign(outbox.database, line, true);
      return rule === null ? [] : [{ ...line, rule }];
    });
  if (foreign !== undefined) return { kind: 'foreign', line: foreign };
  return {
    kind: 'accepted',
    orders: orders.map(({ order, known }) => acceptOrder(outbox, order, known, nowMs)),
  };
}

function knownLines(
  database: Sqlite,
  { source, orderId }: AcceptableLine,
): readonly StoredPurchase[] {
  const requestId = findRequest(database).get(source, orderId);
  return requestId === undefined ? [] : selectLines(database).all(requestId);
}

function acceptOrder(
  outbox: Outbox,
  order: Order,
  known: readonly StoredPurchase[],
  nowMs: number,
): AcceptedOrder {
  const [{ source, orderId }] = order;
  const [first] = known;
  if (first !== undefined) {
    const lines = known.map(({ lineId, reference }) => ({ lineId, reference }));
    return { source, orderId, status: 'known', requestId: first.requestId, lines };
  }
  const { requestId, references } = insertLines(outbox, order, nowMs);
  const lines = order.map(({ lineId }, index) => ({ lineId, reference: references[index] ?? '' }));
  return { source, orderId, status: 'accepted', requestId, lines };
}

/**
 * A source holds no control characters, so the separator keeps the keys of different orders apart.
 */
function ordersOf(lines: WholeRequest['lines']): readonly Order[] {
  const orders = Map.groupBy(lines, ({ source, orderId }) => `${source}\u0000${orderId}`);
  return [...orders.values()].flatMap(([first, ...rest]): Order[] =>
    first === undefined ? [] : [[first, ...rest]],
  );
}

function conflictOf(order: Order, known: readonly StoredPurchase[]): readonly OrderConflict[] {
  if (known.length === 0) return [];
  const [{ source, orderId }] = order;
  const sent = new Map(order.map((line) => [line.lineId, line]));
  const knownIds = new Set(known.map(({ lineId }) => lineId));
  const different = known.flatMap((was) => {
    const is = sent.get(was.lineId);
    const line = { lineId: was.lineId, reference: was.reference };
    if (is === undefined)
      return [{ ...line, differences: [{ field: 'line', was: 'ordered', is: 'missing' }] }];
    if (was.fingerprint === fingerprintOf(is)) return [];
    return [{ ...line, differences: lineDifferences(was, is) }];
  });
  const added = order
    .filter(({ lineId }) => !knownIds.has(lineId))
    .map(({ lineId }) => ({
      lineId,
      reference: null,
      differences: [{ field: 'line', was: 'not ordered', is: 'added' }],
    }));
  const lines = [...different, ...added];
  return lines.length === 0 ? [] : [{ source, orderId, lines }];
}
