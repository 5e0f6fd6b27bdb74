import { hasCode } from '../../core/order-sync-error.ts';
import { columnOf, inTransaction, longestText, statementOf } from '../sqlite/database.ts';
import { OutboxSteps, type Outbox, type ResultSink } from '../sqlite/outbox.ts';
import { CsvFiles } from './csv-files.ts';
import { errorText, isResultNeeded, neverMs } from './due-results.ts';
import {
  readResult,
  refuseShredded,
  sharesResultName,
  type StoredResult,
} from './result-reader.ts';

interface Delivery {
  readonly requestId: number;
  readonly sink: string;
  readonly version: number;
}

export interface DueDelivery extends StoredResult {
  readonly requestId: number;
  readonly tries: number;
  /** What `confirmEvents` has kept; null: nothing. */
  readonly confirmed: string | null;
  /** What `keepNotePosts` has kept, also when the result is asked for again; null: nothing. */
  readonly notePosts: string | null;
  /** Whether an earlier order has the same source and order id but for capital letters. */
  readonly sharesName: boolean;
}

interface SinkPause {
  /** A stable name, for example `http_503` or `ECONNREFUSED`. */
  readonly reason: string;
  readonly sinceMs: number;
  /** In steady time. */
  readonly probeAtMs: number;
  readonly probes: number;
}

interface NewSinkPause extends Omit<SinkPause, 'sinceMs'> {
  readonly sink: string;
  readonly message: string;
  readonly nowMs: number;
}

type DueRow = Pick<DueDelivery, 'requestId' | 'tries' | 'confirmed' | 'notePosts'>;
const dueIn = (index: string, which = '') =>
  statementOf<{ sink: string; steadyMs: number; without: string; limit: number }, DueRow>(
    `SELECT request_id AS requestId, tries, confirmed_events AS confirmed, note_posts AS notePosts
     FROM deliveries INDEXED BY ${index}
     WHERE done_version < due_version ${which} AND sink = :sink AND due_steady <= :steadyMs
       AND request_id NOT IN (SELECT value FROM json_each(:without)) ORDER BY due_steady LIMIT :limit`,
  );
const selectDue = dueIn('deliveries_due');
const selectGiving = dueIn('deliveries_giving', 'AND gives_units = 1');
// A delivery that was given up is never due: the index ends before it.
const selectNextAt = columnOf<[string], number | null>(
  `SELECT min(due_steady) FROM deliveries WHERE done_version < due_version AND sink = ? AND due_steady < ${neverMs}`,
);
const findRequest = columnOf<[string, string], number>(
  'SELECT id FROM requests WHERE source = ? AND order_id = ?',
);

const ofSink = 'WHERE request_id = :requestId AND sink = :sink';
// A version that failed does not delay a newer one.
const ofVersion = `${ofSink} AND done_version < due_version AND due_version = :version`;
/** Never due again, until the result changes or an operator asks for it. */
const isGivenUp = `given_up_at_ms = :nowMs, acknowledged_at_ms = NULL, due_steady = ${neverMs}`;

const close = statementOf<Delivery & { nowMs: number }, never>(
  `UPDATE deliveries SET done_version = max(done_version, :version), done_at_ms = :nowMs, last_error = NULL, tries = 0,
     gives_units = CASE WHEN due_version <= :version THEN 0 ELSE gives_units END ${ofSink}`,
);
const fail = statementOf<Delivery & { error: string; retryAtMs: number; counted: number }, never>(
  `UPDATE deliveries SET tries = tries + :counted, last_error = ${errorText}, due_steady = CAST(:retryAtMs AS INTEGER) ${ofVersion}`,
);
const giveUp = statementOf<Delivery & { error: string; reason: string; nowMs: number }, never>(
  `UPDATE deliveries SET tries = tries + 1, given_up_reason = :reason, last_error = ${errorText}, ${isGivenUp} ${ofVersion}`,
);
/** This holds for any version: an unreadable result cannot be tried again. */
const giveUpUnreadable = statementOf<
  Omit<Delivery, 'version'> & { error: string; nowMs: number },
  never
>(`UPDATE deliveries SET last_error = ${errorText}, ${isGivenUp} ${ofSink}`);
const giveUpRetired = statementOf<{ sinks: string; nowMs: number }, never>(
  `UPDATE deliveries SET last_error = 'this sink is not configured any more', ${isGivenUp}
   WHERE done_version < due_version AND given_up_at_ms IS NULL AND NOT EXISTS (
     SELECT 1 FROM json_each(:sinks) s WHERE s.value ->> 'name' = deliveries.sink AND (s.value ->> 'sources' IS NULL
       OR (SELECT source FROM requests r WHERE r.id = deliveries.request_id) IN (SELECT value FROM json_each(s.value, '$.sources'))))`,
);
const confirm = statementOf<Omit<Delivery, 'version'> & { events: string }, never>(
  `UPDATE deliveries SET confirmed_events = :events ${ofSink}
     AND coalesce(confirmed_events ->> 'replays', 0) = :events ->> 'replays'`,
);
const keepPosts = statementOf<Omit<Delivery, 'version'> & { posts: string }, never>(
  `UPDATE deliveries SET note_posts = :posts ${ofSink}`,
);
const makeFailedDue = statementOf<{ sink: string; steadyMs: number }, never>(
  `UPDATE deliveries SET due_steady = :steadyMs
   WHERE done_version < due_version AND sink = :sink AND due_steady > :steadyMs AND due_steady < ${neverMs}`,
);

