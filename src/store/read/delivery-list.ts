import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { wallAhead, wallOf } from '../sqlite/steady-time.ts';
import { isoOf } from '../sqlite/rows.ts';
import { neverMs } from '../results/due-results.ts';
import { numbersOf, pageOf, rowsToRead, type Page, type PageRequest } from './page.ts';

/** The write-back of a result to one sink, which has not succeeded yet. */
interface ListedDelivery {
  readonly requestId: number;
  /** Null: it is that of a CSV order file. */
  readonly source: string | null;
  readonly orderId: string | null;
  /** The name of the file; null: it is that of an order. */
  readonly file: string | null;
  readonly sink: string;
  readonly tries: number;
  readonly lastError: string | null;
  /** When it is tried next; null: it is not tried by itself. */
  readonly dueAt: string | null;
  readonly givenUpAt: string | null;
}

/**
 * `open`: due now or later, the first one first; those of a paused sink only where it is asked for.
 * `given_up`: not acknowledged yet, the last one first.
 */
export interface DeliveryFilter {
  readonly status: 'open' | 'given_up';
  readonly sink?: string | undefined;
}

const columns = `d.request_id AS requestId, r.source, r.order_id AS orderId,
  (SELECT name FROM files WHERE number = -d.request_id) AS file, d.sink, d.tries, d.last_error AS lastError,
  CASE WHEN d.due_steady < ${neverMs} THEN ${isoOf(wallOf('d.due_steady'))} END AS dueAt, ${isoOf('d.given_up_at_ms')} AS givenUpAt`;

interface Place {
  readonly afterMs: number;
  readonly afterId: number;
  readonly afterSink: string;
}

/** The open ones of one sink: that is how their index is ordered. */
export const selectOpen = statementOf<Place & { sink: string; limit: number }, ListedDelivery>(
  `SELECT ${columns} FROM deliveries d LEFT JOIN requests r ON r.id = d.request_id
   WHERE d.done_version < d.due_version AND d.sink = :sink AND d.due_steady < ${neverMs}
     AND (d.due_steady, d.request_id) >= (:afterMs, :afterId) ORDER BY d.due_steady, d.request_id LIMIT :limit`,
);
export const selectGivenUp = statementOf<
  Place & { sink: string | null; limit: number },
  ListedDelivery
>(
  `SELECT ${columns} FROM deliveries d LEFT JOIN requests r ON r.id = d.request_id
   WHERE d.given_up_at_ms IS NOT NULL AND d.acknowledged_at_ms IS NULL AND (:sink IS NULL OR d.sink = :sink)
     AND (d.given_up_at_ms, d.request_id, d.sink) < (:afterMs, :afterId, :afterSink)
   ORDER BY d.given_up_at_ms DESC, d.request_id DESC, d.sink DESC LIMIT :limit`,
);
/**
 * The sinks that are not paused and have open deliveries, found by going from one to the next: the
 * cost is their number.
 */
export const selectOpenSinks = columnOf<[], string>(
  `WITH RECURSIVE sinks (sink) AS (
     SELECT min(sink) FROM deliveries WHERE done_version < due_version
     UNION ALL
     SELECT (SELECT min(sink) FROM deliveries WHERE done_version < due_version AND sink > sinks.sink) FROM sinks WHERE sinks.sink IS NOT NULL)
   SELECT sink FROM sinks WHERE sink IS NOT NULL AND sink NOT IN (SELECT sink FROM sink_pauses)`,
);

/** A time, the id of a request and a sink, whose name may have a dot in it. */
function placeOf(after: string): Place {
  const [ms = '', id = '', ...sink] = after.split('.');
  const [afterMs = 0, afterId = 0] = numbersOf(`${ms}.${id}`, 2);
  return { afterMs, afterId, afterSink: sink.join('.') };
}

const dueMsOf = ({ dueAt }: ListedDelivery): number => Date.parse(dueAt ?? '');

export function readDeliveries(
  database: Sqlite,
  filter: DeliveryFilter,
  page: PageRequest,
): Page<ListedDelivery> {
  const isOpen = filter.status === 'open';
  const start = isOpen ? -1 : Number.MAX_SAFE_INTEGER;
  const place =
    page.after === undefined
      ? { afterMs: start, afterId: start, afterSink: '' }
      : placeOf(page.after);
  const limit = rowsToRead(page);
  const aheadMs = wallAhead(database).get() ?? 0;
  const rows = isOpen
    ? readOpen(database, filter, place, limit)
    : selectGivenUp(database).all({ ...place, sink: filter.sink ?? null, limit });
  return pageOf(rows, page, (row) => [
    isOpen ? dueMsOf(row) - aheadMs : Date.parse(row.givenUpAt ?? ''),
    row.requestId,
    row.sink,
  ]);
}

function readOpen(
  database: Sqlite,
  { sink }: DeliveryFilter,
  place: Place,
  limit: number,
): readonly ListedDelivery[] {
  const { afterMs, afterId, afterSink } = place;
  const aheadMs = wallAhead(database).get() ?? 0;
  return (
    (sink === undefined ? selectOpenSinks(database).all() : [sink])
      // A result is often due at several sinks at the same time: the last row of the page before
      // may be read once more.
      .flatMap((one) => selectOpen(database).all({ ...place, sink: one, limit: limit + 1 }))
      .filter(
        (row) =>
          dueMsOf(row) - aheadMs > afterMs || row.requestId > afterId || row.sink > afterSink,
      )
      .toSorted(
        (a, b) =>
          dueMsOf(a) - dueMsOf(b) || a.requestId - b.requestId || (a.sink < b.sink ? -1 : 1),
      )
      .slice(0, limit)
  );
}

export interface PausedSink {
  readonly sink: string;
  /** A stable name, for example `http_503` or `ECONNREFUSED`. */
  readonly reason: string;
  readonly message: string;
  readonly sinceMs: number;
  readonly probeAtMs: number;
  readonly waiting: number;
}

const mostWaitingCounted = 100_000;

const dueAt = (sink: string) => `(SELECT count(*) FROM (SELECT 1 FROM deliveries d
  WHERE d.sink = ${sink} AND d.done_version < d.due_version AND d.due_steady < ${neverMs} LIMIT ?))`;
const countDue = columnOf<[string, number], number>(`SELECT ${dueAt('?')}`);
const selectPauses = statementOf<[number], PausedSink>(
  `SELECT sink, reason, message, since_ms AS sinceMs, ${wallOf('probe_steady')} AS probeAtMs, ${dueAt('p.sink')} AS waiting
   FROM sink_pauses p ORDER BY since_ms, sink`,
);

/** How many results wait for each of these sinks, at most so many of each. */
export function readDueResults(
  database: Sqlite,
  sinks: readonly string[],
  atMost: number,
): ReadonlyMap<string, number> {
  return new Map(sinks.map((sink) => [sink, countDue(database).get(sink, atMost) ?? 0]));
}

export function readSinkPauses(database: Sqlite): readonly PausedSink[] {
  return selectPauses(database).all(mostWaitingCounted);
}
