import { Turns, type Queue } from '../intake/lanes.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';
import { isNotPaused, pausedLists, type PausedScopes } from './paused-scopes.ts';
import type { AttemptClaim } from './submission.ts';

/**
 * An eSIM is spent on by one call at a time, in the order in which the entries came: while an earlier entry of the same
 * ICCID is open, a later one waits. Where a person held the earlier one, and released it while the later one was being
 * sent, the earlier one waits.
 */
const iccidIsFree = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.id <> e.id AND (o.id < e.id OR o.state = 'sending')
    AND o.iccid IS NOT NULL AND o.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed')))`;
/** The same for an entry of unknown outcome, which is open already: the later ones wait for it. */
const iccidIsIdle = `(e.iccid IS NULL OR NOT EXISTS (
  SELECT 1 FROM entries o WHERE o.iccid = e.iccid AND o.iccid IS NOT NULL AND o.state = 'sending'))`;
const mayStart = `(e.not_after_ms IS NULL OR e.not_after_ms > :nowMs)`;
const hasNoOpenCall = 'NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = e.id AND a.closed_at_ms IS NULL)';

interface SendParameters {
  nowMs: number;
  /** JSON lists; absent where nothing is paused. */
  operations?: string;
  currencies?: string;
}

interface FarParameters {
  nowMs: number;
  furthestMs: number;
}

/** The lanes that have entries of a state, found by going from one to the next: the cost is their number, not the backlog. */
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

/** The queries for entries to send; `allowed` is a condition on them. */
function sendStatements(database: Sqlite, allowed: string) {
  return {
    unknown: database.prepare<SendParameters, EntryRow>(
      `SELECT e.* FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'send' AND e.due_at_ms <= :nowMs
       AND ${allowed} AND ${iccidIsIdle} ORDER BY e.due_at_ms, e.id LIMIT 1`,
    ),
    waiting: database.prepare<SendParameters & { lane: string }, EntryRow>(headOf('waiting', allowed)),
    pending: database.prepare<SendParameters & { lane: string }, EntryRow>(headOf('pending', allowed)),
  };
}

/** The due entries, in the order in which they are claimed: unknown outcomes first, then the shops in turn. */
export class DueEntries {
  readonly #statements;
  readonly #turns = new Turns();
  /** What `nextAt` found at this count of changed rows. It is asked several times between two changes. */
  #nextAt: { changes: number; found: Map<AttemptClaim['step'], number | null> } | null = null;

  constructor(database: Sqlite) {
    this.#statements = {
      // Where nothing is paused, the query without the lists is twice as fast.
      send: sendStatements(database, 'true'),
      sendUnpaused: sendStatements(database, isNotPaused),
      waitingLanes: database.prepare<[], string>(lanesOf('waiting')).pluck(),
      pendingLanes: database.prepare<[], string>(lanesOf('pending')).pluck(),
      lookUpUnknown: database.prepare<{ nowMs: number }, EntryRow>(
        `SELECT e.* FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'lookup' AND e.due_at_ms <= :nowMs
         AND ${hasNoOpenCall} ORDER BY e.due_at_ms, e.id LIMIT 1`,
      ),
      lookUpPlaced: database.prepare<{ nowMs: number }, EntryRow>(
        `SELECT e.* FROM entries e WHERE e.state = 'placed' AND e.due_at_ms <= :nowMs AND ${hasNoOpenCall}
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
             SELECT (SELECT min(e.due_at_ms) FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'lookup' AND ${hasNoOpenCall}) AS at
             UNION ALL SELECT (SELECT min(e.due_at_ms) FROM entries e WHERE e.state = 'placed' AND ${hasNoOpenCall}))`,
        )
        .pluck(),
      // Keeps rising when a transaction is rolled back.
      changes: database.prepare<[], number>('SELECT total_changes()').pluck(),
      bringLaneForward: database.prepare<FarParameters & { lane: string }>(
        `UPDATE entries INDEXED BY entries_pending_lanes SET due_at_ms = :nowMs
         WHERE state = 'pending' AND lane = +:lane AND due_at_ms > :furthestMs`,
      ),
      bringForward: (['waiting', 'unknown', 'placed'] as const).map((state) =>
        // The state is part of the text, so that SQLite uses the index of its rows.
        database.prepare<FarParameters>(
          `UPDATE entries SET due_at_ms = :nowMs WHERE state = '${state}' AND due_at_ms > :furthestMs`,
        ),
      ),
      overdue: database.prepare<[number], EntryRow>(
        `SELECT * FROM entries WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL AND not_after_ms <= ? LIMIT 500`,
      ),
      countUnknown: database
        .prepare<[], number>(
          `SELECT (SELECT count(*) FROM entries WHERE state = 'unknown')
                + (SELECT count(*) FROM entries WHERE state = 'sending' AND outcome_unknown = 1)`,
        )
        .pluck(),
    };
  }

  toSend(claim: AttemptClaim, paused: Pick<PausedScopes, 'operations' | 'currencies'>): EntryRow | null {
    const isNothingPaused = paused.operations.length === 0 && paused.currencies.length === 0;
    const statements = isNothingPaused ? this.#statements.send : this.#statements.sendUnpaused;
    const parameters = { nowMs: claim.nowMs, ...(isNothingPaused ? {} : pausedLists(paused)) };
    const unknown = statements.unknown.get(parameters);
    if (unknown !== undefined) return unknown;
    if (!claim.allowNew) return null;
    for (const queue of this.#turns.order(this.#queues(), claim.pausedCurrencies)) {
      const row = statements[queue.state].get({ ...parameters, lane: queue.lane });
      if (row === undefined) continue;
      this.#turns.served(queue);
      return row;
    }
    return null;
  }

  #queues(): readonly Queue[] {
    const waiting = this.#statements.waitingLanes.all().map((lane): Queue => ({ state: 'waiting', lane }));
    const pending = this.#statements.pendingLanes.all().map((lane): Queue => ({ state: 'pending', lane }));
    return [...waiting, ...pending];
  }

  toLookUp(nowMs: number): EntryRow | null {
    const { lookUpUnknown, lookUpPlaced } = this.#statements;
    return lookUpUnknown.get({ nowMs }) ?? lookUpPlaced.get({ nowMs }) ?? null;
  }

  nextAt(step: AttemptClaim['step']): number | null {
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

  /** Makes entries due now that are due later than `furthestMs`. Returns how many; called inside a transaction. */
  bringForward(at: { nowMs: number; furthestMs: number }): number {
    const lanes = this.#statements.pendingLanes.all();
    const pending = lanes.map((lane) => this.#statements.bringLaneForward.run({ ...at, lane }).changes);
    const others = this.#statements.bringForward.map((statement) => statement.run(at).changes);
    return [...pending, ...others].reduce((total, changes) => total + changes, 0);
  }

  countUnknownOutcomes(): number {
    return this.#statements.countUnknown.get() ?? 0;
  }

  /** Entries whose deadline passed while nothing was charged for them, some at a time. */
  overdue(nowMs: number): readonly EntryRow[] {
    return this.#statements.overdue.all(nowMs);
  }
}
