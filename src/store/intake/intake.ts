import type { EntryState } from '../../core/entry/states.ts';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { inTransaction, statementOf } from '../sqlite/database.ts';
import { isDiskFailure } from '../sqlite/disk-errors.ts';
import { OutboxSteps, type Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { isSurelyUnsent } from '../entries/after-loss.ts';
import { cancelEntry, endedUnbought, setTakenBack } from '../entries/entry-changes.ts';
import { acceptBatch } from './accept-batch.ts';
import { acceptRequest, type RequestOutcome, type WholeRequest } from './accept-request.ts';
import { OrderFiles } from './files.ts';
import { findRequest } from './requests.ts';

export type AcceptedLines = ReadonlyMap<string, number>;

type CancelUnsentRequest = AuditedRequest & { readonly source: string; readonly orderId: string };

type CancelUnsentResult =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'cancelled'; readonly requestId: number; readonly cancelled: number }
  | {
      readonly kind: 'refused';
      readonly requestId: number;
      readonly lines: readonly {
        readonly lineId: string;
        readonly reference: string;
        readonly state: EntryState;
      }[];
    };

const selectEntries = statementOf<[number], EntryRow & { shop_line_id: string }>(
  `SELECT e.*, l.line_id AS shop_line_id FROM entries e JOIN lines l ON l.id = e.line_id WHERE l.request_id = ?
   ORDER BY e.id`,
);

/**
 * Takes in orders that arrive by file, line by line, or over HTTP, each request whole or not at
 * all.
 */
export class Intake extends OutboxSteps {
  readonly files = new OrderFiles(this.outbox);

  /**
   * Accepts lines with their references, and records the lines that could not be accepted. One
   * transaction.
   */
  readonly acceptBatch = this.step(acceptBatch);

  /**
   * Cancels an order of which nothing was ever sent, or nothing of it. Cancelling it again changes
   * nothing.
   */
  readonly cancelUnsent = this.step(cancelUnsent);

  // A transaction within a transaction is a savepoint: only what this one request wrote is undone.
  readonly #acceptInSavepoint = this.database.transaction((request: WholeRequest) =>
    acceptRequest(this.outbox, request),
  );

  /**
   * Accepts requests that arrived together, in one commit. Each request is accepted whole or not at
   * all, and a failure of one leaves the others as they are. Rejects only when the commit itself
   * failed: then nothing was accepted.
   */
  async acceptRequests(requests: readonly WholeRequest[]): Promise<readonly RequestOutcome[]> {
    let failed = false;
    try {
      return inTransaction(this.database, () => {
        failed = true;
        const outcomes = requests.map((request) => acceptRequest(this.outbox, request));
        failed = false;
        return outcomes;
      });
    } catch (error) {
      // A transaction that did not begin, or could not be committed, is not tried again here; nor
      // is it when the disk failed, which comes as an error of ours. Where space is short, only the
      // new orders are refused.
      if (!failed || (error instanceof OrderSyncError && !hasCode(error, 'DISK_FULL'))) throw error;
      return this.#acceptEachApart(requests);
    }
  }

  /**
   * One cannot be written, which is rare: all are, with a savepoint around each, which costs as
   * much as a request.
   */
  #acceptEachApart(requests: readonly WholeRequest[]): readonly RequestOutcome[] {
    return inTransaction(this.database, () =>
      requests.map((request): RequestOutcome => {
        try {
          return this.#acceptInSavepoint(request);
        } catch (error) {
          // A disk that cannot be written, or a transaction that SQLite ended by itself, fails all
          // of them.
          if (!this.database.inTransaction || isDiskFailure(error)) throw error;
          return { kind: 'failed', error };
        }
      }),
    );
  }
}

function cancelUnsent(outbox: Outbox, order: CancelUnsentRequest): CancelUnsentResult {
  const { database } = outbox;
  const { source, orderId, actor, reason, nowMs } = order;
  const requestId = findRequest(database).get(source, orderId);
  if (requestId === undefined) return { kind: 'not_found' };
  const rows = selectEntries(database).all(requestId);
  if (rows.length === 0) return { kind: 'not_found' };
  const unsent = rows.filter((row) => isSurelyUnsent(database, row));
  if (rows.some((row) => !endedUnbought.has(row.state) && !unsent.includes(row))) {
    const lines = rows.map((row) => ({
      lineId: row.shop_line_id,
      reference: row.reference,
      state: row.state,
    }));
    return { kind: 'refused', requestId, lines };
  }
  // Of its rejected lines, too, nobody expects anything any more.
  for (const lineId of new Set(rows.map((row) => row.line_id)))
    setTakenBack(database).run({ lineId, takenBack: 1 });
  for (const row of unsent)
    cancelEntry(outbox, row, `cancelled by its source before it was sent: ${reason}`, nowMs);
  if (unsent.length > 0) {
    const detail = { references: unsent.map((row) => row.reference) };
    recordAudit(database, {
      actor,
      reason,
      nowMs,
      action: 'cancel',
      subject: `${source}/${orderId}`,
      detail,
    });
  }
  return { kind: 'cancelled', requestId, cancelled: unsent.length };
}
