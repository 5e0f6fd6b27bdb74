import { fingerprintOf } from '../../core/order/order-request.ts';
import type { Purchase } from '../../core/order/purchase.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { type LineTable, lineDifferences } from './accept-lines.ts';
import type { AcceptedOrder, OrderConflict, RequestOutcome, WholeRequest } from './intake.ts';

type Line = WholeRequest['lines'][number];
/** The lines of one order. */
type Order = readonly [Line, ...Line[]];

interface KnownLine extends Purchase {
  readonly request_id: number;
  readonly line_id: string;
  readonly fingerprint: string;
  readonly reference: string;
}

/**
 * Accepts requests whole or not at all, for callers that get the answer at once and can correct what they sent. A known
 * order must come with exactly the lines that were accepted: a caller that numbers its lines anew when it tries again
 * would otherwise buy them again.
 */
export class WholeRequests {
  readonly #lines: LineTable;
  readonly #findRequest;
  readonly #linesOf;

  constructor(database: Sqlite, lines: LineTable) {
    this.#lines = lines;
    this.#findRequest = database
      .prepare<[string, string], number>('SELECT id FROM requests WHERE source = ? AND order_id = ?')
      .pluck();
    this.#linesOf = database.prepare<[number], KnownLine>(
      `SELECT l.request_id, l.line_id, l.operation, l.variant, l.plan, l.iccid, l.quantity, l.days, l.currency, l.fingerprint,
              (SELECT e.reference FROM entries e WHERE e.line_id = l.id ORDER BY e.id LIMIT 1) AS reference
       FROM lines l WHERE l.request_id = ? ORDER BY l.id`,
    );
  }

  /** Called inside a transaction. */
  accept({ lines, nowMs }: WholeRequest): RequestOutcome {
    const orders = ordersOf(lines).map((order) => ({ order, known: this.#knownLines(order[0]) }));
    const conflicts = orders.flatMap(({ order, known }) => conflictOf(order, known));
    if (conflicts.length > 0) return { kind: 'conflict', conflicts };
    return { kind: 'accepted', orders: orders.map(({ order, known }) => this.#take(order, known, nowMs)) };
  }

  #knownLines({ source, orderId }: Line): readonly KnownLine[] {
    const requestId = this.#findRequest.get(source, orderId);
    return requestId === undefined ? [] : this.#linesOf.all(requestId);
  }

  #take(order: Order, known: readonly KnownLine[], nowMs: number): AcceptedOrder {
    const [{ source, orderId }] = order;
    const [first] = known;
    if (first !== undefined) {
      const lines = known.map((line) => ({ lineId: line.line_id, reference: line.reference }));
      return { source, orderId, status: 'known', requestId: first.request_id, lines };
    }
    const { requestId, references } = this.#lines.insertOrder(order, nowMs);
    const lines = order.map(({ lineId }, index) => ({ lineId, reference: references[index] ?? '' }));
    return { source, orderId, status: 'accepted', requestId, lines };
  }
}

/** A source holds no control characters, so the separator keeps the keys of different orders apart. */
function ordersOf(lines: WholeRequest['lines']): readonly Order[] {
  const orders = new Map<string, [Line, ...Line[]]>();
  for (const line of lines) {
    const key = `${line.source}\u0000${line.orderId}`;
    const order = orders.get(key);
    if (order === undefined) orders.set(key, [line]);
    else order.push(line);
  }
  return [...orders.values()];
}

function conflictOf(order: Order, known: readonly KnownLine[]): readonly OrderConflict[] {
  if (known.length === 0) return [];
  const [{ source, orderId }] = order;
  const sent = new Map(order.map((line) => [line.lineId, line]));
  const knownIds = new Set(known.map((line) => line.line_id));
  const different = known.flatMap((was) => {
    const is = sent.get(was.line_id);
    const line = { lineId: was.line_id, reference: was.reference };
    if (is === undefined) return [{ ...line, differences: [{ field: 'line', was: 'ordered', is: 'missing' }] }];
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
