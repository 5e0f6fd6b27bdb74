-- The last answers of the API, so that a person can compare them with the mapping. Values have only their form (letters as A,
-- digits as 9), except those of an order that are no code: see `maskedAnswer`.
CREATE TABLE kept_answers (
  id          INTEGER PRIMARY KEY,
  kind        TEXT NOT NULL CHECK (kind = 'submit' OR kind = 'lookup' OR kind = 'products'),
  is_error    INTEGER NOT NULL CHECK (is_error = 0 OR is_error = 1),
  -- The call that it answered; null for a catalogue.
  attempt_id  INTEGER REFERENCES attempts (id),
  http_status INTEGER NOT NULL,
  body        TEXT NOT NULL CHECK (length(body) <= 32768),
  kept_at_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX kept_answers_by_kind ON kept_answers (kind, is_error, id);
CREATE INDEX kept_answers_by_attempt ON kept_answers (attempt_id) WHERE attempt_id IS NOT NULL;
CREATE INDEX kept_answers_by_age ON kept_answers (kept_at_ms);
