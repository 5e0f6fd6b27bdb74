import type { Family } from '../../core/order/operation.ts';
import { operationsOf } from '../../core/decision/pause-scope.ts';
import { consecutiveRejections, verdictRows, type RecentVerdict } from '../../core/decision/consecutive-rejections.ts';
import { outcomeRowFrom } from '../../core/decision/outcome.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';

/** How many of the newest attempts are read: the attempts of the other family must not make this a long search. */
const attemptsLookedAt = 1000;

const selectVerdicts = statementOf<
  { operations: string; rows: string },
  { entryId: number; row: string; atMs: number }
>(
  `SELECT a.entry_id AS entryId, a.outcome AS row, a.closed_at_ms AS atMs
   FROM attempts a JOIN entries e ON e.id = a.entry_id
   WHERE a.id > (SELECT max(id) FROM attempts) - ${attemptsLookedAt} AND a.purpose = 'submit'
     AND a.outcome IN (SELECT value FROM json_each(:rows))
     AND e.operation IN (SELECT value FROM json_each(:operations))
   ORDER BY a.id DESC LIMIT ${consecutiveRejections.entries}`,
);

/** The newest calls of a family that the API judged on their own merits, newest first. */
export function readRecentVerdicts(database: Sqlite, family: Family): readonly RecentVerdict[] {
  const parameters = { operations: JSON.stringify(operationsOf(family)), rows: JSON.stringify(verdictRows) };
  return selectVerdicts(database)
    .all(parameters)
    .flatMap(({ entryId, row, atMs }) => {
      const known = outcomeRowFrom(row);
      return known === null ? [] : [{ entryId, row: known, atMs }];
    });
}
