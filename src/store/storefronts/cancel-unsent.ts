import type { EntryState } from '../../core/entry/states.ts';
import type { AuditTable } from '../operator/audit.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { EntryChanges } from '../submission/entry-changes.ts';
import type { AfterLoss } from '../submission/after-loss.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import type { CancelUnsentResult } from '../intake/intake-steps.ts';
import type { Store } from '../store.ts';

export type CancelUnsentRow = EntryRow & { readonly held_from: EntryState | null };
type Row = CancelUnsentRow & { readonly shop_line_id: string };

/** Ends in which nothing was bought: they do not stand in the way of taking an order back. */
const nothingBought: ReadonlySet<EntryState> = new Set(['cancelled', 'expired', 'rejected']);

/** Taking an order back that was never sent, in one transaction with its audit row. */
export class CancelUnsentStep {
  readonly #database: Sqlite;
  readonly #entries: EntryChanges;
  readonly #audit: AuditTable;
  readonly #afterLoss: AfterLoss;
  readonly #statements;

  constructor(database: Sqlite, rooms: { entries: EntryChanges; audit: AuditTable; afterLoss: AfterLoss }) {
    this.#audit = rooms.audit;
    this.#database = database;
    this.#entries = rooms.entries;
    this.#afterLoss = rooms.afterLoss;
    this.#statements = {
      request: database
        .prepare<[string, string], number>('SELECT id FROM requests WHERE source = ? AND order_id = ?')
        .pluck(),
      entries: database.prepare<[number], Row>(
        `SELECT e.*, l.line_id AS shop_line_id FROM entries e JOIN lines l ON l.id = e.line_id WHERE l.request_id = ?
         ORDER BY e.id`,
      ),
    };
  }

  cancelUnsent(order: Parameters<Store['cancelUnsent']>[0]): CancelUnsentResult {
    return inTransaction(this.#database, (): CancelUnsentResult => {
      const requestId = this.#statements.request.get(order.source, order.orderId);
      if (requestId === undefined) return { kind: 'not_found' };
      const rows = this.#statements.entries.all(requestId);
      // An order of which every line was refused when it came in has nothing that could be taken back.
      if (rows.length === 0) return { kind: 'not_found' };
      const isSurelyUnsent = (row: Row): boolean => isUnsent(row) && !this.#afterLoss.appliesTo(row);
      const unsent = rows.filter(isSurelyUnsent);
      if (rows.some((row) => !nothingBought.has(row.state) && !isSurelyUnsent(row))) {
        const lines = rows.map((row) => ({ lineId: row.shop_line_id, reference: row.reference, state: row.state }));
        return { kind: 'refused', requestId, lines };
      }
      for (const row of unsent) {
        this.#entries.cancelUnsentResult(
          row,
          `taken back before it was sent: ${order.reason}`.slice(0, 500),
          order.nowMs,
        );
      }
      if (unsent.length > 0) {
        this.#audit.record({
          actor: order.actor,
          reason: order.reason,
          nowMs: order.nowMs,
          action: 'cancel',
          subject: `${order.source}/${order.orderId}`,
          detail: { references: unsent.map((row) => row.reference) },
        });
      }
      return { kind: 'cancelled', requestId, cancelled: unsent.length };
    });
  }
}

/** Surely never sent: a pending entry, or one that a person stopped while it was pending. */
export function isUnsent(row: CancelUnsentRow): boolean {
  if (row.outcome_unknown === 1) return false;
  return row.state === 'pending' || (row.state === 'held' && row.held_from === 'pending');
}
