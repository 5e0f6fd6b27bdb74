import { readLane } from '../intake/lanes.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { isLanePaused, isSendPaused, type PausedScopes } from '../submission/paused-scopes.ts';

/** How many entries to send share a lane and a state. */
export interface SendCount {
  readonly state: 'pending' | 'waiting' | 'unknown';
  readonly lane: string;
  readonly count: number;
}

/** The same, with what a forecast needs. */
export interface SendGroup extends SendCount {
  readonly due: number;
  readonly lastDueMs: number;
}

// The index of the lanes answers alone: the worker that asks must not wait for a scan of a large backlog.
const groupsOf = (columns: string): string =>
  [
    ['pending', "entries e INDEXED BY entries_pending_lanes WHERE e.state = 'pending'"],
    ['waiting', "entries e INDEXED BY entries_waiting_lanes WHERE e.state = 'waiting'"],
    ['unknown', "entries e WHERE e.state = 'unknown' AND e.next_step = 'send'"],
  ]
    .map(
      ([state, rows]) => `SELECT '${state}' AS state, e.lane, count(*) AS count${columns} FROM ${rows} GROUP BY e.lane`,
    )
    .join(' UNION ALL ');

const selectGroups = statementOf<{ nowMs: number }, SendGroup>(
  groupsOf(', count(*) FILTER (WHERE e.due_at_ms <= :nowMs) AS due, max(e.due_at_ms) AS lastDueMs'),
);
const selectCounts = statementOf<[], SendCount>(groupsOf(''));

/** A fraction of the cost of `readSendGroups`. */
export function readSendCounts(database: Sqlite): readonly SendCount[] {
  return selectCounts(database).all();
}

export function readSendGroups(database: Sqlite, nowMs: number): readonly SendGroup[] {
  return selectGroups(database).all({ nowMs });
}

/** An entry with an unknown outcome may have been bought already: it does not wait for a balance. */
export function isGroupPaused({ state, lane }: Omit<SendCount, 'count'>, paused: PausedScopes): boolean {
  return state === 'unknown' ? isSendPaused(readLane(lane), paused) : isLanePaused(readLane(lane), paused);
}

export const countOf = (groups: readonly SendCount[]): number => groups.reduce((sum, { count }) => sum + count, 0);
