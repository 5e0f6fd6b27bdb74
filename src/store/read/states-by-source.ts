import type { EntryState } from '../../core/entry/states.ts';
import { everySource } from '../search/find-orders.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

const selectSources = statementOf<[], string>(`${everySource} SELECT source FROM sources WHERE source IS NOT NULL`);

/** The sources that have orders. They are few. */
export function readSources(database: Sqlite): readonly string[] {
  return selectSources(database).pluck().all();
}

// How the indexes `entries_pending_age` and `entries_state_age` are used. The state stands in the text of a statement: for a
// parameter, SQLite cannot know which of them has its entries.

/** The table of entries `e`, read by the index of this state. */
export const entriesBy = (state: EntryState): string =>
  `entries e INDEXED BY ${state === 'pending' ? 'entries_pending_age' : 'entries_state_age'}`;

export const inState = (state: EntryState): string =>
  state === 'pending' ? "e.state = 'pending'" : `e.state = '${state}' AND e.state <> 'pending'`;

export const sourceOfLane = "substr(e.lane, 1, instr(e.lane, '|') - 1)";

const oldestOf = (state: EntryState) =>
  statementOf<[string], { at: number }>(
    `SELECT e.created_at_ms AS at FROM ${entriesBy(state)} WHERE ${inState(state)} AND ${sourceOfLane} = ?
     ORDER BY e.created_at_ms LIMIT 1`,
  );
const selectOldest = (['pending', 'sending', 'waiting', 'unknown', 'placed'] as const).map(oldestOf);

/** When the oldest entry for which the worker has something to do came in; null when there is none. */
export function readOldestOpen(database: Sqlite): number | null {
  const times = readSources(database).flatMap((source) =>
    selectOldest.map((oldest) => oldest(database).get(source)?.at),
  );
  const found = times.filter((at) => at !== undefined);
  return found.length === 0 ? null : Math.min(...found);
}
