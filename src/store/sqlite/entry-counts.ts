import type { EntryState } from '../../core/entry/states.ts';
import { statementOf, type Sqlite } from './database.ts';

/**
 * So many new entries are counted at once. A reader of the counts adds those that are newer, at most
 * twice as many.
 */
const newEntriesAtOnce = 1000;

const notCounted = "id > (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'counted_up_to')";
const addNew = statementOf<[], never>(
  `INSERT INTO entry_counts (state, lane, entries)
   SELECT state, lane, count(*) FROM entries WHERE ${notCounted} GROUP BY state, lane
   ON CONFLICT (state, lane) DO UPDATE SET entries = entries + excluded.entries`,
);
const moveOn = statementOf<[], never>(
  "UPDATE meta SET value = coalesce((SELECT max(id) FROM entries), 0) WHERE name = 'counted_up_to'",
);

export function countNewEntries(database: Sqlite): void {
  addNew(database).run();
  moveOn(database).run();
}

/** An entry was inserted: from time to time, the newest are counted. */
export function countNewEntry(database: Sqlite, entryId: number): void {
  if (entryId % newEntriesAtOnce === 0) countNewEntries(database);
}

// The newest are found by their ids. With an index of a state, SQLite would read all entries of
// that state.
const countsWhere = (where: string): string =>
  `SELECT state, lane, entries FROM entry_counts WHERE entries <> 0 AND ${where}
   UNION ALL SELECT state, lane, count(*) FROM entries NOT INDEXED WHERE ${notCounted} AND ${where} GROUP BY state, lane`;
/**
 * By shop: a lane begins with it. A shop without an entry is left out. The cost is the number of lanes, not
 * of entries.
 */
export const selectStateCounts = statementOf<
  [],
  { state: EntryState; source: string; count: number }
>(
  `SELECT state, substr(lane, 1, instr(lane, '|') - 1) AS source, sum(entries) AS count FROM (${countsWhere('true')})
   GROUP BY 1, 2 HAVING sum(entries) <> 0`,
);
/** The counts of a state; lanes without an entry are left out. */
export const selectLaneCounts = statementOf<{ state: EntryState }, { lane: string; count: number }>(
  `SELECT lane, sum(entries) AS count FROM (${countsWhere('state = :state')}) GROUP BY lane`,
);
const wrong = statementOf<[], { state: string; lane: string; kept: number; found: number }>(
  `SELECT state, lane, sum(kept) AS kept, sum(found) AS found FROM (
     SELECT state, lane, entries AS kept, 0 AS found FROM (${countsWhere('true')})
     UNION ALL SELECT state, lane, 0, count(*) FROM entries GROUP BY state, lane)
   GROUP BY state, lane HAVING sum(kept) <> sum(found) LIMIT 20`,
);

/** The counts that differ from what is found by reading every entry, as sentences. */
export function wrongCounts(database: Sqlite): readonly string[] {
  return wrong(database)
    .all()
    .map(
      ({ state, lane, kept, found }) =>
        `lane ${lane} has ${found} entries in state ${state}, but ${kept} are counted`,
    );
}
