import SqliteDatabase from 'better-sqlite3';

/** Twenty orders a minute are charged, the limit of a key (Spec 8). */
const chargedInDay = 20 * 60 * 24;
const dayMs = 86_400_000;

/**
 * Settles the older part of the entries (ids up to `last`), and brings some hundred of the others
 * into open states; most stay pending. The rows are those that the worker would have written, which
 * would take it hours. What a day can have is charged within the last day, and two days of steady
 * time pass.
 */
export function settleOlder(path: string, last: number, nowMs: number): void {
  const database = new SqliteDatabase(path);
  const settle = (first: number, end: number): void => {
    for (const sql of settlingSteps) database.prepare(sql).run({ first, last: end, nowMs });
  };
  const pass = (ms: number) =>
    database.prepare('UPDATE steady_time SET steady_ms = steady_ms + ?').run(ms);
  try {
    // The bench needs no promise of this database, and would wait for the disk.
    database.pragma('synchronous = OFF');
    database.transaction(() => {
      const before = Math.max(last / 2, last - chargedInDay);
      settle(0, before);
      pass(1.5 * dayMs);
      settle(before, last);
      pass(0.5 * dayMs);
      database.prepare(openStates).run({ last, nowMs });
    })();
    database.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
}

const settled = 'settled_at_ms = :nowMs, updated_at_ms = :nowMs';
/** Each takes all parameters. */
const settlingSteps: readonly string[] = [
  `UPDATE entries SET state = 'fulfilled', attempts = 1, first_sent_steady = :nowMs, outcome_row = 'accepted', cost = '5.00',
     charged_currency = 'USD', status = 'completed', order_number = 'N' || id, key_name = 'main', request_method = 'POST',
     request_path = '/orders', request_body = coalesce(request_body, json_object('reference', reference, 'variant', variant, 'quantity', 1)),
     units = json_array(json_object('code', printf('CODE-%08d-%04d', id, id % 10000))), unit_count = 1, ${settled}
   WHERE id > :first AND id <= :last AND id % 50 <> 0`,
  `UPDATE entries SET state = CASE id / 50 % 4 WHEN 0 THEN 'refunded' WHEN 1 THEN 'cancelled' WHEN 2 THEN 'rejected' ELSE 'expired' END,
     error_code = 'out_of_stock', error_message = 'no stock', acknowledged_at_ms = CASE WHEN id % 2000 = 0 THEN NULL ELSE :nowMs END, ${settled}
   WHERE id > :first AND id <= :last AND id % 50 = 0`,
  `INSERT OR IGNORE INTO attempts (entry_id, number, purpose, key_name, opened_at_ms, closed_at_ms, sent, outcome, http_status, duration_ms)
   SELECT id, 1, 'submit', 'main', :nowMs, :nowMs, 1, 'accepted', 200, 100 FROM entries
   WHERE id > :first AND id <= :last AND state = 'fulfilled'`,
  `INSERT OR IGNORE INTO unit_marks (mark, entry_id, ending) SELECT printf('%022d', id), id, printf('%04d', id % 10000) FROM entries
   WHERE id > :first AND id <= :last AND state = 'fulfilled' AND :nowMs > 0`,
  `INSERT OR IGNORE INTO deliveries (request_id, sink, due_version, done_version, due_steady, done_at_ms)
   SELECT DISTINCT l.request_id, 'folder', 2, 2, :nowMs, :nowMs FROM entries e JOIN lines l ON l.id = e.line_id
   WHERE e.id > :first AND e.id <= :last`,
];
const openStates = `UPDATE entries SET state = CASE id % 4 WHEN 0 THEN 'waiting' WHEN 1 THEN 'placed' WHEN 2 THEN 'held' ELSE 'needs_review' END,
     attempts = 1, first_sent_steady = :nowMs, held_from = 'pending', review_reason = 'held for the bench', updated_at_ms = :nowMs,
     due_steady = :nowMs + 3600000
   WHERE id > :last AND id % 499 = 0`;
