import { statementOf, type Sqlite } from '../sqlite/database.ts';

const isNeeded = statementOf<{ requestId: number; beforeMs: number }, number>(
  `SELECT 1 WHERE EXISTS (
     SELECT 1 FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = :requestId
       AND (e.state NOT IN ('fulfilled', 'refunded', 'rejected', 'expired', 'cancelled')
         OR (e.units_missing > 0 AND e.acknowledged_at_ms IS NULL)))
   OR NOT EXISTS (SELECT 1 FROM deliveries WHERE request_id = :requestId)
   OR EXISTS (SELECT 1 FROM deliveries WHERE request_id = :requestId
       AND (done_version < due_version OR done_at_ms IS NULL OR done_at_ms >= :beforeMs))
   OR EXISTS (SELECT 1 FROM csv_files c WHERE c.given_up_at_ms IS NULL AND (c.done_version < c.due_version OR c.done_at_ms >= :beforeMs)
       AND (c.file_id IN (SELECT file_id FROM lines WHERE request_id = :requestId AND file_id IS NOT NULL)
         OR c.id IN (SELECT p.csv_file_id FROM csv_repeats p JOIN lines l ON l.id = p.line_id WHERE l.request_id = :requestId)))`,
);

/** Whether something of an order is open, or was not delivered everywhere before a time: a later result must be complete. */
export function isResultNeeded(database: Sqlite, requestId: number, beforeMs: number): boolean {
  return isNeeded(database).get({ requestId, beforeMs }) !== undefined;
}
