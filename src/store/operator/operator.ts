import { scopeFrom, readScope } from '../../core/scopes/scope.ts';
import { OrderSyncError } from '../../core/order-sync-error.ts';
import type { AcceptedLine } from '../intake/accept-batch.ts';
import { redeliver, type Redelivery } from '../results/redelivery.ts';
import { checkedAuditedRequest, recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { beginAfterLoss, type AfterLossRequest } from '../submission/after-loss.ts';
import { connectorUnproven, proveConnector } from '../submission/connector-canary.ts';
import { endPauseByPerson, pauseByPerson, readPause, readPauses } from '../submission/pauses.ts';
import { acknowledge, type Acknowledged, type AcknowledgeRequest } from './acknowledgements.ts';
import { actInBulk, actOnEntry, type BulkCommand, type EntryCommand } from './entry-command.ts';
import { takeFlagged, type TakeFlaggedRequest } from './flagged-skus.ts';

/**
 * The decisions of people. Each is one step, and leaves an audit entry in the same transaction. All throw INVALID_INPUT for a
 * request without an actor or a reason.
 */
export class Operator {
  readonly #outbox: Outbox;
  readonly #database: Sqlite;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
    this.#database = outbox.database;
  }

  /** Checks what is asked, and does it in one transaction. */
  #step<Request extends AuditedRequest, Result>(given: Request, step: (request: Request) => Result): Result {
    const request = checkedAuditedRequest(given);
    return inTransaction(this.#database, () => step(request));
  }

  /** @throws OrderSyncError NOT_FOUND, REFUSED (naming the state and what is allowed) */
  async actOnEntry(given: EntryCommand): Promise<ReturnType<typeof actOnEntry>> {
    return this.#step(given, (command) => actOnEntry(this.#outbox, command));
  }

  /** As `actOnEntry`, for some entries in one step. One that does not fit the filter any more, or refuses, is reported. */
  async actInBulk(given: BulkCommand): Promise<ReturnType<typeof actInBulk>> {
    return this.#step(given, (command) => actInBulk(this.#outbox, command));
  }

  /**
   * Orders a line of a shop that was flagged because of its SKU, and of which nothing was bought.
   * @throws OrderSyncError NOT_FOUND, REFUSED when the shop's order has another line there now
   */
  async takeFlagged(given: TakeFlaggedRequest): Promise<AcceptedLine> {
    return this.#step(given, (request) => takeFlagged(this.#outbox, request));
  }

  /** Ends rows of the attention list in which nothing is open any more: those with these ids, or the next that a filter finds. */
  async acknowledge(given: AcknowledgeRequest): Promise<Acknowledged> {
    return this.#step(given, (request) => acknowledge(this.#database, request));
  }

  /**
   * Has results delivered again, some in one step. Nothing is bought.
   * @returns how many are due now, and where the next step continues; null: there is none
   */
  async redeliver(
    given: AuditedRequest & { which: Redelivery; afterId: number },
  ): Promise<{ readonly due: number; readonly nextId: number | null }> {
    return this.#step(given, (request) => {
      const { which, afterId, nowMs } = request;
      const done = redeliver(this.#outbox, which, afterId, nowMs);
      const { source, orderId } = which;
      const subject = source === undefined || orderId === undefined ? 'results' : `${source}/${orderId}`;
      const detail = { ...which, after_id: afterId, due: done.due };
      if (done.due > 0) recordAudit(this.#database, { ...request, action: 'redeliver', subject, detail });
      return done;
    });
  }

  /**
   * Pauses a scope until a person resumes it. Takes over a pause of the worker, which no probe ends then.
   * @throws OrderSyncError INVALID_INPUT, REFUSED when a person paused it already
   */
  async pauseScope(given: AuditedRequest & { scope: string }): Promise<void> {
    this.#step(given, (request) => {
      const { scope } = request;
      readScope(scope);
      const before = readPause(this.#database, scope);
      if (!pauseByPerson(this.#database, request)) {
        throw new OrderSyncError('REFUSED', `${scope} is paused already, by ${before?.openedBy}`, {
          hint: 'resume it with `order-sync queue resume`',
        });
      }
      const detail = { before, after: readPause(this.#database, scope) };
      recordAudit(this.#database, { ...request, action: 'pause', subject: scope, detail });
    });
  }

  /** @throws OrderSyncError INVALID_INPUT, REFUSED when it is not paused */
  async resumeScope(given: AuditedRequest & { scope: string }): Promise<void> {
    this.#step(given, (request) => {
      const { scope, nowMs } = request;
      readScope(scope);
      const before = readPause(this.#database, scope);
      if (!endPauseByPerson(this.#database, scope)) {
        const paused = readPauses(this.#database).map((pause) => pause.scope);
        throw new OrderSyncError('REFUSED', `${scope} is not paused`, {
          hint: paused.length === 0 ? 'nothing is paused' : `paused are: ${paused.join(', ')}`,
        });
      }
      // Who resumes a family that waits for its first delivered order takes the connector for right.
      const unproven = before?.reason === connectorUnproven ? scopeFrom(scope) : null;
      if (unproven?.kind === 'family') proveConnector(this.#database, unproven.family, nowMs);
      recordAudit(this.#database, { ...request, action: 'resume', subject: scope, detail: { before, after: null } });
    });
  }

  /**
   * This outbox replaces one that was lost, or is an older copy of it: the worker looks up every open entry, and every
   * entry that arrives until `untilMs`, before it sends it.
   */
  async beginAfterLoss(request: AfterLossRequest): Promise<void> {
    beginAfterLoss(this.#database, request);
  }
}
