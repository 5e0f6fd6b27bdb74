import { fingerprintOf } from '../../core/order/order-request.ts';
import type { Purchase } from '../../core/order/purchase.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { type LineTable, lineDifferences } from './accept-lines.ts';
import type { AcceptedOrder, OrderConflict, RequestOutcome, WholeRequest } from './intake.ts';

type Line = WholeRequest['lines'][number];

interface KnownLine extends Purchase {
  readonly request_id: number;
  readonly line_id: string;
  readonly fingerprint: string;
  readonly reference: string;
}

/**
 * Requests that are accepted whole or not at all, for callers who are told at once and can correct what they sent.
 * An order that is known must come with the very lines that it was accepted with: a caller that numbers its lines
 * anew when it tries again would otherwise buy them again.
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
  accept(request: WholeRequest): RequestOutcome {
    const orders = ordersOf(request.lines);
    const known = orders.map(([line]) => this.#knownLines(line));
    const conflicts = orders.flatMap((lines, index) => conflictOf(lines, known[index] ?? []));
    if (conflicts.length > 0) return { kind: 'conflict', conflicts };
    return {
      kind: 'accepted',
      orders: orders.map((lines, index) => this.#take(lines, known[index] ?? [], request.nowMs)),
    };
  }

  /** Most orders are new: whether one is known costs a look into one index. */
  #knownLines(line: Line): readonly KnownLine[] {
    const requestId = this.#findRequest.get(line.source, line.orderId);
    return requestId === undefined ? [] : this.#linesOf.all(requestId);
  }

  #take(lines: Order, known: readonly KnownLine[], nowMs: number): AcceptedOrder {
    const [{ source, orderId }] = lines;
    const [knownFirst] = known;
    if (knownFirst !== undefined) {
      const references = known.map((line) => ({ lineId: line.line_id, reference: line.reference }));
      return { source, orderId, status: 'known', requestId: knownFirst.request_id, lines: references };
    }
    const { requestId, references } = this.#lines.insertOrder(lines, nowMs);
    const accepted = lines.map((line, index) => ({ lineId: line.lineId, reference: references[index] ?? '' }));
    return { source, orderId, status: 'accepted', requestId, lines: accepted };
  }
}

/** The lines of one order. */
type Order = readonly [Line, ...Line[]];

/** A source holds no control characters, so that the two parts of a key do not run into each other. */
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

function conflictOf(lines: Order, known: readonly KnownLine[]): readonly OrderConflict[] {
  const [first] = lines;
  if (known.length === 0) return [];
  const sent = new Map(lines.map((line) => [line.lineId, line]));
  const knownById = new Map(known.map((line) => [line.line_id, line]));
  const different = known.flatMap((was) => {
    const is = sent.get(was.line_id);
    const line = { lineId: was.line_id, reference: was.reference };
    if (is === undefined) return [{ ...line, differences: [{ field: 'line', was: 'ordered', is: 'missing' }] }];
    if (was.fingerprint === fingerprintOf(is)) return [];
    return [{ ...line, differences: lineDifferences(was, is) }];
  });
  const added = lines
    .filter((line) => !knownById.has(line.lineId))
    .map((line) => ({
      lineId: line.lineId,
      reference: null,
      differences: [{ field: 'line', was: 'not ordered', is: 'added' }],
    }));
  const all = [...different, ...added];
  return all.length === 0 ? [] : [{ source: first.source, orderId: first.orderId, lines: all }];
}
