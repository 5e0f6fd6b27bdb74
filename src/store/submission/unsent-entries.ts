import { statementOf, type Sqlite } from '../sqlite/database.ts';
import type { EntryRow } from '../sqlite/rows.ts';

/**
 * The first entry of each lane, of which the oldest is taken. To go from lane to lane costs their number, not that of the
 * entries.
 */
const oldest = statementOf<{ upToEntry: number }, EntryRow>(`
  WITH RECURSIVE lanes (lane) AS (
    SELECT min(lane) FROM entries WHERE state = 'pending'
    UNION ALL
    SELECT (SELECT min(lane) FROM entries WHERE state = 'pending' AND lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL)
  SELECT e.* FROM lanes JOIN entries e ON e.id = (
    SELECT id FROM entries INDEXED BY entries_pending_lanes
    WHERE state = 'pending' AND lane = lanes.lane AND operation <> 'esim_cancel'
    ORDER BY due_at_ms, id LIMIT 1)
  WHERE e.id <= :upToEntry
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.entry_id = e.id)
  ORDER BY e.id LIMIT 1`);

/**
 * An entry that would be among the next to be sent, and for which no call was ever made; null if there is none. No order
 * has the reference of a cancel, so cancels are passed over.
 * @param upToEntry the id of the newest entry that is asked for
 */
export function readOldestUnsent(database: Sqlite, upToEntry: number): EntryRow | null {
  return oldest(database).get({ upToEntry }) ?? null;
}
