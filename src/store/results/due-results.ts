import { statementOf } from '../sqlite/database.ts';
import type { Outbox } from '../sqlite/outbox.ts';
import { folderSinkName } from './results.ts';
import { markCsvFilesDue } from './sqlite-csv-files.ts';

/** The new version of a request, and its source. */
interface NewVersion {
  readonly version: number;
  readonly source: string;
}

const touch = statementOf<[number, number], NewVersion>(
  'UPDATE requests SET version = version + 1, updated_at_ms = ? WHERE id = ? RETURNING version, source',
);
const bumpVersion = statementOf<[number], NewVersion>(
  'UPDATE requests SET version = version + 1 WHERE id = ? RETURNING version, source',
);
const hasDelivery = statementOf<[number], unknown>('SELECT 1 FROM deliveries WHERE request_id = ? LIMIT 1');
const setDue = statementOf<[number, string, number, number], never>(
  `INSERT INTO deliveries (request_id, sink, due_version, due_at_ms) VALUES (?, ?, ?, ?)
   ON CONFLICT (request_id, sink) DO UPDATE SET due_version = excluded.due_version, due_at_ms = excluded.due_at_ms, tries = 0,
     given_up_at_ms = NULL`,
);
/** What a sink has confirmed is told again. */
const forgetConfirmed = statementOf<[number, string], never>(
  `UPDATE deliveries SET confirmed_events = json_object('replays', coalesce(confirmed_events ->> 'replays', 0) + 1)
   WHERE request_id = ? AND sink = ?`,
);

/** The result of a request has changed: every sink of its source gets it. Called inside the transaction of the change. */
export function resultChanged(outbox: Outbox, requestId: number, nowMs: number): void {
  const changed = touch(outbox.database).get(nowMs, requestId);
  if (changed !== undefined) makeDue(outbox, requestId, changed, nowMs);
}

/** Makes the same result due again, where there was one, at one sink or at all. Called inside a transaction. */
export function repeatResult(outbox: Outbox, requestId: number, nowMs: number, only?: string): void {
  if (hasDelivery(outbox.database).get(requestId) === undefined) return;
  const repeated = bumpVersion(outbox.database).get(requestId);
  if (repeated === undefined) return;
  for (const sink of makeDue(outbox, requestId, repeated, nowMs, only)) {
    forgetConfirmed(outbox.database).run(requestId, sink);
  }
}

/** Returns the sinks at which it is due now. */
function makeDue(
  { database, sinks }: Outbox,
  requestId: number,
  { version, source }: NewVersion,
  nowMs: number,
  only?: string,
): readonly string[] {
  // They stand in the same folder.
  if (only === undefined || only === folderSinkName) markCsvFilesDue(database, requestId, nowMs);
  const due = sinks.filter(
    ({ name, sources }) => (sources === null || sources.includes(source)) && (only === undefined || name === only),
  );
  for (const { name } of due) setDue(database).run(requestId, name, version, nowMs);
  return due.map(({ name }) => name);
}
