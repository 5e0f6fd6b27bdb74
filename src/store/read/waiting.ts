import { entryStates, isFinal } from '../../core/entry/states.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import {
  entriesBy,
  inState,
  readCounts,
  selectSources,
  sourceOfLane,
} from './entries-by-source.ts';
import type { readHourStatistics } from './statistics.ts';

const hourMs = 3_600_000;

/** By the indexes of their ages: the cost is what came in during the time, not the outbox. */
const countNewer = entryStates.map((state) =>
  statementOf<[string, number], { readonly hour: number; readonly count: number }>(
    `SELECT e.created_at_ms / ${hourMs} AS hour, count(*) AS count FROM ${entriesBy(state)}
     WHERE ${inState(state)} AND ${sourceOfLane} = ? AND e.created_at_ms >= ? GROUP BY 1`,
  ),
);

/**
 * How many entries were not settled yet at the end of each of these hours, the last of which is the
 * present one: counted backwards from now by what came in and what ended.
 */
export function readWaiting(
  database: Sqlite,
  hours: ReturnType<typeof readHourStatistics>,
): readonly number[] {
  const [first] = hours;
  if (first === undefined) return [];
  const came = selectSources(database)
    .all()
    .flatMap((source) =>
      countNewer.flatMap((count) => count(database).all(source, Date.parse(first.hour))),
    );
  const counts = readCounts(database);
  let open = entryStates.reduce((sum, it) => sum + (isFinal(it) ? 0 : counts[it]), 0);
  const backwards = hours.toReversed().map(({ hour, settled }) => {
    const atEnd = open;
    for (const it of came) if (it.hour * hourMs === Date.parse(hour)) open -= it.count;
    open += settled.fulfilled + settled.rejected + settled.expired + settled.cancelled;
    return Math.max(0, atEnd);
  });
  return backwards.toReversed();
}
