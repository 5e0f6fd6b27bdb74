import type { LaneFacts } from '../../core/budget/calls-ahead.ts';
import type { EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { sourceOfLane } from '../intake/lanes.ts';
import type { Sqlite } from '../sqlite/database.ts';
import { isNotPaused, pausedLists, type PausedScopes } from '../submission/paused-scopes.ts';

/** What decides when entries are sent, as far as the outbox knows it. */
export interface QueueFacts {
  /** Lanes with entries that may be sent now; those of a paused scope are left out. */
  readonly lanes: readonly LaneFacts[];
  /** Everything that is to be sent, now or later. */
  readonly toSend: {
    readonly count: number;
    /** How many of them belong to a paused scope. */
    readonly paused: number;
    /** When the last of the others is due. */
    readonly lastDueMs: number | null;
  };
  readonly outcomeUnknown: number;
  /** Entries with an unknown outcome that are due to be sent again: they come first. */
  readonly unknownOutcomeSends: number;
  readonly callsInFlight: number;
  /** When the API last answered 429, by the name of the key. */
  readonly rateLimitedAtMs: Readonly<Record<string, number>>;
  /** Free space on the disk of the outbox. */
  readonly freeBytes: number;
}

export interface QueuedEntry {
  readonly reference: string;
  readonly source: string;
  readonly state: EntryState;
  readonly nextStep: 'send' | 'lookup';
  readonly operation: string;
  readonly currency: string | null;
  readonly lane: string;
  readonly dueAtMs: number;
  readonly notAfterMs: number | null;
  readonly reviewReason: string | null;
  /** How many of its own lane come before it. */
  readonly before: number;
  /** The references of the entries that replace it. */
  readonly replacedBy: readonly string[];
  /** An earlier entry for the same eSIM that must be settled first. */
  readonly blockedBy: string | null;
}

/** An order that names no fallback balance waits for its own, unless it may have been bought already. */
const hasBalance = `(e.state = 'unknown'
  OR substr(e.lane, instr(e.lane, '|') + 1) NOT IN (SELECT value FROM json_each(:emptyBalances)))`;

export function readQueueFacts(database: Sqlite, nowMs: number, paused: PausedScopes, freeBytes: number): QueueFacts {
  const lists = pausedLists(paused);
  const emptyBalances = JSON.stringify(paused.emptyBalances);
  const rateLimited = database
    .prepare<[], { keyName: string; atMs: number }>(
      'SELECT key_name AS keyName, rate_limited_at_ms AS atMs FROM wholesale_keys WHERE rate_limited_at_ms IS NOT NULL',
    )
    .all();
  const lanes = database
    .prepare<Record<string, unknown>, { state: string; lane: string; due: number }>(
      `SELECT e.state, e.lane, count(*) AS due FROM entries e WHERE e.state IN ('pending', 'waiting') AND e.due_at_ms <= :nowMs
       AND ${isNotPaused} AND ${hasBalance} GROUP BY e.state, e.lane`,
    )
    .all({ nowMs, emptyBalances, ...lists });
  const counts = database
    .prepare<Record<string, unknown>, Pick<QueueFacts, 'callsInFlight' | 'outcomeUnknown' | 'unknownOutcomeSends'>>(
      `SELECT (SELECT count(*) FROM attempts WHERE closed_at_ms IS NULL) AS callsInFlight,
         (SELECT count(*) FROM entries WHERE state = 'unknown')
            + (SELECT count(*) FROM entries WHERE state = 'sending' AND outcome_unknown = 1) AS outcomeUnknown,
         (SELECT count(*) FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'send' AND e.due_at_ms <= :nowMs
            AND ${isNotPaused}) AS unknownOutcomeSends`,
    )
    .get({ nowMs, ...lists });
  const toSend = database
    .prepare<Record<string, unknown>, QueueFacts['toSend']>(
      `SELECT count(*) AS count, count(*) FILTER (WHERE NOT allowed) AS paused,
         max(due_at_ms) FILTER (WHERE allowed) AS lastDueMs
       FROM (SELECT e.due_at_ms, (${isNotPaused} AND ${hasBalance}) AS allowed FROM entries e
             WHERE e.state IN ('pending', 'waiting') OR (e.state = 'unknown' AND e.next_step = 'send'))`,
    )
    .get({ emptyBalances, ...lists });
  assert(counts !== undefined && toSend !== undefined, 'a count is always one row');
  return {
    lanes: lanes.map(({ state, lane, due }) => ({ source: sourceOfLane(lane), name: `${state} ${lane}`, due })),
    toSend,
    ...counts,
    rateLimitedAtMs: Object.fromEntries(rateLimited.map(({ keyName, atMs }) => [keyName, atMs])),
    freeBytes,
  };
}

/** Null for a reference that is not known. */
export function readQueuedEntry(database: Sqlite, reference: string, paused: PausedScopes): QueuedEntry | null {
  const row = database
    .prepare<[string], Omit<QueuedEntry, 'replacedBy'> & { id: number; replacedBy: string | null }>(
      `SELECT e.id, e.reference, r.source, e.state, e.next_step AS nextStep, e.operation, e.currency, e.lane,
         e.due_at_ms AS dueAtMs, e.not_after_ms AS notAfterMs, e.review_reason AS reviewReason, 0 AS before,
         CASE WHEN e.replaced = 1 THEN (SELECT json_group_array(n.reference) FROM entries n WHERE n.line_id = e.line_id
            AND n.generation > e.generation) END AS replacedBy,
         (SELECT o.reference FROM entries o WHERE o.iccid = e.iccid AND o.id < e.id AND o.iccid IS NOT NULL
            AND o.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed') ORDER BY o.id LIMIT 1) AS blockedBy
       FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id WHERE e.reference = ?`,
    )
    .get(reference);
  if (row === undefined) return null;
  const { id, replacedBy, ...entry } = row;
  const before = database
    .prepare<Record<string, unknown>, number>(
      `SELECT count(*) FROM entries e WHERE e.state = :state AND (e.state NOT IN ('pending', 'waiting') OR e.lane = :lane)
         AND e.next_step = :nextStep AND (e.due_at_ms < :dueAtMs OR (e.due_at_ms = :dueAtMs AND e.id < :id)) AND ${isNotPaused}`,
    )
    .pluck()
    .get({
      state: entry.state,
      lane: entry.lane,
      nextStep: entry.nextStep,
      dueAtMs: entry.dueAtMs,
      id,
      ...pausedLists(paused),
    });
  const others: unknown = JSON.parse(replacedBy ?? '[]');
  return { ...entry, before: before ?? 0, replacedBy: Array.isArray(others) ? others.map(String) : [] };
}
