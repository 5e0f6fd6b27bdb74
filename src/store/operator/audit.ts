import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { AuditedRequest } from './operator.ts';

const longestReason = 500;
const longestActor = 100;

/** Who did what, to what, and why. Appended inside the transaction of the deed, and never changed. */
export class AuditTable {
  readonly #insert;

  constructor(database: Sqlite) {
    this.#insert = database.prepare(
      'INSERT INTO audit (at_ms, actor, action, subject, reason, detail) VALUES (:atMs, :actor, :action, :subject, :reason, :detail)',
    );
  }

  record(deed: AuditedRequest & { action: string; subject: string; detail?: Readonly<Record<string, unknown>> }): void {
    this.#insert.run({
      atMs: deed.nowMs,
      actor: deed.actor,
      action: deed.action,
      subject: deed.subject,
      reason: deed.reason.slice(0, longestReason),
      detail: JSON.stringify(deed.detail ?? {}),
    });
  }
}

/**
 * A wish with its texts trimmed.
 * @throws OrderSyncError INVALID_INPUT when nobody, or no reason, is named
 */
export function checkedAuditedRequest<T extends AuditedRequest>(wish: T): T {
  const reason = wish.reason.trim();
  const actor = wish.actor.trim();
  if (reason.length < 3 || reason.length > longestReason) {
    throw new OrderSyncError('INVALID_INPUT', `A reason has 3 to ${longestReason} characters, got ${reason.length}`, {
      hint: 'say why, for whoever reads the audit log later: --reason "seen in the list of the supplier"',
    });
  }
  if (actor.length === 0 || actor.length > longestActor) {
    throw new OrderSyncError('INVALID_INPUT', `An actor has 1 to ${longestActor} characters, got ${actor.length}`);
  }
  return { ...wish, reason, actor };
}
