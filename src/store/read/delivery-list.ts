import { isoTime } from '../../core/clock.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { never } from '../results/sink-states.ts';
import { numbersOf, pageOf, rowsToRead, type Page, type PageRequest } from './page.ts';

/** The write-back of a result to one sink, which has not succeeded yet. */
export interface ListedDelivery {
  readonly requestId: number;
  readonly source: string;
  readonly orderId: string;
  readonly sink: string;
  readonly tries: number;
  /** Why the last try failed, as the receiver said it. */
  readonly lastError: string | null;
  /** When it is tried next; null: it is not tried by itself. */
  readonly dueAt: string | null;
  readonly givenUpAt: string | null;
}

/** `open`: due now or later, the first one first. `given_up`: not acknowledged yet, the last one first. */
export interface DeliveryFilter {
  readonly status: 'open' | 'given_up';
  readonly sink?: string | undefined;
}

interface Row extends Omit<ListedDelivery, 'dueAt' | 'givenUpAt'> {
  readonly dueMs: number;
  readonly givenUpMs: number | null;
}

const columns = `d.request_id AS requestId, r.source, r.order_id AS orderId, d.sink, d.tries, d.last_error AS lastError,
  d.due_at_ms AS dueMs, d.given_up_at_ms AS givenUpMs`;

/** The open ones of one sink: that is how their index is ordered. */
export const openDeliveriesSql = `SELECT ${columns} FROM deliveries d JOIN requests r ON r.id = d.request_id
  WHERE d.done_version < d.due_version AND d.sink = :sink AND d.due_at_ms < ${never}
    AND (d.due_at_ms, d.request_id) >= (:afterMs, :afterId) ORDER BY d.due_at_ms, d.request_id LIMIT :limit`;

export const givenUpDeliveriesSql = `SELECT ${columns} FROM deliveries d JOIN requests r ON r.id = d.request_id
  WHERE d.given_up_at_ms IS NOT NULL AND d.acknowledged_at_ms IS NULL AND (:sink IS NULL OR d.sink = :sink)
    AND (d.given_up_at_ms, d.request_id, d.sink) < (:afterMs, :afterId, :afterSink)
  ORDER BY d.given_up_at_ms DESC, d.request_id DESC, d.sink DESC LIMIT :limit`;

/** The sinks that have open deliveries, found by going from one to the next: the cost is their number. */
export const openSinksSql = `WITH RECURSIVE sinks (sink) AS (
    SELECT min(sink) FROM deliveries WHERE done_version < due_version
    UNION ALL
    SELECT (SELECT min(sink) FROM deliveries WHERE done_version < due_version AND sink > sinks.sink) FROM sinks WHERE sinks.sink IS NOT NULL)
  SELECT sink FROM sinks WHERE sink IS NOT NULL`;

interface Place {
  readonly afterMs: number;
  readonly afterId: number;
  readonly afterSink: string;
}

/** A time, the id of a request and a sink, whose name may have a dot in it. */
function placeOf(after: string): Place {
  const [ms = '', id = '', ...sink] = after.split('.');
  const [afterMs = 0, afterId = 0] = numbersOf(`${ms}.${id}`, 2);
  return { afterMs, afterId, afterSink: sink.join('.') };
}

/** Deliveries that have not succeeded. */
export function readDeliveries(database: Sqlite, filter: DeliveryFilter, page: PageRequest): Page<ListedDelivery> {
  const place = page.after === undefined ? null : placeOf(page.after);
  const limit = rowsToRead(page);
  const rows =
    filter.status === 'open' ? readOpen(database, filter, place, limit) : readGivenUp(database, filter, place, limit);
  return pageOf(rows, page, {
    keyOf: ({ dueMs, givenUpMs, requestId, sink }) => [
      filter.status === 'open' ? dueMs : (givenUpMs ?? 0),
      requestId,
      sink,
    ],
    rowOf: ({ dueMs, givenUpMs, ...delivery }) => ({
      ...delivery,
      dueAt: dueMs < never ? isoTime(dueMs) : null,
      givenUpAt: givenUpMs === null ? null : isoTime(givenUpMs),
    }),
  });
}

function readOpen(database: Sqlite, { sink }: DeliveryFilter, place: Place | null, limit: number): readonly Row[] {
  const all = database.prepare<[Record<string, unknown>], Row>(openDeliveriesSql);
  const sinks = sink === undefined ? database.prepare<[], string>(openSinksSql).pluck().all() : [sink];
  const { afterMs, afterId, afterSink } = place ?? { afterMs: -1, afterId: -1, afterSink: '' };
  return (
    sinks
      // A result is often due at several sinks at the same time: the last row of the page before may be read once more.
      .flatMap((name) => all.all({ afterMs, afterId, sink: name, limit: limit + 1 }))
      .filter((row) => row.dueMs > afterMs || row.requestId > afterId || row.sink > afterSink)
      .toSorted((a, b) => a.dueMs - b.dueMs || a.requestId - b.requestId || (a.sink < b.sink ? -1 : 1))
      .slice(0, limit)
  );
}

function readGivenUp(database: Sqlite, { sink }: DeliveryFilter, place: Place | null, limit: number): readonly Row[] {
  const last = Number.MAX_SAFE_INTEGER;
  return database
    .prepare<[Record<string, unknown>], Row>(givenUpDeliveriesSql)
    .all({ ...(place ?? { afterMs: last, afterId: last, afterSink: '' }), sink: sink ?? null, limit });
}
