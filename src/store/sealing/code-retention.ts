import { endingOf } from '../../core/order/search-words.ts';
import { recordAudit } from '../sqlite/audit.ts';
import { isResultNeeded } from '../results/due-results.ts';
import { inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { SealedUnits } from '../sqlite/sealed-units.ts';

export interface ShredRequest {
  /** Only what was settled and delivered before this. */
  readonly beforeMs: number;
  readonly nowMs: number;
  /** For the audit log. */
  readonly reason: string;
  /** Where the step before ended; null for the first one. */
  readonly after: ShredCursor | null;
  /** How many entries are looked at, at most. */
  readonly limit: number;
}

export type ShredCursor = Readonly<{ settledAtMs: number; id: number }>;

/** How many entries lost their codes, and where the next step begins; null at the end. */
export type ShredProgress = Readonly<{ shredded: number; next: ShredCursor | null }>;

interface OldRow extends ShredCursor {
  readonly reference: string;
  readonly units: string;
  readonly unitCount: number;
  readonly requestId: number;
  readonly subject: string;
}

const selectOld = statementOf<ShredCursor & { beforeMs: number; limit: number }, OldRow>(
  `SELECT e.id, e.settled_at_ms AS settledAtMs, e.reference, e.units, e.unit_count AS unitCount, l.request_id AS requestId,
     r.source || '/' || r.order_id AS subject
   FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
   WHERE e.units IS NOT NULL AND e.settled_at_ms IS NOT NULL AND e.settled_at_ms < :beforeMs
     AND (e.settled_at_ms, e.id) > (:settledAtMs, :id)
   ORDER BY e.settled_at_ms, e.id LIMIT :limit`,
);
const shred = statementOf<{ id: number; nowMs: number }, never>(
  'UPDATE entries SET units = NULL, sealed_by = NULL, units_missing = 0, shredded_at_ms = :nowMs WHERE id = :id AND units IS NOT NULL',
);
const forgetEnding = statementOf<[string, number], never>('DELETE FROM unit_endings WHERE ending = ? AND entry_id = ?');

/**
 * Shredding of codes that were kept for long enough. References, money, attempts and the audit log stay. The connection
 * overwrites what it deletes.
 */
export class CodeRetention {
  readonly #database: Sqlite;
  readonly #units: SealedUnits;

  constructor({ database, units }: Outbox) {
    this.#database = database;
    this.#units = units;
  }

  /**
   * Shreds the units of the next settled entries whose orders were delivered everywhere before a time, in one transaction.
   * An order of which a line is still open, or a delivery is due, keeps all its codes.
   */
  async shredNext({ beforeMs, nowMs, reason, after, limit }: ShredRequest): Promise<ShredProgress> {
    return inTransaction(this.#database, () => {
      const from = after ?? { settledAtMs: -1, id: 0 };
      const rows = selectOld(this.#database).all({ ...from, beforeMs, limit });
      const old = rows.filter(({ requestId }) => !isResultNeeded(this.#database, requestId, beforeMs));
      for (const row of old) this.#shred(row, { nowMs, reason });
      const last = rows.at(-1);
      const next = last === undefined || rows.length < limit ? null : { settledAtMs: last.settledAtMs, id: last.id };
      return { shredded: old.length, next };
    });
  }

  #shred(row: OldRow, { nowMs, reason }: { nowMs: number; reason: string }): void {
    for (const unit of this.#units.known(row)) {
      const ending = endingOf(unit);
      if (ending !== null) forgetEnding(this.#database).run(ending, row.id);
    }
    shred(this.#database).run({ id: row.id, nowMs });
    const detail = { reference: row.reference, units: row.unitCount };
    const { subject } = row;
    recordAudit(this.#database, { actor: 'worker', reason, nowMs, action: 'shred_codes', subject, detail });
  }
}
