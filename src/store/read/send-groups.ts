import { assert } from '../../core/order-sync-error.ts';
import { readLane, type Queue } from '../submission/lanes.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { readLaneCounts } from '../sqlite/entry-counts.ts';
import { isLanePaused, isSendPaused, type PausedScopes } from '../submission/pauses.ts';

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

// Unknown outcomes are few, and not all of them are to be sent.
const selectUnknown = statementOf<{ nowMs: number }, SendGroup>(
  `SELECT 'unknown' AS state, lane, count(*) AS count, count(*) FILTER (WHERE due_at_ms <= :nowMs) AS due, max(due_at_ms) AS lastDueMs
   FROM entries WHERE state = 'unknown' AND next_step = 'send' GROUP BY lane`,
);
// The state stands in the text: then SQLite uses the index of its entries, which answers alone.
const dueTimesOf = (state: Queue['state']) =>
  statementOf<{ lane: string; nowMs: number }, { later: number; lastDueMs: number }>(
    `SELECT (SELECT count(*) FROM entries INDEXED BY entries_${state}_lanes
               WHERE state = '${state}' AND lane = +:lane AND due_at_ms > :nowMs) AS later,
       (SELECT due_at_ms FROM entries INDEXED BY entries_${state}_lanes
          WHERE state = '${state}' AND lane = +:lane ORDER BY due_at_ms DESC LIMIT 1) AS lastDueMs`,
  );
const selectDueTimes = { pending: dueTimesOf('pending'), waiting: dueTimesOf('waiting') };

/** From the counts that are kept: the worker that asks must not wait for a scan of a large backlog. */
export function readSendCounts(database: Sqlite): readonly SendCount[] {
  return [...readQueueCounts(database), ...selectUnknown(database).all({ nowMs: 0 })];
}

/** Reads the entries that are due later, too. They are few: an entry of a backlog is due since it came in. */
export function readSendGroups(database: Sqlite, nowMs: number): readonly SendGroup[] {
  const queues = readQueueCounts(database).map((queue): SendGroup => {
    const times = selectDueTimes[queue.state](database).get({ lane: queue.lane, nowMs });
    assert(times !== undefined, 'an aggregate is always one row');
    return { ...queue, due: queue.count - times.later, lastDueMs: times.lastDueMs };
  });
  return [...queues, ...selectUnknown(database).all({ nowMs })];
}

const readQueueCounts = (database: Sqlite): readonly (SendCount & Queue)[] =>
  (['pending', 'waiting'] as const).flatMap((state) =>
    readLaneCounts(database, state).map((queue) => ({ ...queue, state })),
  );

/** An entry with an unknown outcome may have been bought already: it does not wait for a balance. */
export function isGroupPaused({ state, lane }: Omit<SendCount, 'count'>, paused: PausedScopes): boolean {
  return state === 'unknown' ? isSendPaused(readLane(lane), paused) : isLanePaused(readLane(lane), paused);
}

export const countOf = (groups: readonly SendCount[]): number => groups.reduce((sum, { count }) => sum + count, 0);
