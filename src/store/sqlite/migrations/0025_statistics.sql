-- What happened in each hour, for charts and for what was spent. Kept by triggers, so that it is exact after a crash, whatever
-- statement made the change, and so that a chart costs its hours and not the entries. `hour` is hours since 1970 (UTC), by the
-- wall clock of the worker at the time.
--   received  orders that came in
--   settled   entries that reached a final state, by state
--   latency   fulfilled entries by the time from intake to settlement: key is ceil(4 * log2(ms / 100)), so a step is 19 %
--   calls     calls for entries, by purpose
--   bought    orders of which the cost became known, by currency; `spent`: what they cost, in millionths
--   refunded  what orders had cost that ended as refunded, by currency, in millionths
CREATE TABLE hourly_statistics (
  name TEXT NOT NULL CHECK (length(name) <= 16),
  hour INTEGER NOT NULL,
  key  TEXT NOT NULL CHECK (length(key) <= 64),
  n    INTEGER NOT NULL,
  PRIMARY KEY (name, hour, key)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER requests_are_counted AFTER INSERT ON requests
BEGIN
  INSERT INTO hourly_statistics (hour, name, key, n) VALUES (NEW.received_at_ms / 3600000, 'received', '', 1)
  ON CONFLICT (name, hour, key) DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER attempts_are_counted AFTER INSERT ON attempts
BEGIN
  INSERT INTO hourly_statistics (hour, name, key, n) VALUES (NEW.opened_at_ms / 3600000, 'calls', NEW.purpose, 1)
  ON CONFLICT (name, hour, key) DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER entries_are_counted AFTER UPDATE OF state ON entries
WHEN NEW.state <> OLD.state
  AND (NEW.state = 'fulfilled' OR NEW.state = 'refunded' OR NEW.state = 'rejected' OR NEW.state = 'expired' OR NEW.state = 'cancelled')
BEGIN
  INSERT INTO hourly_statistics (hour, name, key, n) VALUES (NEW.updated_at_ms / 3600000, 'settled', NEW.state, 1)
  ON CONFLICT (name, hour, key) DO UPDATE SET n = n + 1;
  INSERT INTO hourly_statistics (hour, name, key, n)
  SELECT NEW.updated_at_ms / 3600000, 'latency',
         CAST(max(0, ceil(4 * log2(max(1, NEW.updated_at_ms - NEW.created_at_ms) / 100.0))) AS INTEGER), 1
  WHERE NEW.state = 'fulfilled'
  ON CONFLICT (name, hour, key) DO UPDATE SET n = n + 1;
  INSERT INTO hourly_statistics (hour, name, key, n)
  SELECT NEW.updated_at_ms / 3600000, 'refunded', coalesce(NEW.charged_currency, NEW.currency, '-'),
         CAST(max(-1e15, min(1e15, round(CAST(NEW.cost AS REAL) * 1000000))) AS INTEGER)
  WHERE NEW.state = 'refunded' AND NEW.cost IS NOT NULL AND NEW.operation <> 'esim_cancel'
  ON CONFLICT (name, hour, key) DO UPDATE SET n = max(-9000000000000000000, min(9000000000000000000, n + excluded.n));
END;

-- A cancel spends nothing. What the API charged may become known, and change, more than once: the difference counts. An absurd
-- amount is cut to a billion, because a number that overflows would keep the call from being recorded.
CREATE TRIGGER costs_are_counted AFTER UPDATE OF cost ON entries
WHEN (NEW.cost IS NOT OLD.cost OR NEW.charged_currency IS NOT OLD.charged_currency) AND NEW.operation <> 'esim_cancel'
BEGIN
  INSERT INTO hourly_statistics (hour, name, key, n)
  SELECT NEW.updated_at_ms / 3600000, 'spent', coalesce(OLD.charged_currency, OLD.currency, '-'),
         -CAST(max(-1e15, min(1e15, round(CAST(OLD.cost AS REAL) * 1000000))) AS INTEGER)
  WHERE OLD.cost IS NOT NULL
  ON CONFLICT (name, hour, key) DO UPDATE SET n = max(-9000000000000000000, min(9000000000000000000, n + excluded.n));
  INSERT INTO hourly_statistics (hour, name, key, n)
  SELECT NEW.updated_at_ms / 3600000, 'spent', coalesce(NEW.charged_currency, NEW.currency, '-'),
         CAST(max(-1e15, min(1e15, round(CAST(NEW.cost AS REAL) * 1000000))) AS INTEGER)
  WHERE NEW.cost IS NOT NULL
  ON CONFLICT (name, hour, key) DO UPDATE SET n = max(-9000000000000000000, min(9000000000000000000, n + excluded.n));
  INSERT INTO hourly_statistics (hour, name, key, n)
  SELECT NEW.updated_at_ms / 3600000, 'bought', coalesce(NEW.charged_currency, NEW.currency, '-'), 1
  WHERE OLD.cost IS NULL AND NEW.cost IS NOT NULL
  ON CONFLICT (name, hour, key) DO UPDATE SET n = n + 1;
END;

-- What happened before. The time at which a cost became known was not stored: it is taken to be that of the settlement.
INSERT INTO hourly_statistics (hour, name, key, n)
SELECT received_at_ms / 3600000, 'received', '', count(*) FROM requests GROUP BY 1
UNION ALL
SELECT opened_at_ms / 3600000, 'calls', purpose, count(*) FROM attempts GROUP BY 1, 3
UNION ALL
SELECT settled_at_ms / 3600000, 'settled', state, count(*) FROM entries
  WHERE settled_at_ms IS NOT NULL AND state IN ('fulfilled', 'refunded', 'rejected', 'expired', 'cancelled') GROUP BY 1, 3
UNION ALL
SELECT settled_at_ms / 3600000, 'latency',
       CAST(max(0, ceil(4 * log2(max(1, settled_at_ms - created_at_ms) / 100.0))) AS INTEGER), count(*) FROM entries
  WHERE state = 'fulfilled' AND settled_at_ms IS NOT NULL GROUP BY 1, 3
UNION ALL
SELECT coalesce(settled_at_ms, updated_at_ms) / 3600000, 'bought', coalesce(charged_currency, currency, '-'), count(*) FROM entries
  WHERE cost IS NOT NULL AND operation <> 'esim_cancel' GROUP BY 1, 3
UNION ALL
SELECT coalesce(settled_at_ms, updated_at_ms) / 3600000, 'spent', coalesce(charged_currency, currency, '-'),
       CAST(max(-9e18, min(9e18, total(max(-1e15, min(1e15, round(CAST(cost AS REAL) * 1000000)))))) AS INTEGER) FROM entries
  WHERE cost IS NOT NULL AND operation <> 'esim_cancel' GROUP BY 1, 3
UNION ALL
SELECT settled_at_ms / 3600000, 'refunded', coalesce(charged_currency, currency, '-'),
       CAST(max(-9e18, min(9e18, total(max(-1e15, min(1e15, round(CAST(cost AS REAL) * 1000000)))))) AS INTEGER) FROM entries
  WHERE state = 'refunded' AND cost IS NOT NULL AND settled_at_ms IS NOT NULL AND operation <> 'esim_cancel' GROUP BY 1, 3;

-- Calls of the last minutes, and the log of calls. Calls are few: the API limits them.
CREATE INDEX attempts_by_time ON attempts (opened_at_ms, purpose);
CREATE INDEX attempts_by_outcome ON attempts (outcome) WHERE outcome IS NOT NULL;

-- The audit log is read by time, and by who did what to which subject.
DROP INDEX audit_by_subject;
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_actor ON audit (actor, at_ms);
CREATE INDEX audit_by_action ON audit (action, at_ms);
-- The last one: of indexes that seem equal, SQLite takes that one, and a subject has the fewest rows.
CREATE INDEX audit_by_subject ON audit (subject, at_ms);
