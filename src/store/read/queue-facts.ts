import type { EntryState } from '../../core/entry/states.ts';
import type { LaneFacts } from '../../core/budget/queue-forecast.ts';
import type { Sqlite } from '../sqlite/database.ts';
import type { PausedScopes } from '../submission/paused-scopes.ts';

/** A slot that is held, by the clock of the run of the machine that it was taken in. */
export interface HeldSlot {
  readonly keyName: string;
  readonly limitName: 'requests' | 'orders';
  readonly bootId: string | null;
  /** Null while its call is open. */
  readonly settledMono: number | null;
}

/** What the server asked of a key with a 429, by the clock of the run of the machine that it was asked in. */
export interface StoredBackOff {
  readonly keyName: string;
  readonly bootId: string | null;
  readonly stampedMono: number;
  readonly blockedUntilMono: number;
  readonly throttledUntilMono: number;
  readonly rateLimitedAtMs: number;
}

/** What decides when things are sent, as the outbox knows it. */
export interface QueueFacts {
  readonly slots: readonly HeldSlot[];
  readonly rests: readonly StoredBackOff[];
  /** Lanes with entries that may be sent now; those of a stopped scope are left out. */
  readonly lanes: readonly LaneFacts[];
  readonly outcomeUnknown: number;
  /** Entries in doubt that are due to be sent again: they come first. */
  readonly unknownOutcomeSends: number;
  /** Everything that is to be sent, now or later; how much of it stands still; when the last of the rest is due. */
  readonly toSend: { readonly count: number; readonly standing: number; readonly lastDueMs: number | null };
  readonly openCalls: number;
  /** Room on the disk of the outbox. */
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
  /** Refused, and others took its place: their references. */
  readonly replacedBy: readonly string[];
  /** An earlier entry of the same eSIM that must come to rest first. */
  readonly blockedBy: string | null;
}

const notStopped = `e.operation NOT IN (SELECT value FROM json_each(:operations))
  AND (e.currency IS NULL OR e.currency NOT IN (SELECT value FROM json_each(:currencies)))`;

/** An order that names no other balance waits for its own; one in doubt may be bought already, and does not. */
const balanceIsThere = `(e.state = 'unknown'
  OR substr(e.lane, instr(e.lane, '|') + 1) NOT IN (SELECT value FROM json_each(:emptyBalances)))`;

const listsOf = (still: PausedScopes) => ({
  operations: JSON.stringify(still.operations),
  currencies: JSON.stringify(still.currencies),
});

export function readQueueFacts(database: Sqlite, nowMs: number, still: PausedScopes, freeBytes: number): QueueFacts {
  const lists = listsOf(still);
  const emptyBalances = JSON.stringify(still.emptyBalances);
  const rests = database
    .prepare<[], StoredBackOff>(
      `SELECT key_name AS keyName, boot_id AS bootId, stamped_mono AS stampedMono, blocked_until_mono AS blockedUntilMono,
         throttled_until_mono AS throttledUntilMono, rate_limited_at_ms AS rateLimitedAtMs
       FROM wholesale_keys WHERE stamped_mono IS NOT NULL ORDER BY key_name`,
    )
    .all();
  const openCalls = database
    .prepare<[], number>('SELECT count(*) FROM attempts WHERE closed_at_ms IS NULL')
    .pluck()
    .get();
  const slots = database
    .prepare<[], HeldSlot>(
      'SELECT key_name AS keyName, limit_name AS limitName, boot_id AS bootId, settled_mono AS settledMono FROM budget_slots',
    )
    .all();
  const lanes = database
    .prepare<Record<string, unknown>, { state: string; lane: string; due: number }>(
      `SELECT e.state, e.lane, count(*) AS due FROM entries e WHERE e.state IN ('pending', 'waiting') AND e.due_at_ms <= :nowMs
       AND ${notStopped} AND ${balanceIsThere} GROUP BY e.state, e.lane`,
    )
    .all({ nowMs, emptyBalances, ...lists });
  const doubt = database
    .prepare<Record<string, unknown>, { outcomeUnknown: number; unknownOutcomeSends: number }>(
      `SELECT (SELECT count(*) FROM entries WHERE state = 'unknown')
            + (SELECT count(*) FROM entries WHERE state = 'sending' AND outcome_unknown = 1) AS outcomeUnknown,
         (SELECT count(*) FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'send' AND e.due_at_ms <= :nowMs
            AND ${notStopped}) AS unknownOutcomeSends`,
    )
    .get({ nowMs, ...lists });
  const toSend = database
    .prepare<Record<string, unknown>, QueueFacts['toSend']>(
      `SELECT count(*) AS count, count(*) FILTER (WHERE NOT moving) AS standing,
         max(due_at_ms) FILTER (WHERE moving) AS lastDueMs
       FROM (SELECT e.due_at_ms, (${notStopped} AND ${balanceIsThere}) AS moving FROM entries e
             WHERE e.state IN ('pending', 'waiting') OR (e.state = 'unknown' AND e.next_step = 'send'))`,
    )
    .get({ emptyBalances, ...lists });
  return {
    slots,
    rests,
    lanes: lanes.map(({ state, lane, due }) => ({ source: sourceOf(lane), name: `${state} ${lane}`, due })),
    outcomeUnknown: doubt?.outcomeUnknown ?? 0,
    unknownOutcomeSends: doubt?.unknownOutcomeSends ?? 0,
    toSend: toSend ?? { count: 0, standing: 0, lastDueMs: null },
    openCalls: openCalls ?? 0,
    freeBytes,
  };
}

/** Null for a reference that is not known. */
export function readQueuedEntry(database: Sqlite, reference: string, still: PausedScopes): QueuedEntry | null {
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
         AND e.next_step = :nextStep AND (e.due_at_ms < :dueAtMs OR (e.due_at_ms = :dueAtMs AND e.id < :id)) AND ${notStopped}`,
    )
    .pluck()
    .get({
      state: entry.state,
      lane: entry.lane,
      nextStep: entry.nextStep,
      dueAtMs: entry.dueAtMs,
      id,
      ...listsOf(still),
    });
  const others: unknown = JSON.parse(replacedBy ?? '[]');
  return { ...entry, before: before ?? 0, replacedBy: Array.isArray(others) ? others.map(String) : [] };
}

function sourceOf(lane: string): string {
  return lane.slice(0, lane.indexOf('|'));
}
