import type { Unit } from '../../core/answers/order-answer.ts';
import {
  checkedAuditedRequest,
  recordAudit,
  unknownReference,
  type AuditedRequest,
} from '../sqlite/audit.ts';
import { forgetEndings } from '../entries/delivered-units.ts';
import { isResultNeeded } from '../results/due-results.ts';
import { inTransaction, statementOf } from '../sqlite/database.ts';
import { OutboxSteps, type Outbox } from '../sqlite/outbox.ts';

export interface ShredRequest {
  readonly beforeMs: number;
  readonly nowMs: number;
  readonly reason: string;
  readonly after: ShredCursor | null;
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

/**
 * Shredding of codes that were kept for long enough. Everything else stays. The connection
 * overwrites what it deletes.
 */
export class CodeRetention extends OutboxSteps {
  /**
   * Shreds the units of the next settled entries whose orders were delivered everywhere before a
   * time, in one transaction. An order of which a line is still open, or a delivery is due, keeps
   * all its codes.
   */
  readonly shredNext = this.step((outbox, request: ShredRequest): ShredProgress => {
    const { database } = outbox;
    const { beforeMs, after, limit } = request;
    const rows = selectOld(database).all({
      ...(after ?? { settledAtMs: -1, id: 0 }),
      beforeMs,
      limit,
    });
    const old = rows.filter(({ requestId }) => !isResultNeeded(database, requestId, beforeMs));
    for (const row of old) shredUnits(outbox, row, request);
    const last = rows.at(-1);
    const next =
      last === undefined || rows.length < limit
        ? null
        : { settledAtMs: last.settledAtMs, id: last.id };
    return { shredded: old.length, next };
  });
}

function shredUnits(outbox: Outbox, row: OldRow, { nowMs, reason }: ShredRequest): void {
  const { database } = outbox;
  forgetEndings(outbox, row.id, outbox.units.known(row));
  shred(database).run({ id: row.id, nowMs });
  const detail = { reference: row.reference, units: row.unitCount };
  recordAudit(database, {
    actor: 'worker',
    reason,
    nowMs,
    action: 'shred_codes',
    subject: row.subject,
    detail,
  });
}

interface CodeRead extends AuditedRequest {
  readonly source: string;
  readonly orderId: string;
  readonly version: number;
}

const action = 'read_codes';

const find = statementOf<[string], { reference: string; units: string | null }>(
  'SELECT reference, units FROM entries WHERE reference = ?',
);
const findRead = statementOf<{ subject: string; actor: string; version: number }, number>(
  `SELECT 1 FROM audit WHERE subject = :subject AND +action = '${action}' AND +actor = :actor
     AND json_extract(detail, '$.version') = :version`,
);

/**
 * Reading delivered codes, by people and by the callers of the HTTP API. Each leaves an audit
 * entry.
 */
export class CodeReads extends OutboxSteps {
  /** @throws OrderSyncError NOT_FOUND, INVALID_INPUT without a reason, SEALED_UNREADABLE */
  readonly reveal = this.step(
    (
      { database, units: sealed },
      given: AuditedRequest & { readonly reference: string },
    ): readonly Unit[] => {
      const request = checkedAuditedRequest(given);
      const { reference: subject } = request;
      const row = find(database).get(subject);
      if (row === undefined) throw unknownReference(subject);
      const units = sealed.of(row);
      recordAudit(database, { ...request, action, subject, detail: { units: units.length } });
      return units;
    },
  );

  /**
   * Records that a caller read the codes of an order: once for each caller, order and version of
   * its result.
   */
  async record({ source, orderId, version, ...request }: CodeRead): Promise<void> {
    const subject = `${source}/${orderId}`;
    // A caller may ask again and again: only the first time costs a commit.
    if (findRead(this.database).get({ subject, actor: request.actor, version }) !== undefined)
      return;
    const entry = { ...request, action, subject, detail: { version } };
    inTransaction(this.database, () => recordAudit(this.database, entry));
  }
}