const selectPause = statementOf<[string], SinkPause>(
  'SELECT reason, since_ms AS sinceMs, probe_steady AS probeAtMs, probes FROM sink_pauses WHERE sink = ?',
);
const setPause = statementOf<NewSinkPause, never>(
  `INSERT INTO sink_pauses (sink, reason, message, since_ms, probe_steady, probes)
   VALUES (:sink, substr(:reason, 1, ${longestText}), substr(:message, 1, ${longestText}), :nowMs, :probeAtMs, :probes)
   ON CONFLICT (sink) DO UPDATE SET reason = excluded.reason, message = excluded.message,
     probe_steady = excluded.probe_steady, probes = excluded.probes`,
);
const endPause = statementOf<[string], never>('DELETE FROM sink_pauses WHERE sink = ?');
const endRetiredPauses = statementOf<{ sinks: string }, never>(
  `DELETE FROM sink_pauses WHERE sink NOT IN (SELECT value ->> 'name' FROM json_each(:sinks)) AND sink NOT LIKE 'alert:%'`,
);

/** The results that are written back, each to every sink of its source. See `due-results.ts`. */
export class Results extends OutboxSteps {
  readonly csvFiles = new CsvFiles(this.outbox);

  /**
   * Results that give units come first. A probe goes by due time alone, so that one failing result
   * is not every probe.
   * @param without requests that are left out. Default: none
   */
  async dueDeliveries(
    sink: string,
    steadyMs: number,
    limit: number,
    without: Iterable<number> = [],
    isProbe = false,
  ): Promise<readonly DueDelivery[]> {
    const rowsOf = (
      select: typeof selectDue,
      most: number,
      left: readonly number[],
    ): readonly DueRow[] =>
      select(this.database).all({ sink, steadyMs, without: JSON.stringify(left), limit: most });
    const giving = isProbe ? [] : rowsOf(selectGiving, limit, [...without]);
    const left = [...without, ...giving.map(({ requestId }) => requestId)];
    return [...giving, ...rowsOf(selectDue, limit - giving.length, left)].flatMap((due) => {
      const result = this.#readableResult(due.requestId, sink);
      if (result === null) return [];
      const { source, order_id: orderId } = result.document;
      const sharesName = sharesResultName(this.database, { id: due.requestId, source, orderId });
      return { ...due, ...result, sharesName };
    });
  }

  /**
   * Null, and flagged, when its units cannot be opened: that must not stop the results of other
   * orders.
   */
  #readableResult(requestId: number, sink: string): StoredResult | null {
    try {
      const result = readResult(this.outbox, requestId);
      // The shop would replace the codes that it has by none.
      refuseShredded(result.document);
      return result;
    } catch (error) {
      if (!hasCode(error, 'SEALED_UNREADABLE') && !hasCode(error, 'NOT_ALLOWED')) throw error;
      const nowMs = this.outbox.clock.wallMs();
      const given = { requestId, sink, error: error.message, nowMs };
      inTransaction(this.database, () => giveUpUnreadable(this.database).run(given));
      return null;
    }
  }

  /**
   * Whether something of an order is open, or was not delivered everywhere before a time; also of
   * an unknown order.
   */
  async isNeeded(order: { source: string; orderId: string; beforeMs: number }): Promise<boolean> {
    const requestId = findRequest(this.database).get(order.source, order.orderId);
    return requestId === undefined || isResultNeeded(this.database, requestId, order.beforeMs);
  }

  readonly nextDeliveryAt = this.first(selectNextAt);

  /** A delivery whose result changed while it was written stays due. */
  readonly closeDelivery = this.write(close);

  /**
   * @param failed `countsTry`: false: it does not count towards giving the delivery up. Default:
   * true
   */
  readonly failDelivery = this.step(
    (
      { database },
      failed: Delivery & { error: string; retryAtMs: number; countsTry?: boolean },
    ): void => {
      const { countsTry = true, ...delivery } = failed;
      fail(database).run({ ...delivery, counted: Number(countsTry) });
    },
  );

  /**
   * Keeps what a sink has confirmed about an order, unless an operator asked for its results again
   * meanwhile.
   */
  readonly confirmEvents = this.write(confirm);

  readonly keepNotePosts = this.write(keepPosts);

  /**
   * This version is not tried again by itself, and is flagged for review. A newer version is tried
   * from the start.
   */
  readonly giveUpDelivery = this.write(giveUp);

  readonly sinkPause = this.first(selectPause);

  /** Pauses a sink, or keeps it paused since when it is: it takes no results at the moment. */
  readonly pauseSink = this.write(setPause);

  /**
   * @param resume `wasOutage`: results that failed meanwhile are due at once, and do not wait for
   * their own retry
   */
  readonly resumeSink = this.step(({ database, clock }, sink: string, wasOutage: boolean): void => {
    endPause(database).run(sink);
    if (wasOutage) makeFailedDue(database).run({ sink, steadyMs: Math.floor(clock.steadyMs()) });
  });

  /**
   * Gives up what is due at sinks that are not configured any more, also for its source. Returns
   * how many.
   */
  readonly retireSinks = this.step((outbox, nowMs: number): number =>
    retireSinks(outbox, outbox.sinks, nowMs),
  );
}

/**
 * Gives up what is due at other sinks than these. Returns how many. Called inside a transaction.
 */
export function retireSinks(
  { database }: Outbox,
  current: readonly ResultSink[],
  nowMs: number,
): number {
  const sinks = JSON.stringify(current);
  endRetiredPauses(database).run({ sinks });
  return giveUpRetired(database).run({ sinks, nowMs }).changes;
}
