import { fingerprintOf } from '../core/order-request.ts';
import { OrderSyncError } from '../core/order-sync-error.ts';
import { inTransaction, type Sqlite } from './database.ts';
import { type IntakeTable, lineDifferences } from './intake.ts';
import type { AcceptedOrder, OrderConflict, RequestOutcome, WholeRequest } from './intake-steps.ts';

type Line = WholeRequest['lines'][number];

interface KnownLine {
  readonly request_id: number;
  readonly line_id: string;
  readonly operation: string;
  readonly variant: string | null;
  readonly plan: string | null;
  readonly iccid: string | null;
  readonly quantity: number | null;
  readonly days: number | null;
  readonly currency: string | null;
  readonly fingerprint: string;
  readonly reference: string;
}

/**
 * Requests that are accepted whole or not at all, for callers who are told at once and can correct what they sent.
 * An order that is known must come with the very lines that it was accepted with: a caller that numbers its lines
 * anew when it tries again would otherwise buy them again.
 */
export class WholeRequests {
  readonly #database: Sqlite;
  readonly #intake: IntakeTable;
  readonly #linesOf;

  constructor(database: Sqlite, intake: IntakeTable) {
    this.#database = database;
    this.#intake = intake;
    this.#linesOf = database.prepare<[string, string], KnownLine>(
      `SELECT l.request_id, l.line_id, l.operation, l.variant, l.plan, l.iccid, l.quantity, l.days, l.currency, l.fingerprint,
              (SELECT e.reference FROM entries e WHERE e.line_id = l.id ORDER BY e.id LIMIT 1) AS reference
       FROM requests r JOIN lines l ON l.request_id = r.id WHERE r.source = ? AND r.order_id = ? ORDER BY l.id`,
    );
  }

  accept(requests: readonly WholeRequest[]): readonly RequestOutcome[] {
    return inTransaction(this.#database, () =>
      requests.map((request): RequestOutcome => {
        try {
          // Within a transaction this is a savepoint: what one request began is undone alone.
          return this.#database.transaction(() => this.#acceptOne(request))();
        } catch (error) {
          // A disk that cannot be written, or a transaction that SQLite ended by itself, is everybody's failure.
          if (!this.#database.inTransaction || isDiskFailure(error)) throw error;
          return { kind: 'failed', error };
        }
      }),
    );
  }

  #acceptOne(request: WholeRequest): RequestOutcome {
    const orders = [...Map.groupBy(request.lines, (line) => JSON.stringify([line.source, line.orderId])).values()];
    const known = orders.map((lines) => this.#knownLines(lines));
    const conflicts = orders.flatMap((lines, index) => conflictOf(lines, known[index] ?? []));
    if (conflicts.length > 0) return { kind: 'conflict', conflicts };
    return {
      kind: 'accepted',
      orders: orders.map((lines, index) => this.#take(lines, known[index] ?? [], request.nowMs)),
    };
  }

  #knownLines([line]: readonly Line[]): readonly KnownLine[] {
    return line === undefined ? [] : this.#linesOf.all(line.source, line.orderId);
  }

  #take(lines: readonly Line[], known: readonly KnownLine[], nowMs: number): AcceptedOrder {
    const [first] = lines;
    if (first === undefined) throw new OrderSyncError('INVARIANT', 'an order has lines');
    const whose = { source: first.source, orderId: first.orderId };
    const [knownFirst] = known;
    if (knownFirst !== undefined) {
      const references = known.map((line) => ({ lineId: line.line_id, reference: line.reference }));
      return { ...whose, status: 'known', requestId: knownFirst.request_id, lines: references };
    }
    let requestId = 0;
    const accepted = lines.map((line) => {
      const inserted = this.#intake.insertNew(line, nowMs);
      requestId = inserted.requestId;
      return { lineId: line.lineId, reference: inserted.reference };
    });
    return { ...whose, status: 'accepted', requestId, lines: accepted };
  }
}

const diskFailure = /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN)/;

function isDiskFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && diskFailure.test(String(error.code));
}

function conflictOf(lines: readonly Line[], known: readonly KnownLine[]): readonly OrderConflict[] {
  const [first] = lines;
  if (first === undefined || known.length === 0) return [];
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
