import type { EntryState } from '../../core/entry/states.ts';
import { columnOf, type Sqlite } from '../sqlite/database.ts';

/** The sources of orders, found by going from one to the next: they are few, and no index knows an order id alone. */
export const everySource = `WITH RECURSIVE sources (source) AS (
  SELECT min(source) FROM requests
  UNION ALL SELECT (SELECT min(source) FROM requests WHERE source > sources.source) FROM sources WHERE source IS NOT NULL)`;

const selectSources = columnOf<[], string>(`${everySource} SELECT source FROM sources WHERE source IS NOT NULL`);

export function readSources(database: Sqlite): readonly string[] {
  return selectSources(database).all();
}

// How the indexes `entries_pending_age` and `entries_state_age` are used. The state stands in the text of a statement: for a
// parameter, SQLite cannot know which of them has its entries.

/** The table of entries `e`, read by the index of this state. */
export const entriesBy = (state: EntryState): string =>
  `entries e INDEXED BY ${state === 'pending' ? 'entries_pending_age' : 'entries_state_age'}`;

export const inState = (state: EntryState): string =>
  state === 'pending' ? "e.state = 'pending'" : `e.state = '${state}' AND e.state <> 'pending'`;

export const sourceOfLane = "substr(e.lane, 1, instr(e.lane, '|') - 1)";
