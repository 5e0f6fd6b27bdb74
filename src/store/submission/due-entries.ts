import type { Sqlite } from '../sqlite/database.ts';
import { Turns, type Queue } from '../intake/lanes.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import type { PausedScopes } from './paused-scopes.ts';
import type { AttemptClaim } from './submission.ts';

/**
 * An eSIM is spent on by one call at a time, in the order in which the calls were asked for: while an earlier entry
 * of the same ICCID is open, a later one waits. A person may hold the earlier one, and let it go on while the later one
 * is being sent: then it is the earlier one that waits.
 */
const iccidIsFree = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.id <> e.id AND (o.id < e.id OR o.state = 'sending')
    AND o.iccid IS NOT NULL AND o.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed')))`;
/** The same for an entry in doubt, which is open already: the later ones wait for it. */
const iccidIsIdle = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.iccid IS NOT NULL AND o.state = 'sending'))`;
const mayStart = `(e.not_after_ms IS NULL OR e.not_after_ms > :nowMs)`;
const notOpen = 'NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = e.id AND a.closed_at_ms IS NULL)';

/** What a person stopped, as lists. Where nothing is stopped, a query without them takes half the time. */
const notStopped = `e.operation NOT IN (SELECT value FROM json_each(:operations))
  AND (e.currency IS NULL OR e.currency NOT IN (SELECT value FROM json_each(:currencies)))`;

interface SendParameters {
  nowMs: number;
  /** JSON lists; not there where nothing is stopped. */
  operations?: string;
  currencies?: string;
}

interface FarParameters {
  nowMs: number;
  furthestMs: number;
}

interface QueueParameters extends SendParameters {
  lane: string;
}

/** The lanes that have entries of a state, found by jumping from one to the next: their number costs, not the backlog. */
const lanesOf = (state: Queue['state']): string => `
  WITH RECURSIVE found (lane) AS (
    SELECT min(lane) FROM entries WHERE state = '${state}'
    UNION ALL
    SELECT (SELECT min(lane) FROM entries WHERE state = '${state}' AND lane > found.lane) FROM found WHERE found.lane IS NOT NULL)
  SELECT lane FROM found WHERE lane IS NOT NULL`;

const headOf = (state: Queue['state'], allowed: string): string => `
  SELECT e.* FROM entries e INDEXED BY entries_${state}_lanes
  WHERE e.state = '${state}' AND e.lane = +:lane AND e.due_at_ms <= :nowMs AND ${mayStart} AND ${allowed}
    AND ${iccidIsFree}
  ORDER BY e.due_at_ms, e.id LIMIT 1`;

/** The queries of what may be sent; `allowed` says what may. */
function sendStatements(database: Sqlite, allowed: string) {
  return {
    doubtful: database.prepare<SendParameters, EntryRow>(
      `SELECT e.* FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'send' AND e.due_at_ms <= :nowMs
       AND ${allowed} AND ${iccidIsIdle} ORDER BY e.due_at_ms, e.id LIMIT 1`,
    ),
    waiting: database.prepare<QueueParameters, EntryRow>(headOf('waiting', allowed)),
    pending: database.prepare<QueueParameters, EntryRow>(headOf('pending', allowed)),
  };
}

/** What is due, in the order in which it is taken: what is in doubt first, then the shops in turn. */
export class DueEntries {
  readonly #statements;
  readonly #turns = new Turns();
  /** What was found at this count of changed rows; asked several times between two of them. */
  #nextAt: { changes: number; found: Map<AttemptClaim['step'], number | null> } | null = null;

  constructor(database: Sqlite) {
    this.#statements = {
      all: sendStatements(database, 'true'),
      notStopped: sendStatements(database, notStopped),
      waitingLanes: database.prepare<[], string>(lanesOf('waiting')).pluck(),
      pendingLanes: database.prepare<[], string>(lanesOf('pending')).pluck(),
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
             UNION ALL SELECT (SELECT min(due_at_ms) FROM entries e WHERE e.state = 'pending' AND e.lane = pending.lane)
             FROM (${lanesOf('pending')}) pending)`,
        )
        .pluck(),
      nextLookup: database
        .prepare<[], number | null>(
          `SELECT min(at) FROM (
             SELECT (SELECT min(e.due_at_ms) FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'lookup' AND ${notOpen}) AS at
             UNION ALL SELECT (SELECT min(e.due_at_ms) FROM entries e WHERE e.state = 'placed' AND ${notOpen}))`,
        )
        .pluck(),
      // Counts on also where a transaction is rolled back.
      changes: database.prepare<[], number>('SELECT total_changes()').pluck(),
      farLane: database.prepare<FarParameters & { lane: string }>(
        `UPDATE entries INDEXED BY entries_pending_lanes SET due_at_ms = :nowMs
         WHERE state = 'pending' AND lane = +:lane AND due_at_ms > :furthestMs`,
      ),
      far: (['waiting', 'unknown', 'placed'] as const).map((state) =>
        // The state stands in the text, so that the index of its rows is used.
        database.prepare<FarParameters>(
          `UPDATE entries SET due_at_ms = :nowMs WHERE state = '${state}' AND due_at_ms > :furthestMs`,
        ),
      ),
      overdue: database.prepare<[number], EntryRow>(
        `SELECT * FROM entries WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL AND not_after_ms <= ? LIMIT 500`,
      ),
      outcomeUnknown: database
        .prepare<[], number>(
          `SELECT (SELECT count(*) FROM entries WHERE state = 'unknown')
                + (SELECT count(*) FROM entries WHERE state = 'sending' AND outcome_unknown = 1)`,
        )
        .pluck(),
    };
  }

  toSend(claim: AttemptClaim, still: Pick<PausedScopes, 'operations' | 'currencies'>): EntryRow | undefined {
    const nothing = still.operations.length === 0 && still.currencies.length === 0;
    const statements = nothing ? this.#statements.all : this.#statements.notStopped;
    const stopped = nothing
      ? {}
      : { operations: JSON.stringify(still.operations), currencies: JSON.stringify(still.currencies) };
    const doubtful = statements.doubtful.get({ nowMs: claim.nowMs, ...stopped });
    if (doubtful !== undefined || !claim.allowNew) return doubtful;
    for (const queue of this.#turns.order(this.#queues(), claim.pausedCurrencies)) {
      const row = statements[queue.state].get({ nowMs: claim.nowMs, lane: queue.lane, ...stopped });
      if (row === undefined) continue;
      this.#turns.served(queue);
      return row;
    }
    return undefined;
  }

  #queues(): readonly Queue[] {
    const waiting = this.#statements.waitingLanes.all().map((lane): Queue => ({ state: 'waiting', lane }));
    const pending = this.#statements.pendingLanes.all().map((lane): Queue => ({ state: 'pending', lane }));
    return [...waiting, ...pending];
  }

  toLookUp(nowMs: number): EntryRow | undefined {
    return this.#statements.lookUpDoubtful.get({ nowMs }) ?? this.#statements.lookUpPlaced.get({ nowMs });
  }

  nextAt(step: 'send' | 'lookup'): number | null {
    const changes = this.#statements.changes.get() ?? 0;
    if (this.#nextAt?.changes !== changes) this.#nextAt = { changes, found: new Map() };
    const { found } = this.#nextAt;
    const known = found.get(step);
    if (known !== undefined) return known;
    const { nextSend, nextLookup } = this.#statements;
    const at = (step === 'send' ? nextSend : nextLookup).get() ?? null;
    found.set(step, at);
    return at;
  }

  /** Makes due now what is due later than `furthestMs`. Returns how many; called inside a transaction. */
  bringForward(at: { nowMs: number; furthestMs: number }): number {
    const lanes = this.#statements.pendingLanes.all();
    const pending = lanes.map((lane) => this.#statements.farLane.run({ ...at, lane }).changes);
    const others = this.#statements.far.map((statement) => statement.run(at).changes);
    return [...pending, ...others].reduce((total, changes) => total + changes, 0);
  }

  countUnknownOutcomes(): number {
    return this.#statements.outcomeUnknown.get() ?? 0;
  }

  /** Entries whose deadline passed while nothing was charged for them; a few at a time. */
  overdue(nowMs: number): readonly EntryRow[] {
    return this.#statements.overdue.all(nowMs);
  }
}
