-- Times that end in _ms are wall time in ms since 1970 (UTC); times that end in _mono are ms of the machine's
-- monotonic clock and mean something only together with the boot_id beside them.

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each run of the worker: an attempt that another run left open is found by it.
CREATE TABLE incarnations (
  id            INTEGER PRIMARY KEY,
  boot_id       TEXT,
  version       TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  stopped_at_ms INTEGER
) STRICT;

CREATE TABLE files (
  id             TEXT PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 64),
  name           TEXT NOT NULL CHECK (length(name) <= 1024),
  sha256         TEXT,
  size_bytes     INTEGER,
  state          TEXT NOT NULL CHECK (state IN ('claimed', 'ingesting', 'ingested', 'archived', 'rejected')),
  -- Counted and committed before parsing: a file that kills the worker is set aside instead of killing it for ever.
  starts         INTEGER NOT NULL DEFAULT 0,
  accepted_count INTEGER NOT NULL DEFAULT 0,
  known_count    INTEGER NOT NULL DEFAULT 0,
  conflict_count INTEGER NOT NULL DEFAULT 0,
  rejected_count INTEGER NOT NULL DEFAULT 0,
  error_code     TEXT,
  error_message  TEXT,
  claimed_at_ms  INTEGER NOT NULL,
  finished_at_ms INTEGER
) STRICT;
CREATE INDEX files_by_hash ON files (sha256);

CREATE TABLE requests (
  id             INTEGER PRIMARY KEY,
  source         TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  order_id       TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  metadata       TEXT NOT NULL,
  received_at_ms INTEGER NOT NULL,
  -- Rises with every change that a result document shows; a delivery is done for a version.
  version        INTEGER NOT NULL DEFAULT 1,
  updated_at_ms  INTEGER NOT NULL,
  UNIQUE (source, order_id)
) STRICT;

-- The identity of a line is (source, order_id, line_id), for ever: it outlives every payload.
CREATE TABLE lines (
  id             INTEGER PRIMARY KEY,
  request_id     INTEGER NOT NULL REFERENCES requests (id),
  line_id        TEXT NOT NULL CHECK (length(line_id) BETWEEN 1 AND 64),
  operation      TEXT NOT NULL CHECK (operation IN ('gift_card_order', 'esim_order', 'esim_topup', 'esim_cancel')),
  variant        TEXT,
  plan           TEXT,
  iccid          TEXT,
  quantity       INTEGER,
  days           INTEGER,
  currency       TEXT,
  not_after_ms   INTEGER,
  extra          TEXT NOT NULL,
  fingerprint    TEXT NOT NULL,
  file_id        TEXT REFERENCES files (id),
  received_at_ms INTEGER NOT NULL,
  UNIQUE (request_id, line_id)
) STRICT;

-- One row, one reference (or one cancel). Every write is a conditional UPDATE whose row count is asserted.
CREATE TABLE entries (
  id              INTEGER PRIMARY KEY,
  reference       TEXT NOT NULL UNIQUE CHECK (length(reference) BETWEEN 8 AND 36),
  line_id         INTEGER NOT NULL REFERENCES lines (id),
  generation      INTEGER NOT NULL DEFAULT 0,
  part           INTEGER NOT NULL DEFAULT 0,
  operation       TEXT NOT NULL CHECK (operation IN ('gift_card_order', 'esim_order', 'esim_topup', 'esim_cancel')),
  variant         TEXT,
  plan            TEXT,
  iccid           TEXT,
  quantity        INTEGER,
  days            INTEGER,
  currency        TEXT,
  not_after_ms    INTEGER,
  state           TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'waiting', 'unknown', 'placed', 'fulfilled',
                    'refunded', 'rejected', 'expired', 'cancelled', 'needs_review', 'held')),
  -- What is due at due_at_ms: sending the call, or asking what became of it.
  next_step       TEXT NOT NULL DEFAULT 'send' CHECK (next_step IN ('send', 'lookup')),
  due_at_ms       INTEGER NOT NULL,
  -- 1: an attempt may have been processed and nothing has settled that yet.
  outcome_unknown        INTEGER NOT NULL DEFAULT 0 CHECK (outcome_unknown IN (0, 1)),
  settlement_delay_end_ms  INTEGER,
  -- Attempts that count, and tries of the present kind (the position in a retry schedule).
  attempts        INTEGER NOT NULL DEFAULT 0,
  tries           INTEGER NOT NULL DEFAULT 0,
  first_sent_at_ms INTEGER,
  last_sent_at_ms INTEGER,
  key_name        TEXT,
  -- The exact request, stored with the first attempt and never rendered again.
  request_method  TEXT,
  request_path    TEXT,
  request_body    TEXT,
  order_number    TEXT,
  status          TEXT,
  cost            TEXT,
  charged_currency TEXT,
  units           TEXT,
  outcome_row     TEXT,
  error_code      TEXT,
  error_message   TEXT,
  -- 1: the error above is a refusal that an earlier attempt of ours may have caused; it proves nothing yet.
  error_buffered  INTEGER NOT NULL DEFAULT 0 CHECK (error_buffered IN (0, 1)),
  review_reason   TEXT,
  held_from       TEXT,
  created_at_ms   INTEGER NOT NULL,
  updated_at_ms   INTEGER NOT NULL,
  settled_at_ms   INTEGER,
  UNIQUE (line_id, generation, part)
) STRICT;
CREATE INDEX entries_pending ON entries (due_at_ms, id) WHERE state = 'pending';
CREATE INDEX entries_waiting ON entries (due_at_ms, id) WHERE state = 'waiting';
CREATE INDEX entries_unknown ON entries (next_step, due_at_ms, id) WHERE state = 'unknown';
CREATE INDEX entries_placed ON entries (due_at_ms, id) WHERE state = 'placed';
CREATE INDEX entries_attention ON entries (updated_at_ms) WHERE state IN ('needs_review', 'held');
CREATE INDEX entries_deadline ON entries (not_after_ms) WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL;
CREATE INDEX entries_open_iccid ON entries (iccid, id)
  WHERE iccid IS NOT NULL AND state IN ('pending', 'sending', 'waiting', 'unknown', 'placed');
