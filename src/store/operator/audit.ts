import { OrderSyncError } from '../../core/order-sync-error.ts';
import { longestText, type Sqlite } from '../sqlite/database.ts';
import type { AuditedRequest } from './operator.ts';

const longestActor = 100;

/** Who did what, to which subject, and why. Appended inside the transaction of the change, and never changed. */
export class AuditTable {
  readonly #insert;

  constructor(database: Sqlite) {
    this.#insert = database.prepare(
      'INSERT INTO audit (at_ms, actor, action, subject, reason, detail) VALUES (:nowMs, :actor, :action, :subject, :reason, :detail)',
    );
  }

  record(
    entry: AuditedRequest & { action: string; subject: string; detail?: Readonly<Record<string, unknown>> },
  ): void {
    const { nowMs, actor, action, subject, reason, detail = {} } = entry;
    this.#insert.run({
      nowMs,
      actor,
      action,
      subject,
      reason: reason.slice(0, longestText),
      detail: JSON.stringify(detail),
    });
  }
}

/**
 * A request with its texts trimmed.
 * @throws OrderSyncError INVALID_INPUT when it names no actor, or no reason
 */
export function checkedAuditedRequest<T extends AuditedRequest>(request: T): T {
  const reason = request.reason.trim();
  const actor = request.actor.trim();
  if (reason.length < 3 || reason.length > longestText) {
    throw new OrderSyncError('INVALID_INPUT', `A reason has 3 to ${longestText} characters, got ${reason.length}`, {
      hint: 'say why, for whoever reads the audit log later: --reason "seen in the list of the supplier"',
    });
  }
  if (actor.length === 0 || actor.length > longestActor) {
    throw new OrderSyncError('INVALID_INPUT', `An actor has 1 to ${longestActor} characters, got ${actor.length}`);
  }
  return { ...request, reason, actor };
}
