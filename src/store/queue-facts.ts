import type { EntryState } from '../core/entry-state.ts';
import type { LaneFacts } from '../core/queue-forecast.ts';
import type { Sqlite } from './database.ts';
import type { StandingStill } from './pauses.ts';

/** A slot that is held, by the clock of the run of the machine that it was taken in. */
export interface HeldSlot {
  readonly keyName: string;
  readonly limitName: 'requests' | 'orders';
  readonly bootId: string | null;
  /** Null while its call is open. */
  readonly settledMono: number | null;
}

/** What decides when things are sent, as the outbox knows it. */
export interface QueueFacts {
  readonly slots: readonly HeldSlot[];
  /** Lanes with entries that may be sent now; those of a stopped scope are left out. */
  readonly lanes: readonly LaneFacts[];
  readonly inDoubt: number;
  /** Entries in doubt that are due to be sent again: they come first. */
  readonly doubtfulSends: number;
  /** Everything that will be sent, now or later, and when the last of it is due. */
  readonly toSend: { readonly count: number; readonly lastDueMs: number | null };
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
  /** An earlier entry of the same eSIM that must come to rest first. */
  readonly blockedBy: string | null;
}

const notStopped = `e.operation NOT IN (SELECT value FROM json_each(:operations))
  AND (e.currency IS NULL OR e.currency NOT IN (SELECT value FROM json_each(:currencies)))`;

const listsOf = (still: StandingStill): { operations: string; currencies: string } => ({
  operations: JSON.stringify(still.operations),
  currencies: JSON.stringify(still.currencies),
});

export function readQueueFacts(database: Sqlite, nowMs: number, still: StandingStill): QueueFacts {
  const lists = listsOf(still);
  const slots = database
    .prepare<[], HeldSlot>(
      'SELECT key_name AS keyName, limit_name AS limitName, boot_id AS bootId, settled_mono AS settledMono FROM budget_slots',
    )
    .all();
  const lanes = database
    .prepare<Record<string, unknown>, { state: string; lane: string; due: number }>(
      `SELECT e.state, e.lane, count(*) AS due FROM entries e WHERE e.state IN ('pending', 'waiting') AND e.due_at_ms <= :nowMs
       AND ${notStopped} GROUP BY e.state, e.lane`,
    )
    .all({ nowMs, ...lists });
  const doubt = database
    .prepare<Record<string, unknown>, { inDoubt: number; doubtfulSends: number }>(
      `SELECT (SELECT count(*) FROM entries WHERE state = 'unknown')
            + (SELECT count(*) FROM entries WHERE state = 'sending' AND in_doubt = 1) AS inDoubt,
         (SELECT count(*) FROM entries e WHERE e.state = 'unknown' AND e.next_step = 'send' AND e.due_at_ms <= :nowMs
            AND ${notStopped}) AS doubtfulSends`,
    )
    .get({ nowMs, ...lists });
  const toSend = database
    .prepare<Record<string, unknown>, { count: number; lastDueMs: number | null }>(
      `SELECT count(*) AS count, max(e.due_at_ms) AS lastDueMs FROM entries e
       WHERE (e.state IN ('pending', 'waiting') OR (e.state = 'unknown' AND e.next_step = 'send')) AND ${notStopped}`,
    )
    .get(lists);
  return {
    slots,
    lanes: lanes.map(({ state, lane, due }) => ({ source: sourceOf(lane), name: `${state} ${lane}`, due })),
    inDoubt: doubt?.inDoubt ?? 0,
    doubtfulSends: doubt?.doubtfulSends ?? 0,
    toSend: toSend ?? { count: 0, lastDueMs: null },
  };
}

/** Null for a reference that is not known. */
export function readQueuedEntry(database: Sqlite, reference: string, still: StandingStill): QueuedEntry | null {
  const row = database
    .prepare<[string], QueuedEntry & { id: number }>(
      `SELECT e.id, e.reference, r.source, e.state, e.next_step AS nextStep, e.operation, e.currency, e.lane,
         e.due_at_ms AS dueAtMs, e.not_after_ms AS notAfterMs, e.review_reason AS reviewReason, 0 AS before,
         (SELECT o.reference FROM entries o WHERE o.iccid = e.iccid AND o.id < e.id AND o.iccid IS NOT NULL
            AND o.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed') ORDER BY o.id LIMIT 1) AS blockedBy
       FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id WHERE e.reference = ?`,
    )
    .get(reference);
  if (row === undefined) return null;
  const { id, ...entry } = row;
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
  return { ...entry, before: before ?? 0 };
}

function sourceOf(lane: string): string {
  return lane.slice(0, lane.indexOf('|'));
}
