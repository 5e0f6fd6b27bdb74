import { never } from '../results/sink-states.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

/** A sink that takes no results at the moment. */
export interface PausedSink {
  readonly sink: string;
  /** A stable name, for example `http_503` or `ECONNREFUSED`. */
  readonly reason: string;
  readonly message: string;
  readonly sinceMs: number;
  readonly probeAtMs: number;
  /** How many results wait for it, at most as many as are counted. */
  readonly waiting: number;
}

/** How many waiting results of a sink are counted. */
export const mostWaitingCounted = 100_000;

const select = statementOf<[number], PausedSink>(
  `SELECT sink, reason, message, since_ms AS sinceMs, probe_at_ms AS probeAtMs,
     (SELECT count(*) FROM (SELECT 1 FROM deliveries d
        WHERE d.sink = p.sink AND d.done_version < d.due_version AND d.due_at_ms < ${never} LIMIT +?)) AS waiting
   FROM sink_pauses p ORDER BY since_ms, sink`,
);

const countDue = statementOf<[string, number], { due: number }>(
  `SELECT count(*) AS due FROM (SELECT 1 FROM deliveries
     WHERE sink = +? AND done_version < due_version AND due_at_ms < ${never} LIMIT +?)`,
);

/** How many results wait for a sink, at most so many. */
export function countDueResults(database: Sqlite, sink: string, atMost: number): number {
  return countDue(database).get(sink, atMost)?.due ?? 0;
}

/** The paused sinks, the oldest pause first. */
export function readSinkPauses(database: Sqlite): readonly PausedSink[] {
  return select(database).all(mostWaitingCounted);
}
