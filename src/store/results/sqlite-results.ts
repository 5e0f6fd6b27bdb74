import { hasCode, OrderSyncError } from '../../core/order-sync-error.ts';
import type { ResultDocument } from '../../core/result/result-document.ts';
import { inTransaction, longestText, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox, ResultSink } from '../sqlite/outbox.ts';
import { isResultNeeded } from './needed-results.ts';
import { repeatResult } from './due-results.ts';
import { readResultDocument } from './result-reader.ts';
import { sharesResultName } from './result-name.ts';
import { SqliteCsvFiles } from './sqlite-csv-files.ts';
import { checkSink, readRedeliveryStep } from './redelivery.ts';
import type { DueDelivery, NewSinkPause, Redelivery, Results, SinkPauseRow } from './results.ts';
import { never, SinkStates } from './sink-states.ts';

/** Whatever its version: what cannot be read cannot be tried again. */
const refuse = statementOf<{ requestId: number; sink: string; error: string; nowMs: number }, never>(
  `UPDATE deliveries SET last_error = :error, given_up_at_ms = :nowMs, acknowledged_at_ms = NULL, due_at_ms = ${never}
   WHERE request_id = :requestId AND sink = :sink`,
);

const findRequest = statementOf<[string, string], { id: number }>(
  'SELECT id FROM requests WHERE source = ? AND order_id = ?',
);

const hasShredded = statementOf<[number], number>(
  'SELECT 1 FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = ? AND e.shredded_at_ms IS NOT NULL LIMIT 1',
);

const isShredded = ({ lines }: ResultDocument): boolean =>
  lines.some(({ entries }) => entries.some(({ shredded }) => shredded !== undefined));

function shreddedText({ source, order_id: orderId }: ResultDocument): string {
  return `the codes of ${source}/${orderId} were shredded (retention.codes_days): its result is not written again without them`;
}

const confirm = statementOf<{ requestId: number; sink: string; events: string }, never>(
  `UPDATE deliveries SET confirmed_events = :events
   WHERE request_id = :requestId AND sink = :sink
     AND coalesce(confirmed_events ->> 'replays', 0) = :events ->> 'replays'`,
);

type DueRow = Pick<DueDelivery, 'requestId' | 'tries' | 'confirmed'>;

/** The deliveries of each result. A delivery is done for a version of its request. */
export class SqliteResults implements Results {
  readonly csvFiles: SqliteCsvFiles;
  readonly #database: Sqlite;
  readonly #outbox: Outbox;
  readonly #sinkStates: SinkStates;
  readonly #statements;

