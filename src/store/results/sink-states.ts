import { longestText, type Sqlite } from '../sqlite/database.ts';
import type { ResultSink } from '../sqlite/outbox.ts';
import type { NewSinkPause, SinkPauseRow } from './results.ts';

/** Later than any time that is ever due. */
export const never = 9_000_000_000_000_000;

/** Which sinks are paused, and which are not configured any more. Every method is called inside a transaction. */
export class SinkStates {
  readonly #statements;

  constructor(database: Sqlite) {
    this.#statements = {
      retire: database.prepare(
        `UPDATE deliveries SET last_error = 'this sink is not configured any more', given_up_at_ms = :nowMs,
           acknowledged_at_ms = NULL, due_at_ms = ${never}
         WHERE done_version < due_version AND given_up_at_ms IS NULL AND NOT EXISTS (
           SELECT 1 FROM json_each(:sinks) s WHERE s.value ->> 'name' = deliveries.sink AND (s.value ->> 'sources' IS NULL
             OR (SELECT source FROM requests r WHERE r.id = deliveries.request_id) IN (SELECT value FROM json_each(s.value, '$.sources'))))`,
      ),
      endPauses: database.prepare(
        `DELETE FROM sink_pauses WHERE sink NOT IN (SELECT value ->> 'name' FROM json_each(:sinks))
           AND sink NOT LIKE 'alert:%'`,
      ),
      pause: database.prepare(
        `INSERT INTO sink_pauses (sink, reason, message, since_ms, probe_at_ms, probes)
         VALUES (:sink, :reason, :message, :nowMs, :probeAtMs, :probes)
         ON CONFLICT (sink) DO UPDATE SET reason = excluded.reason, message = excluded.message,
           probe_at_ms = excluded.probe_at_ms, probes = excluded.probes`,
      ),
      resume: database.prepare('DELETE FROM sink_pauses WHERE sink = ?'),
      dueAgain: database.prepare(
        `UPDATE deliveries SET due_at_ms = :nowMs
         WHERE done_version < due_version AND sink = :sink AND due_at_ms > :nowMs AND due_at_ms < ${never}`,
      ),
      pauseOf: database.prepare<[string], SinkPauseRow>(
        'SELECT reason, since_ms AS sinceMs, probe_at_ms AS probeAtMs, probes FROM sink_pauses WHERE sink = ?',
      ),
    };
  }

  /** Gives up what is due at other sinks, or for sources that a sink has no more. Returns how many. */
  retireOthers(configured: readonly ResultSink[], nowMs: number): number {
    const sinks = JSON.stringify(configured);
    this.#statements.endPauses.run({ sinks });
    return this.#statements.retire.run({ sinks, nowMs }).changes;
  }

  pauseOf(sink: string): SinkPauseRow | null {
    return this.#statements.pauseOf.get(sink) ?? null;
  }

  pause(pause: NewSinkPause): void {
    const reason = pause.reason.slice(0, longestText);
    const message = pause.message.slice(0, longestText);
    this.#statements.pause.run({ ...pause, reason, message });
  }

  resume({ sink, nowMs, wasOutage }: { sink: string; nowMs: number; wasOutage: boolean }): void {
    this.#statements.resume.run(sink);
    if (wasOutage) this.#statements.dueAgain.run({ sink, nowMs });
  }
}