CREATE INDEX entries_sending ON entries (id) WHERE state = 'sending';

-- Which order an eSIM came from: after an ambiguous cancel, that order tells what became of it.
CREATE TABLE esims (
  iccid    TEXT PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES entries (id)
) STRICT, WITHOUT ROWID;

-- One row, one HTTP call. Opened before the socket is used, closed once, never changed after that, never deleted.
CREATE TABLE attempts (
  id             INTEGER PRIMARY KEY,
  entry_id       INTEGER NOT NULL REFERENCES entries (id),
  number         INTEGER NOT NULL,
  purpose        TEXT NOT NULL CHECK (purpose IN ('submit', 'lookup')),
  key_name       TEXT NOT NULL,
  incarnation_id INTEGER NOT NULL REFERENCES incarnations (id),
  opened_at_ms   INTEGER NOT NULL,
  closed_at_ms   INTEGER,
  sent           INTEGER CHECK (sent IN (0, 1)),
  outcome        TEXT,
  http_status    INTEGER,
  error_code     TEXT,
  error_message  TEXT,
  duration_ms    INTEGER,
  UNIQUE (entry_id, number)
) STRICT;
-- A call is never made beside another call for the same entry: the database itself refuses it.
CREATE UNIQUE INDEX attempts_open ON attempts (entry_id) WHERE closed_at_ms IS NULL;

CREATE TRIGGER attempts_are_final BEFORE UPDATE ON attempts WHEN OLD.closed_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a closed attempt is never changed'); END;
CREATE TRIGGER attempts_are_kept BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts are append-only'); END;
CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted: their references must be known for ever'); END;
CREATE TRIGGER entries_keep_their_reference BEFORE UPDATE OF reference, line_id, operation ON entries
BEGIN SELECT RAISE(ABORT, 'a reference stands for one purchase, for ever'); END;
CREATE TRIGGER entries_keep_their_request BEFORE UPDATE OF request_body ON entries
WHEN OLD.request_body IS NOT NULL AND NEW.request_body IS NOT OLD.request_body
BEGIN SELECT RAISE(ABORT, 'the request of a reference is never changed'); END;

-- Calls that count against a limit of a key, written in the same transaction as their attempt.
CREATE TABLE budget_slots (
  id           INTEGER PRIMARY KEY,
  key_name     TEXT NOT NULL,
  limit_name   TEXT NOT NULL CHECK (limit_name IN ('requests', 'orders')),
  attempt_id   INTEGER,
  boot_id      TEXT,
  taken_mono   REAL NOT NULL,
  settled_mono REAL
) STRICT;
CREATE INDEX budget_slots_by_attempt ON budget_slots (attempt_id);

CREATE TABLE pauses (
  scope       TEXT PRIMARY KEY,
  reason      TEXT NOT NULL,
  message     TEXT NOT NULL,
  opened_by   TEXT NOT NULL,
  since_ms    INTEGER NOT NULL,
  -- When it is looked at again; null: only a person ends it.
  probe_at_ms INTEGER,
  probes      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Write-back is an outbox of its own: a failed delivery never re-enters buying.
CREATE TABLE deliveries (
  request_id   INTEGER NOT NULL REFERENCES requests (id),
  sink         TEXT NOT NULL,
  due_version  INTEGER NOT NULL,
  done_version INTEGER NOT NULL DEFAULT 0,
  due_at_ms    INTEGER NOT NULL,
  tries        INTEGER NOT NULL DEFAULT 0,
  last_error   TEXT,
  done_at_ms   INTEGER,
  PRIMARY KEY (request_id, sink)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (due_at_ms) WHERE done_version < due_version;

-- What came in and could not be accepted: an invalid line, or a known line with other content. It claims no identity.
CREATE TABLE rejections (
  id             INTEGER PRIMARY KEY,
  file_id        TEXT REFERENCES files (id),
  line_number    INTEGER,
  source         TEXT,
  order_id       TEXT,
  line_id        TEXT,
  code           TEXT NOT NULL,
  field          TEXT,
  rule           TEXT NOT NULL,
  value          TEXT,
  created_at_ms  INTEGER NOT NULL
) STRICT;
-- A file that is read again names the same again. One line of text may hold a whole order, so that lines of text alone
-- do not tell its lines apart.
CREATE UNIQUE INDEX rejections_once
  ON rejections (file_id, line_number, coalesce(order_id, ''), coalesce(line_id, ''), coalesce(field, ''), code)
  WHERE file_id IS NOT NULL;
CREATE INDEX rejections_by_order ON rejections (source, order_id);

CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at_ms   INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason  TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
