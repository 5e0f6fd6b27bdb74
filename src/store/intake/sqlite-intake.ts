import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import { recordAudit } from '../sqlite/audit.ts';
import { inTransaction, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { isDiskFailure } from '../sqlite/disk-errors.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { isSurelyUnsent } from '../submission/after-loss.ts';
import { cancelEntry, endedUnbought, setTakenBack } from '../submission/entry-changes.ts';
import type { LineTable } from './accept-lines.ts';
import { SqliteOrderFiles } from './files.ts';
import type {
  AcceptedLine,
  CancelUnsentRequest,
  CancelUnsentResult,
  Intake,
  IntakeBatch,
  RequestOutcome,
  WholeRequest,
} from './intake.ts';
import { WholeRequests } from './whole-requests.ts';

type Row = EntryRow & { readonly shop_line_id: string };

/** Takes in orders that arrive by file or over HTTP. */
export class SqliteIntake implements Intake {
  readonly files: SqliteOrderFiles;
  readonly #database: Sqlite;
  readonly #lines: LineTable;
  readonly #requests: WholeRequests;
  readonly #outbox: Outbox;
  readonly #statements;
  readonly #acceptInSavepoint;

  constructor(outbox: Outbox, parts: { lines: LineTable }) {
    const { database } = outbox;
    this.files = new SqliteOrderFiles(database);
    this.#database = database;
    this.#lines = parts.lines;
    this.#requests = new WholeRequests(database, parts.lines);
    this.#outbox = outbox;
    this.#statements = {
      findRequest: database
        .prepare<[string, string], number>('SELECT id FROM requests WHERE source = ? AND order_id = ?')
        .pluck(),
      entriesOf: database.prepare<[number], Row>(
        `SELECT e.*, l.line_id AS shop_line_id FROM entries e JOIN lines l ON l.id = e.line_id WHERE l.request_id = ?
         ORDER BY e.id`,
      ),
    };
    // A transaction within a transaction is a savepoint: only what this one request wrote is undone.
    this.#acceptInSavepoint = database.transaction((request: WholeRequest) => this.#requests.accept(request));
  }

  async acceptBatch(batch: IntakeBatch): Promise<readonly AcceptedLine[]> {
    return inTransaction(this.#database, () => this.#lines.accept(batch));
  }

  /**
   * One transaction for all requests. When one of them cannot be written, which is rare, all are undone and written again
   * with a savepoint around each: a savepoint costs as much as a request.
   */
  async acceptRequests(requests: readonly WholeRequest[]): Promise<readonly RequestOutcome[]> {
    let failed = false;
    try {
      return inTransaction(this.#database, () => {
        failed = true;
        const outcomes = requests.map((request) => this.#requests.accept(request));
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

  async cancelUnsent(order: CancelUnsentRequest): Promise<CancelUnsentResult> {
    const { source, orderId, actor, reason, nowMs } = order;
    return inTransaction(this.#database, (): CancelUnsentResult => {
      const requestId = this.#statements.findRequest.get(source, orderId);
      if (requestId === undefined) return { kind: 'not_found' };
      const rows = this.#statements.entriesOf.all(requestId);
      // An order whose lines were all rejected when it came in has nothing to cancel.
      if (rows.length === 0) return { kind: 'not_found' };
      const unsent = rows.filter((row) => isSurelyUnsent(this.#database, row));
      if (rows.some((row) => !endedUnbought.has(row.state) && !unsent.includes(row))) {
        const lines = rows.map((row) => ({ lineId: row.shop_line_id, reference: row.reference, state: row.state }));
        return { kind: 'refused', requestId, lines };
      }
      // Of its rejected lines, too, nobody expects anything any more.
      for (const lineId of new Set(rows.map((row) => row.line_id))) setTakenBack(this.#database, lineId, true);
      for (const row of unsent) cancelEntry(this.#outbox, row, `taken back before it was sent: ${reason}`, nowMs);
      if (unsent.length > 0) {
        const detail = { references: unsent.map((row) => row.reference) };
        recordAudit(this.#database, {
          actor,
          reason,
          nowMs,
          action: 'cancel',
          subject: `${source}/${orderId}`,
          detail,
        });
      }
      return { kind: 'cancelled', requestId, cancelled: unsent.length };
    });
  }
}
