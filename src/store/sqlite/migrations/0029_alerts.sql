-- What was posted to each alert endpoint, so that a restart neither repeats nor loses an alert.
CREATE TABLE alerts_told (
  endpoint  TEXT NOT NULL,
  condition TEXT NOT NULL,
  count     INTEGER NOT NULL,
  -- The time of its newest row: a row that takes the place of another one is new, although the count is the same.
  newest_ms INTEGER NOT NULL,
  PRIMARY KEY (endpoint, condition)
) STRICT, WITHOUT ROWID;

-- Until when an endpoint gets no other alert.
CREATE TABLE alert_endpoints (
  endpoint    TEXT PRIMARY KEY,
  next_at_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
