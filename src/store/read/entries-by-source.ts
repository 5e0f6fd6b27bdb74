import { zeroCounts, type EntryState } from '../../core/entry/states.ts';
import { neverMs } from '../results/due-results.ts';
import { columnOf, type Sqlite } from '../sqlite/database.ts';
import { selectStateCounts } from '../sqlite/entry-counts.ts';

/**
 * The sources of orders, found by going from one to the next: they are few, and no index knows an
 * order id alone.
 */
export const everySource = `WITH RECURSIVE sources (source) AS (
  SELECT min(source) FROM requests
  UNION ALL SELECT (SELECT min(source) FROM requests WHERE source > sources.source) FROM sources WHERE source IS NOT NULL)`;

export const selectSources = columnOf<[], string>(
  `${everySource} SELECT source FROM sources WHERE source IS NOT NULL`,
);

/** The shops whose orders came in, in order of their names. */
export const readSources = (database: Sqlite): readonly string[] => selectSources(database).all();

// How the indexes `entries_pending_age` and `entries_state_age` are used. The state stands in the
// text of a statement: for a parameter, SQLite cannot know which of them has its entries.

/** The table of entries `e`, read by the index of this state. */
export const entriesBy = (state: EntryState): string =>
  `entries e INDEXED BY ${state === 'pending' ? 'entries_pending_age' : 'entries_state_age'}`;

export const inState = (state: EntryState): string =>
  state === 'pending' ? "e.state = 'pending'" : `e.state = '${state}' AND e.state <> 'pending'`;

export const sourceOfLane = "substr(e.lane, 1, instr(e.lane, '|') - 1)";

const openStates: readonly EntryState[] = ['pending', 'sending', 'waiting', 'unknown', 'placed'];

/** A delivery that was given up is due neverMs. */
const countDueDeliveries = columnOf<[], number>(
  `SELECT count(*) FROM deliveries WHERE done_version < due_version AND due_steady < ${neverMs}`,
);
const selectOldest = openStates.map((state) =>
  columnOf<[string], number>(
    `SELECT e.created_at_ms FROM ${entriesBy(state)} WHERE ${inState(state)} AND ${sourceOfLane} = ?
     ORDER BY e.created_at_ms LIMIT 1`,
  ),
);

export function readCounts(database: Sqlite): Readonly<Record<EntryState, number>> {
  const counts = zeroCounts();
  for (const { state, count } of selectStateCounts(database).all()) counts[state] += count;
  return counts;
}

/** The entries of each state and shop; those without one are left out. */
export const readCountsBySource = (database: Sqlite) => selectStateCounts(database).all();

/** The open work of the worker. */
export function readBacklog(database: Sqlite) {
  const counts = readCounts(database);
  const oldest = selectSources(database)
    .all()
    .flatMap((source) => selectOldest.flatMap((select) => select(database).get(source) ?? []));
  return {
    open: openStates.reduce((sum, state) => sum + counts[state], 0),
    /** When the oldest of them came in; null: there is none. */
    oldestOpenAtMs: oldest.length === 0 ? null : Math.min(...oldest),
    dueDeliveries: countDueDeliveries(database).get() ?? 0,
  };
}
