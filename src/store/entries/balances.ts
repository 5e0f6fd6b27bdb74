import type { Balance } from '../../core/operator/balance.ts';
import { statementOf, type Sqlite } from '../sqlite/database.ts';
import { lastMark } from '../sqlite/steady-time.ts';

/** Earlier charges are taken off already. A balance of a later time stays. */
export const putBalance = statementOf<Record<string, string | number>, never>(
  `REPLACE INTO balances SELECT :currency, :millionths, :nowMs, :steadyMs, :actor
   WHERE NOT EXISTS (SELECT 1 FROM balances WHERE currency = :currency AND at_steady > :steadyMs)`,
);

// Reservations may become charges. Fewer than five orders within an hour may be chance. A shop counts as at least six hours old.
const selectBalances = statementOf<{ now: number }, Balance>(
  `WITH spent AS (
     SELECT currency, millionths, at_steady AS at, at_steady AS since FROM charges INDEXED BY charges_by_time
     WHERE at_steady > min(:now - 864e5, (SELECT min(at_steady) FROM balances))
     UNION ALL SELECT currency, reserved, coalesce(first_sent_steady, due_steady), 9e15
     FROM entries INDEXED BY entries_reserved WHERE reserved IS NOT NULL),
   sums AS (
     SELECT b.currency, b.millionths - total(s.millionths) FILTER (WHERE since > at_steady) AS rest,
       total(s.millionths) FILTER (WHERE at > :now - 864e5) AS day,
       total(s.millionths) FILTER (WHERE at > :now - 36e5) AS hour, count(*) FILTER (WHERE at > :now - 36e5) AS orders
     FROM balances b LEFT JOIN spent s USING (currency) GROUP BY 1)
   SELECT currency, printf('%.2f', rest / 1e6) AS left, max(0, rest) / nullif(max(0, iif(orders < 5, 0, hour),
     day / min(24, max(6, (:now - (SELECT min(at_steady) FROM charges)) / 36e5))), 0) AS hoursLeft FROM sums`,
);

/** The only place that says what is left. @param now in steady ms */
export const readBalances = (database: Sqlite, now = lastMark(database).steadyMs) =>
  selectBalances(database).all({ now });
