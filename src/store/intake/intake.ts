import type { EntryState } from '../../core/entry/states.ts';
import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { recordAudit, type AuditedRequest } from '../sqlite/audit.ts';
import { inTransaction, statementOf, type Sqlite } from '../sqlite/database.ts';
import { isDiskFailure } from '../sqlite/disk-errors.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { isSurelyUnsent } from '../submission/after-loss.ts';
import { cancelEntry, endedUnbought, setTakenBack } from '../submission/entry-changes.ts';
import { acceptBatch, type AcceptedLine, type IntakeBatch } from './accept-batch.ts';
import { acceptRequest, type RequestOutcome, type WholeRequest } from './accept-request.ts';
import { OrderFiles } from './files.ts';
import { findRequest } from './requests.ts';

/** How many lines were accepted for the first time, by source. */
export type AcceptedLines = ReadonlyMap<string, number>;

type CancelUnsentRequest = AuditedRequest & { readonly source: string; readonly orderId: string };

type CancelUnsentResult =
  | { readonly kind: 'not_found' }
  /** `cancelled` counts the entries that this call cancelled. */
  | { readonly kind: 'cancelled'; readonly requestId: number; readonly cancelled: number }
  | {
      readonly kind: 'refused';
      readonly requestId: number;
      readonly lines: readonly { readonly lineId: string; readonly reference: string; readonly state: EntryState }[];
    };

const selectEntries = statementOf<[number], EntryRow & { shop_line_id: string }>(
  `SELECT e.*, l.line_id AS shop_line_id FROM entries e JOIN lines l ON l.id = e.line_id WHERE l.request_id = ?
   ORDER BY e.id`,
);

/**
 * Takes in orders that arrive by file, line by line (`acceptBatch`), or over HTTP, each request whole or not at all
 * (`acceptRequests`).
 */
export class Intake {
  readonly files: OrderFiles;
  readonly #outbox: Outbox;
  readonly #database: Sqlite;
  readonly #acceptInSavepoint;

  constructor(outbox: Outbox) {
    const { database } = outbox;
    this.files = new OrderFiles(database);
    this.#outbox = outbox;
    this.#database = database;
    // A transaction within a transaction is a savepoint: only what this one request wrote is undone.
    this.#acceptInSavepoint = database.transaction((request: WholeRequest) => acceptRequest(outbox, request));
  }

  /** Accepts lines with their references, and records the lines that could not be accepted. One transaction. */
  async acceptBatch(batch: IntakeBatch): Promise<readonly AcceptedLine[]> {
    return inTransaction(this.#database, () => acceptBatch(this.#outbox, batch));
  }

  /**
   * Accepts requests that arrived together, in one commit. Each request is accepted whole or not at all, and a failure
   * of one leaves the others as they are. Rejects only when the commit itself failed: then nothing was accepted.
   */
  async acceptRequests(requests: readonly WholeRequest[]): Promise<readonly RequestOutcome[]> {
    let failed = false;
    try {
      return inTransaction(this.#database, () => {
        failed = true;
        const outcomes = requests.map((request) => acceptRequest(this.#outbox, request));
        failed = false;
        return outcomes;
      });
    } catch (error) {
      // A transaction that did not begin, or could not be committed, is not tried again here; nor is it when the disk
      // failed, which comes as an error of ours. Where space is short, only the new orders are refused.
      if (!failed || (error instanceof OrderSyncError && !hasCode(error, 'DISK_FULL'))) throw error;
      return this.#acceptEachApart(requests);
    }
  }

  /**
   * When one request cannot be written, which is rare, all are undone and written again with a savepoint around each: a
   * savepoint costs as much as a request.
   */
  #acceptEachApart(requests: readonly WholeRequest[]): readonly RequestOutcome[] {
    return inTransaction(this.#database, () =>
      requests.map((request): RequestOutcome => {
        try {
          return this.#acceptInSavepoint(request);
        } catch (error) {
          // A disk that cannot be written, or a transaction that SQLite ended by itself, fails all of them.
          if (!this.#database.inTransaction || isDiskFailure(error)) throw error;
          return { kind: 'failed', error };
        }
      }),
    );
  }

  /**
   * Cancels an order of which nothing was ever sent: all of it, or nothing when something was sent. Cancelling it again
   * changes nothing.
   */
  async cancelUnsent(order: CancelUnsentRequest): Promise<CancelUnsentResult> {
    const { source, orderId, actor, reason, nowMs } = order;
    return inTransaction(this.#database, (): CancelUnsentResult => {
      const requestId = findRequest(this.#database).get(source, orderId);
      if (requestId === undefined) return { kind: 'not_found' };
      const rows = selectEntries(this.#database).all(requestId);
      // An order whose lines were all rejected when it came in has nothing to cancel.
      if (rows.length === 0) return { kind: 'not_found' };
      const unsent = rows.filter((row) => isSurelyUnsent(this.#database, row));
      if (rows.some((row) => !endedUnbought.has(row.state) && !unsent.includes(row))) {
        const lines = rows.map((row) => ({ lineId: row.shop_line_id, reference: row.reference, state: row.state }));
        return { kind: 'refused', requestId, lines };
      }
      // Of its rejected lines, too, nobody expects anything any more.
      for (const lineId of new Set(rows.map((row) => row.line_id)))
        setTakenBack(this.#database).run({ lineId, takenBack: 1 });
      for (const row of unsent) cancelEntry(this.#outbox, row, `taken back before it was sent: ${reason}`, nowMs);
      if (unsent.length > 0) {
        const subject = `${source}/${orderId}`;
        const detail = { references: unsent.map((row) => row.reference) };
        recordAudit(this.#database, { actor, reason, nowMs, action: 'cancel', subject, detail });
      }
      return { kind: 'cancelled', requestId, cancelled: unsent.length };
    });
  }
}