  constructor(outbox: Outbox) {
    const { database } = outbox;
    this.#database = database;
    this.#outbox = outbox;
    this.#sinkStates = new SinkStates(database);
    this.csvFiles = new SqliteCsvFiles(database, outbox);
    this.#statements = {
      dueNow: database.prepare<[string, number, string, number], DueRow>(
        `SELECT request_id AS requestId, tries, confirmed_events AS confirmed FROM deliveries
         WHERE done_version < due_version AND sink = +? AND due_at_ms <= ?
           AND request_id NOT IN (SELECT value FROM json_each(+?)) ORDER BY due_at_ms LIMIT +?`,
      ),
      nextAt: database
        .prepare<[string], number | null>(
          // What was given up is never due: the index ends before it.
          `SELECT min(due_at_ms) FROM deliveries WHERE done_version < due_version AND sink = +? AND due_at_ms < ${never}`,
        )
        .pluck(),
      close: database.prepare(
        `UPDATE deliveries SET done_version = max(done_version, :version), done_at_ms = :nowMs, last_error = NULL, tries = 0
         WHERE request_id = :requestId AND sink = :sink`,
      ),
      // A version that failed does not delay a newer one.
      fail: database.prepare(
        `UPDATE deliveries SET tries = tries + :counted, last_error = :error, due_at_ms = :retryAtMs
         WHERE request_id = :requestId AND sink = :sink AND done_version < due_version AND due_version = :version`,
      ),
      // Never due again, until the result changes or a person asks for it.
      giveUp: database.prepare(
        `UPDATE deliveries SET tries = tries + 1, last_error = :error, given_up_at_ms = :nowMs, acknowledged_at_ms = NULL,
           due_at_ms = ${never}
         WHERE request_id = :requestId AND sink = :sink AND done_version < due_version AND due_version = :version`,
      ),
    };
  }

  async dueDeliveries(
    sink: string,
    nowMs: number,
    limit: number,
    without: Iterable<number> = [],
  ): Promise<readonly DueDelivery[]> {
    return this.#statements.dueNow.all(sink, nowMs, JSON.stringify([...without]), limit).flatMap((due) => {
      const result = this.#readableResult(due.requestId, sink, nowMs);
      if (result === null) return [];
      const { source, order_id: orderId } = result.document;
      const sharesName = sharesResultName(this.#database, { id: due.requestId, source, orderId });
      return { ...due, ...result, sharesName };
    });
  }

  /** Null, and flagged, when its units cannot be opened: that must not stop the results of other orders. */
  #readableResult(requestId: number, sink: string, nowMs: number): ReturnType<typeof readResultDocument> | null {
    try {
      const result = readResultDocument(this.#database, requestId, this.#outbox);
      // The shop would replace the codes that it has by none.
      if (isShredded(result.document)) throw new OrderSyncError('REFUSED', shreddedText(result.document));
      return result;
    } catch (error) {
      if (!hasCode(error, 'SEALED_UNREADABLE') && !hasCode(error, 'REFUSED')) throw error;
      inTransaction(this.#database, () => refuse(this.#database).run({ requestId, sink, error: error.message, nowMs }));
      return null;
    }
  }

  async isNeeded({
    source,
    orderId,
    beforeMs,
  }: {
    source: string;
    orderId: string;
    beforeMs: number;
  }): Promise<boolean> {
    const request = findRequest(this.#database).get(source, orderId);
    return request === undefined || isResultNeeded(this.#database, request.id, beforeMs);
  }

  async nextDeliveryAt(sink: string): Promise<number | null> {
    return this.#statements.nextAt.get(sink) ?? null;
  }

  /** A delivery whose result changed while it was written stays due. */
  async closeDelivery(done: { requestId: number; sink: string; version: number; nowMs: number }): Promise<void> {
    inTransaction(this.#database, () => {
      this.#statements.close.run(done);
    });
  }

  async failDelivery(failed: {
    requestId: number;
    sink: string;
    version: number;
    error: string;
    retryAtMs: number;
    countsTry?: boolean;
  }): Promise<void> {
    const { countsTry = true, ...row } = failed;
    inTransaction(this.#database, () => {
      this.#statements.fail.run({ ...row, counted: Number(countsTry), error: failed.error.slice(0, longestText) });
    });
  }

  async confirmEvents(confirmed: { requestId: number; sink: string; events: string }): Promise<void> {
    inTransaction(this.#database, () => {
      confirm(this.#database).run(confirmed);
    });
  }

  /** Does nothing when the result has changed meanwhile: the newer version is tried from the start. */
  async giveUpDelivery(given: {
    requestId: number;
    sink: string;
    version: number;
    error: string;
    nowMs: number;
  }): Promise<void> {
    inTransaction(this.#database, () => {
      this.#statements.giveUp.run({ ...given, error: given.error.slice(0, longestText) });
    });
  }

  async retireSinks(nowMs: number): Promise<number> {
    return inTransaction(this.#database, () => this.#sinkStates.retireOthers(this.#outbox.sinks, nowMs));
  }

  async sinkPause(sink: string): Promise<SinkPauseRow | null> {
    return this.#sinkStates.pauseOf(sink);
  }

  async pauseSink(pause: NewSinkPause): Promise<void> {
    inTransaction(this.#database, () => this.#sinkStates.pause(pause));
  }

  async resumeSink(resume: { sink: string; nowMs: number; wasOutage: boolean }): Promise<void> {
    inTransaction(this.#database, () => this.#sinkStates.resume(resume));
  }

  async useSinks(sinks: readonly ResultSink[], nowMs: number): Promise<number> {
    this.#outbox.sinks = sinks;
    return await this.retireSinks(nowMs);
  }

  /**
   * Makes the next results of a redelivery due again, at one sink or at all of their source; not those whose codes were
   * shredded. Called inside a transaction.
   * @throws OrderSyncError INVALID_INPUT; REFUSED when all of one order were shredded
   */
  redeliver(
    which: Redelivery,
    afterId: number,
    nowMs: number,
  ): { readonly due: number; readonly nextId: number | null } {
    const names = this.#outbox.sinks.map(({ name }) => name);
    if (which.sink !== undefined) checkSink(which.sink, names);
    const { ids, nextId } = readRedeliveryStep(this.#database, which, afterId);
    const repeated = ids.filter((id) => hasShredded(this.#database).get(id) === undefined);
    const [first] = ids;
    if (first !== undefined && repeated.length === 0 && which.orderId !== undefined) {
      const { document } = readResultDocument(this.#database, first, this.#outbox);
      throw new OrderSyncError('REFUSED', shreddedText(document), {
        hint: 'the results that were written before stay as they are',
      });
    }
    for (const id of repeated) repeatResult(this.#outbox, id, nowMs, which.sink);
    return { due: repeated.length, nextId };
  }
}
