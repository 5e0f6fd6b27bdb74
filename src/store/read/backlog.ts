import { zeroCounts, type EntryState } from '../../core/entry/states.ts';
import { neverMs } from '../results/due-results.ts';
import { columnOf, type Sqlite } from '../sqlite/database.ts';
import { readStateCounts } from '../sqlite/entry-counts.ts';
import { entriesBy, inState, readSources, sourceOfLane } from './entries-by-source.ts';

const openStates: readonly EntryState[] = ['pending', 'sending', 'waiting', 'unknown', 'placed'];

/** A delivery that was given up is due neverMs. */
const countDueDeliveries = columnOf<[], number>(
  `SELECT count(*) FROM deliveries WHERE done_version < due_version AND due_at_ms < ${neverMs}`,
);
const selectOldest = openStates.map((state) =>
  columnOf<[string], number>(
    `SELECT e.created_at_ms FROM ${entriesBy(state)} WHERE ${inState(state)} AND ${sourceOfLane} = ?
     ORDER BY e.created_at_ms LIMIT 1`,
  ),
);

export function readCounts(database: Sqlite): Readonly<Record<EntryState, number>> {
  const counts = zeroCounts();
  for (const { state, count } of readStateCounts(database)) counts[state] = count;
  return counts;
}

/** The open work of the worker. */
export function readBacklog(database: Sqlite) {
  const counts = readCounts(database);
  const oldest = readSources(database).flatMap((source) =>
    selectOldest.flatMap((select) => select(database).get(source) ?? []),
  );
  return {
    open: openStates.reduce((sum, state) => sum + counts[state], 0),
    /** When the oldest of them came in; null: there is none. */
    oldestOpenMs: oldest.length === 0 ? null : Math.min(...oldest),
    dueDeliveries: countDueDeliveries(database).get() ?? 0,
  };
}
