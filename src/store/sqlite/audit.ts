import { OrderSyncError } from '../../core/order-sync-error.ts';
import { longestText, statementOf, type Sqlite } from './database.ts';

const longestActor = 100;

/** Who wants something, and why: both are kept for ever. */
export interface AuditedRequest {
  readonly actor: string;
  /** At least 3 characters. */
  readonly reason: string;
  readonly nowMs: number;
}

const insert = statementOf<[number, string, string, string, string, string], never>(
  'INSERT INTO audit (at_ms, actor, action, subject, reason, detail) VALUES (?, ?, ?, ?, ?, ?)',
);

type NewAuditEntry = AuditedRequest & {
  action: string;
  subject: string;
  detail?: Readonly<Record<string, unknown>>;
};

/** Records who did what, to which subject, and why; it is never changed. */
export function recordAudit(database: Sqlite, entry: NewAuditEntry): void {
  const { nowMs, actor, action, subject, reason, detail = {} } = entry;
  insert(database).run(
    nowMs,
    actor,
    action,
    subject,
    reason.slice(0, longestText),
    JSON.stringify(detail),
  );
}

/**
 * A request with its texts trimmed.
 * @throws OrderSyncError INVALID_INPUT when it names no actor, or no reason
 */
export function checkedAuditedRequest<T extends AuditedRequest>(request: T): T {
  const reason = request.reason.trim();
  const actor = request.actor.trim();
  if (reason.length < 3 || reason.length > longestText) {
    throw new OrderSyncError(
      'INVALID_INPUT',
      `A reason has 3 to ${longestText} characters, got ${reason.length}`,
      {
        hint: 'say why, for whoever reads the audit log later: --reason "seen in the list of the supplier"',
      },
    );
  }
  if (actor.length === 0 || actor.length > longestActor) {
    throw new OrderSyncError(
      'INVALID_INPUT',
      `An actor has 1 to ${longestActor} characters, got ${actor.length}`,
    );
  }
  return { ...request, reason, actor };
}

export function unknownReference(reference: string): OrderSyncError {
  return new OrderSyncError('NOT_FOUND', `No reference "${reference}" is in the outbox`, {
    hint: 'look for the order with `order-sync orders list --search`',
  });
}
