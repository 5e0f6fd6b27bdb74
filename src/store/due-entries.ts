import type { Sqlite } from './database.ts';
import type { EntryRow } from './rows.ts';
import type { AttemptClaim } from './store.ts';

/**
 * An eSIM is spent on by one call at a time, in the order in which the calls were asked for: while an earlier entry
 * of the same ICCID is open, a later one waits.
 */
const iccidIsFree = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.id < e.id
    AND o.iccid IS NOT NULL AND o.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed')))`;
const mayStart = `(e.not_after_ms IS NULL OR e.not_after_ms > :nowMs)
  AND (e.currency IS NULL OR e.currency NOT IN (SELECT value FROM json_each(:paused)))`;
const notOpen = 'NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = e.id AND a.closed_at_ms IS NULL)';

interface SendParameters {
  nowMs: number;
  paused: string;
}

/** What is due, in the order in which it is taken: what is in doubt first, then what waits, then what is new. */
export class DueEntries {
  readonly #statements;
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
    this.#statements = {
      doubtful: database.prepare<{ nowMs: number }, EntryRow>(
        `SELECT e.* FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'send' AND e.due_at_ms <= :nowMs
         ORDER BY e.due_at_ms, e.id LIMIT 1`,
      ),
      waiting: database.prepare<SendParameters, EntryRow>(
        `SELECT e.* FROM entries e INDEXED BY entries_waiting WHERE e.state = 'waiting' AND e.due_at_ms <= :nowMs
         AND ${mayStart} AND ${iccidIsFree} ORDER BY e.due_at_ms, e.id LIMIT 1`,
      ),
      pending: database.prepare<SendParameters, EntryRow>(
        `SELECT e.* FROM entries e INDEXED BY entries_pending WHERE e.state = 'pending' AND e.due_at_ms <= :nowMs
         AND ${mayStart} AND ${iccidIsFree} ORDER BY e.due_at_ms, e.id LIMIT 1`,
      ),
      lookUpDoubtful: database.prepare<{ nowMs: number }, EntryRow>(
        `SELECT e.* FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'lookup' AND e.due_at_ms <= :nowMs
         AND ${notOpen} ORDER BY e.due_at_ms, e.id LIMIT 1`,
      ),
      lookUpPlaced: database.prepare<{ nowMs: number }, EntryRow>(
        `SELECT e.* FROM entries e WHERE e.state = 'placed' AND e.due_at_ms <= :nowMs AND ${notOpen}
         ORDER BY e.due_at_ms, e.id LIMIT 1`,
      ),
      nextSend: database
        .prepare<[], number | null>(
          `SELECT min(at) FROM (
             SELECT (SELECT min(due_at_ms) FROM entries WHERE state = 'unknown' AND next_step = 'send') AS at
             UNION ALL SELECT (SELECT min(due_at_ms) FROM entries WHERE state = 'waiting')
             UNION ALL SELECT (SELECT min(due_at_ms) FROM entries WHERE state = 'pending'))`,
        )
        .pluck(),
      nextLookup: database
        .prepare<[], number | null>(
          `SELECT min(at) FROM (
             SELECT (SELECT min(e.due_at_ms) FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'lookup' AND ${notOpen}) AS at
             UNION ALL SELECT (SELECT min(e.due_at_ms) FROM entries e WHERE e.state = 'placed' AND ${notOpen}))`,
        )
        .pluck(),
      inDoubt: database
        .prepare<[], number>(
          `SELECT (SELECT count(*) FROM entries WHERE state = 'unknown')
                + (SELECT count(*) FROM entries WHERE state = 'sending' AND in_doubt = 1)`,
        )
        .pluck(),
    };
  }

  toSend(claim: AttemptClaim): EntryRow | undefined {
    const doubtful = this.#statements.doubtful.get({ nowMs: claim.nowMs });
    if (doubtful !== undefined || !claim.allowNew) return doubtful;
    const parameters = { nowMs: claim.nowMs, paused: JSON.stringify(claim.pausedCurrencies) };
    return this.#statements.waiting.get(parameters) ?? this.#statements.pending.get(parameters);
  }

  toLookUp(nowMs: number): EntryRow | undefined {
    return this.#statements.lookUpDoubtful.get({ nowMs }) ?? this.#statements.lookUpPlaced.get({ nowMs });
  }

  nextAt(step: 'send' | 'lookup'): number | null {
    return (step === 'send' ? this.#statements.nextSend.get() : this.#statements.nextLookup.get()) ?? null;
  }

  countInDoubt(): number {
    return this.#statements.inDoubt.get() ?? 0;
  }

  /** Entries whose deadline passed while nothing was charged for them; a few at a time. */
  overdue(nowMs: number): readonly EntryRow[] {
    return this.#database
      .prepare<[number], EntryRow>(
        `SELECT * FROM entries WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL AND not_after_ms <= ? LIMIT 500`,
      )
      .all(nowMs);
  }
}
