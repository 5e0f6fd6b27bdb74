import { longestText, statementOf, type Sqlite } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';

// The result of an order has a version, `requests.version`: it rises when the result changes, and
// when the same result is to be delivered again. `requests.updated_at_ms` is the time of the last
// change. A delivery brings the result to one sink: `due_version` is the version that the sink must
// get, `done_version` the one that it got last, so the delivery is due while it is lower. A row is
// made for each sink of the source at the first change.

/** The sink of the folder of results. */
export const folderSinkName = 'folder';

/**
 * The sink of CSV order files, which come back as CSV. There, a delivery is that of a file:
 * `request_id` is its number, negative.
 */
export const csvSinkName = 'csv';

/** A due time later than any: the delivery failed for good, or waits for a change. */
export const neverMs = 9_000_000_000_000_000;

/** The parameter `error`, of which no more than this is kept. */
export const errorText = `substr(:error, 1, ${longestText})`;

type NewVersion = { readonly version: number; readonly source: string };

const raiseVersion = statementOf<[changedMs: number | null, requestId: number], NewVersion>(
  `UPDATE requests SET version = version + 1, updated_at_ms = coalesce(?, updated_at_ms) WHERE id = ?
   RETURNING version, source`,
);
const hasDelivery = statementOf<[number], unknown>(
  'SELECT 1 FROM deliveries WHERE request_id = ? LIMIT 1',
);
const makeDue = statementOf<[number, string, number, number, 0 | 1], never>(
  `INSERT INTO deliveries (request_id, sink, due_version, due_steady, gives_units) VALUES (?, ?, ?, ?, ?)
   ON CONFLICT (request_id, sink) DO UPDATE SET due_version = excluded.due_version, due_steady = excluded.due_steady, tries = 0,
     given_up_at_ms = NULL, given_up_reason = NULL, gives_units = max(gives_units, excluded.gives_units)`,
);
const forgetConfirmed = statementOf<[number, string], never>(
  `UPDATE deliveries SET confirmed_events = json_object('replays', coalesce(confirmed_events ->> 'replays', 0) + 1)
   WHERE request_id = ? AND sink = ?`,
);

/**
 * A run of `file_rows` has at most so many rows: who reads some rows, or looks for a line, finds
 * the run without looking at all.
 */
export const longestRun = 2000;

/** The deliveries of the CSV files with a line of a request. */
const ofFilesWith = `sink = '${csvSinkName}' AND request_id IN (
     SELECT -r.file_number FROM lines l JOIN file_rows r ON r.first_line > l.id - ${longestRun} AND r.first_line <= l.id
     WHERE l.request_id = :requestId AND l.id < r.first_line + r.line_count)`;
const makeCsvFilesDue = statementOf<{ requestId: number; steadyMs: number }, never>(
  `UPDATE deliveries SET due_version = due_version + 1, due_steady = :steadyMs, tries = 0, given_up_at_ms = NULL, given_up_reason = NULL
   WHERE ${ofFilesWith}`,
);

/**
 * The result of an order has changed: every sink of its source gets it; first, where its customer
 * waits for units.
 */
export function resultChanged(
  outbox: Outbox,
  requestId: number,
  nowMs: number,
  givesUnits = false,
): void {
  const changed = raiseVersion(outbox.database).get(nowMs, requestId);
  if (changed !== undefined) makeDeliveriesDue(outbox, requestId, changed, { givesUnits });
}

/** Makes the same result due again, where there was one, at one sink or at all. */
export function repeatResult(outbox: Outbox, requestId: number, only?: string): void {
  const { database } = outbox;
  if (hasDelivery(database).get(requestId) === undefined) return;
  const repeated = raiseVersion(database).get(null, requestId);
  if (repeated === undefined) return;
  // The sink gets confirmed events again.
  for (const sink of makeDeliveriesDue(outbox, requestId, repeated, { only }))
    forgetConfirmed(database).run(requestId, sink);
}

/** Returns the sinks at which it is due now. */
function makeDeliveriesDue(
  { database, sinks, clock }: Outbox,
  requestId: number,
  { version, source }: NewVersion,
  { only, givesUnits = false }: { only?: string | undefined; givesUnits?: boolean },
): readonly string[] {
  const steadyMs = Math.floor(clock.steadyMs());
  // CSV results stand in the folder of results.
  if (only === undefined || only === folderSinkName || only === csvSinkName)
    makeCsvFilesDue(database).run({ requestId, steadyMs });
  const due = sinks.filter(
    ({ name, sources }) =>
      name !== csvSinkName &&
      (sources === null || sources.includes(source)) &&
      (only === undefined || name === only),
  );
  for (const { name } of due)
    makeDue(database).run(requestId, name, version, steadyMs, givesUnits ? 1 : 0);
  return due.map(({ name }) => name);
}

const isNeeded = statementOf<{ requestId: number; beforeMs: number }, unknown>(
  `SELECT 1 WHERE EXISTS (
     SELECT 1 FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = :requestId
       AND (e.state NOT IN ('fulfilled', 'refunded', 'rejected', 'expired', 'cancelled')
         OR (e.units_missing > 0 AND e.acknowledged_at_ms IS NULL)))
   OR NOT EXISTS (SELECT 1 FROM deliveries WHERE request_id = :requestId)
   OR EXISTS (SELECT 1 FROM deliveries WHERE request_id = :requestId
       AND (done_version < due_version OR done_at_ms IS NULL OR done_at_ms >= :beforeMs))
   OR EXISTS (SELECT 1 FROM deliveries WHERE given_up_at_ms IS NULL AND (done_version < due_version OR done_at_ms >= :beforeMs)
       AND ${ofFilesWith})`,
);

/**
 * Whether something of an order is open, or was not delivered everywhere before a time: a later
 * result must be complete.
 */
export function isResultNeeded(database: Sqlite, requestId: number, beforeMs: number): boolean {
  return isNeeded(database).get({ requestId, beforeMs }) !== undefined;
}
