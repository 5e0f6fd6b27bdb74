import type { AwaitedRecheck } from '../../core/operator/queue-explanation.ts';
import type { EntryState } from '../../core/entry/states.ts';
import { assert } from '../../core/order-sync-error.ts';
import { readLane } from '../entries/lanes.ts';
import { awaitedKeyOf } from '../entries/sender-keys.ts';
import { columnOf, statementOf, type Sqlite } from '../sqlite/database.ts';
import { wallOf } from '../sqlite/steady-time.ts';
import { isoOf } from '../sqlite/rows.ts';
import { readPauses } from '../entries/pauses.ts';
import { countOf, holdUp, pauseEffects, readSendCounts } from './pause-effects.ts';

const selectCounts = statementOf<[], { callsInFlight: number; outcomeUnknown: number }>(
  `SELECT (SELECT count(*) FROM attempts WHERE closed_at_ms IS NULL) AS callsInFlight,
     (SELECT count(*) FROM entries WHERE state = 'unknown' AND outcome_unknown = 1)
        + (SELECT count(*) FROM entries WHERE state = 'sending' AND outcome_unknown = 1) AS outcomeUnknown`,
);
const selectRateLimited = statementOf<[], { keyName: string; atMs: number }>(
  'SELECT key_name AS keyName, rate_limited_at_ms AS atMs FROM wholesale_keys WHERE rate_limited_at_ms IS NOT NULL',
);

export type QueueFacts = Readonly<ReturnType<typeof readQueueFacts>>;

/**
 * The facts that decide when entries are sent, as far as the outbox knows them.
 * @param freeBytes on the disk of the outbox
 */
export function readQueueFacts(database: Sqlite, freeBytes: number) {
  const groups = readSendCounts(database);
  const pauses = readPauses(database);
  const isPaused = holdUp(pauses);
  const allowed = groups.filter((group) => !isPaused(group));
  const {
    pending = [],
    waiting = [],
    unknown = [],
  } = Object.groupBy(allowed, ({ state }) => state);
  const counts = selectCounts(database).get();
  assert(counts !== undefined, 'a count is always one row');
  const rateLimited = selectRateLimited(database).all();
  return {
    pauses: pauses.length === 0 ? [] : pauseEffects(database, pauses, groups),
    /** Lanes with pending entries; those of a paused scope are left out. */
    lanes: pending.map(({ lane, count }) => ({ source: readLane(lane).source, lane, count })),
    /**
     * Everything that is to be sent: how many belong to a paused scope, and how many of the others
     * wait for their time.
     */
    toSend: {
      count: countOf(groups),
      paused: countOf(groups) - countOf(allowed),
      waiting: countOf(waiting),
    },
    /** Entries with an unknown outcome that are to be sent again: they come first. */
    unknownOutcomeSends: countOf(unknown),
    ...counts,
    /** When the API last answered 429, by the name of the key. */
    rateLimitedAtMs: Object.fromEntries(rateLimited.map(({ keyName, atMs }) => [keyName, atMs])),
    freeBytes,
  };
}

/** States in which the worker does something for the entry at its due time. */
export const dueStates: readonly EntryState[] = ['pending', 'waiting', 'unknown', 'placed'];

/** `replacedBy` and `awaitsRecheck` are JSON. */
interface QueuedRow {
  readonly id: number;
  readonly reference: string;
  readonly source: string;
  readonly state: EntryState;
  readonly nextStep: 'send' | 'lookup';
  readonly lane: string;
  /** Entries of the same product whose outcome is unknown. */
  readonly unknownOfProduct: number;
  readonly dueSteady: number;
  readonly dueAtMs: number;
  readonly notAfterMs: number | null;
  readonly reviewReason: string | null;
  readonly replacedBy: string;
  /** An earlier entry for the same eSIM that must be settled first. */
  readonly blockedBy: string | null;
  readonly awaitsRecheck: string | null;
}

const selectQueued = statementOf<[string], QueuedRow>(
  `SELECT e.id, e.reference, r.source, e.state, e.next_step AS nextStep, e.lane,
     e.due_steady AS dueSteady, ${wallOf('e.due_steady')} AS dueAtMs, e.not_after_ms AS notAfterMs, e.review_reason AS reviewReason,
     (SELECT count(*) FROM entries u WHERE u.state = 'unknown' AND u.outcome_unknown = 1 AND u.variant IS e.variant AND u.plan IS e.plan
        AND coalesce(u.variant, u.plan) IS NOT NULL) AS unknownOfProduct,
     (SELECT json_group_array(n.reference) FROM entries n WHERE e.replaced = 1 AND n.line_id = e.line_id
        AND n.replaced = 0) AS replacedBy,
     (SELECT o.reference FROM entries o WHERE o.iccid = e.iccid AND o.id < e.id AND o.iccid IS NOT NULL
        AND o.state IN ('pending', 'sending', 'waiting', 'unknown', 'placed') ORDER BY o.id LIMIT 1) AS blockedBy,
     CASE WHEN w.recheck_since_ms IS NOT NULL THEN
       json_object('since', ${isoOf('w.recheck_since_ms')}, 'problem', w.recheck_problem) END AS awaitsRecheck
   FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
   LEFT JOIN storefront_orders w ON w.source = r.source AND w.order_id = r.order_id AND w.recheck_since_ms IS NOT NULL
     AND e.due_before_recheck_steady IS NOT NULL AND e.state IN ('pending', 'waiting') WHERE e.reference = ?`,
);

export type QueuedEntry = NonNullable<ReturnType<typeof readQueuedEntry>>;

/** The place of one entry in its queue; null for a reference that is not known. */
export function readQueuedEntry(database: Sqlite, reference: string) {
  const row = selectQueued(database).get(reference);
  if (row === undefined) return null;
  const { id: _id, ...entry } = row;
  // How many of its own lane come before one that is due at some time; 0 for any other.
  const before = selectBefore.get(row.state)?.(database).get(row) ?? 0;
  const replacedBy: readonly string[] = JSON.parse(row.replacedBy);
  const awaitsRecheck: AwaitedRecheck | null = JSON.parse(row.awaitsRecheck ?? 'null');
  const waitsForKey = awaitedKeyOf(database, reference);
  return { ...entry, before, replacedBy, awaitsRecheck, waitsForKey };
}

// The state stands in the text: then SQLite can use the index of its entries. Each lane is a queue;
// other entries are looked up in the order of all of them.
const selectBefore = new Map(
  dueStates.map((state) => {
    const ofQueue =
      state === 'pending' || state === 'waiting' ? 'e.lane = :lane' : 'e.next_step = :nextStep';
    const sql = `SELECT count(*) FROM entries e WHERE e.state = '${state}' AND ${ofQueue} AND (e.due_steady, e.id) < (:dueSteady, :id)`;
    return [state, columnOf<QueuedRow, number>(sql)];
  }),
);
