import { flagOnce } from '../intake/rejections.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { recordAudit } from '../sqlite/audit.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import type { StorefrontOrder } from './storefronts.ts';
import type { Flag } from './why-not-bought.ts';

/** Whose order leads to a change. */
type Acting = Pick<StorefrontOrder, 'source' | 'orderId' | 'actor' | 'nowMs'>;

/** The records about a shop's order for people: flags and audit entries. Called inside a transaction. */
export class OrderRecords {
  readonly #database: Sqlite;
  readonly #outbox: Outbox;

  constructor(database: Sqlite, parts: { outbox: Outbox }) {
    this.#database = database;
    this.#outbox = parts.outbox;
  }

  /** Flags a line for review, once. Returns whether it is new. */
  flag(order: StorefrontOrder, lineId: string, flag: Flag): boolean {
    const { source, orderId, nowMs } = order;
    return flagOnce(this.#outbox, { ...flag, lineNumber: null, source, orderId, lineId }, nowMs, order.metadata);
  }

  /** Leaves an audit entry for what was done to these entries. */
  audit(order: Acting, action: string, rows: readonly EntryRow[], reason: string): void {
    const { actor, nowMs, source, orderId } = order;
    const detail = { references: rows.map((row) => row.reference) };
    recordAudit(this.#database, { actor, reason, nowMs, action, subject: `${source}/${orderId}`, detail });
  }
}
