PRAGMA application_id = 0;
PRAGMA user_version = 17;
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE lines (
  id             INTEGER PRIMARY KEY,
  request_id     INTEGER NOT NULL REFERENCES requests (id),
  line_id        TEXT NOT NULL CHECK (length(line_id) BETWEEN 1 AND 64),
  operation      TEXT NOT NULL CHECK (operation = 'gift_card_order' OR operation = 'esim_order' OR operation = 'esim_topup' OR operation = 'esim_cancel'),
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
CREATE TABLE entries (
  id              INTEGER PRIMARY KEY,
  reference       TEXT NOT NULL UNIQUE CHECK (length(reference) BETWEEN 8 AND 36),
  line_id         INTEGER NOT NULL REFERENCES lines (id),
  generation      INTEGER NOT NULL DEFAULT 0,
  chunk           INTEGER NOT NULL DEFAULT 0,
  operation       TEXT NOT NULL CHECK (operation = 'gift_card_order' OR operation = 'esim_order' OR operation = 'esim_topup' OR operation = 'esim_cancel'),
  variant         TEXT,
  plan            TEXT,
  iccid           TEXT,
  quantity        INTEGER,
  days            INTEGER,
  currency        TEXT,
  not_after_ms    INTEGER,
  state           TEXT NOT NULL CHECK (state = 'pending' OR state = 'sending' OR state = 'waiting' OR state = 'unknown' OR state = 'placed' OR state = 'fulfilled'
                    OR state = 'refunded' OR state = 'rejected' OR state = 'expired' OR state = 'cancelled' OR state = 'needs_review' OR state = 'held'),
  -- What is due at due_at_ms: sending the call, or asking what became of it.
  next_step       TEXT NOT NULL DEFAULT 'send' CHECK (next_step IN ('send', 'lookup')),
  due_at_ms       INTEGER NOT NULL,
  -- 1: an attempt may have been processed and nothing has settled that yet.
  in_doubt        INTEGER NOT NULL DEFAULT 0 CHECK (in_doubt IN (0, 1)),
  doubt_until_ms  INTEGER,
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
  settled_at_ms   INTEGER, lane TEXT NOT NULL DEFAULT '', rules TEXT NOT NULL DEFAULT '{}', replaced INTEGER NOT NULL DEFAULT 0 CHECK (replaced IN (0, 1)), doubt_until_mono REAL, doubt_boot_id TEXT, look_first INTEGER NOT NULL DEFAULT 0, absences INTEGER NOT NULL DEFAULT 0,
  UNIQUE (line_id, generation, chunk)
) STRICT;
CREATE TABLE esims (
  iccid    TEXT PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES entries (id)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE budget_slots (
  id           INTEGER PRIMARY KEY,
  key_name     TEXT NOT NULL,
  limit_name   TEXT NOT NULL CHECK (limit_name IN ('requests', 'orders')),
  attempt_id   INTEGER,
  boot_id      TEXT,
  taken_mono   REAL NOT NULL,
  settled_mono REAL
) STRICT;
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
CREATE TABLE deliveries (
  request_id   INTEGER NOT NULL REFERENCES requests (id),
  sink         TEXT NOT NULL,
  due_version  INTEGER NOT NULL,
  done_version INTEGER NOT NULL DEFAULT 0,
  due_at_ms    INTEGER NOT NULL,
  tries        INTEGER NOT NULL DEFAULT 0,
  last_error   TEXT,
  done_at_ms   INTEGER, given_up_at_ms INTEGER,
  PRIMARY KEY (request_id, sink)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at_ms   INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason  TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
CREATE TABLE variant_limits (
  variant       TEXT PRIMARY KEY,
  known_limit   INTEGER NOT NULL CHECK (known_limit >= 0),
  learned_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE storefront_orders (
  source      TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  order_id    TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  -- When the shop last changed it, by the shop's own clock: only ever compared with itself.
  modified_ms INTEGER NOT NULL,
  -- 1: cancelled or refunded as a whole.
  closed      INTEGER NOT NULL CHECK (closed IN (0, 1)),
  seen_at_ms  INTEGER NOT NULL, unread INTEGER NOT NULL DEFAULT 0 CHECK (unread = 0 OR unread = 1),
  PRIMARY KEY (source, order_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE wholesale_keys (
  key_name           TEXT PRIMARY KEY,
  value_print        TEXT,
  boot_id            TEXT,
  stamped_mono       REAL,
  -- Nothing is sent before this.
  blocked_until_mono REAL,
  -- Calls are spread out before this; how long that lasts this time.
  paced_until_mono   REAL,
  paced_length_ms    REAL,
  turned_away_at_ms  INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE storefront_watermarks (
  source        TEXT NOT NULL PRIMARY KEY CHECK (length(source) BETWEEN 1 AND 64),
  modified_ms   INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE storefront_unmapped_skus (
  source           TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  sku              TEXT NOT NULL CHECK (length(sku) <= 128),
  orders           INTEGER NOT NULL CHECK (orders > 0),
  last_order_id    TEXT NOT NULL,
  first_seen_at_ms INTEGER NOT NULL,
  last_seen_at_ms  INTEGER NOT NULL,
  PRIMARY KEY (source, sku)
) STRICT, WITHOUT ROWID;
CREATE TABLE shop_marks (
  kind       TEXT NOT NULL CHECK (kind = 'name' OR kind = 'address' OR kind = 'secret'),
  value      TEXT NOT NULL CHECK (length(value) BETWEEN 1 AND 4096),
  source     TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  seen_at_ms INTEGER NOT NULL,
  PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('namespace', 'eb999be8c4b366a4');
INSERT INTO meta VALUES ('upstream', 'sandbox');
INSERT INTO incarnations VALUES (1, 'boot', '0', 1, NULL);
INSERT INTO requests VALUES (1, 'shop1', 'fulfilled', '{}', 1000, 2, 2500);
INSERT INTO requests VALUES (2, 'shop1', 'pending', '{}', 1000, 1, 1000);
INSERT INTO lines VALUES (1, 1, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000);
INSERT INTO lines VALUES (2, 2, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000);
INSERT INTO entries VALUES (1, 'os-mu6nrg5jsrkbmoftylpjl7aw7g', 1, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, 'fulfilled', 'send', 3000, 0, NULL, 1, 1, 2000, 2000, 'main', 'POST', '/orders', '{"reference":"os-mu6nrg5jsrkbmoftylpjl7aw7g"}', 'GC-1', 'completed', '10.00', 'USD', '[{"code":"SECRET-CODE"}]', 'accepted', NULL, NULL, 0, NULL, NULL, 1000, 2500, 2500, 'shop1|USD', '{}', 0, NULL, NULL, 0, 0);
INSERT INTO entries VALUES (2, 'os-o4jcokzc4egr7eoafrvb7z7o3v', 2, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, 'pending', 'send', 1000, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 1000, 1000, NULL, 'shop1|USD', '{}', 0, NULL, NULL, 0, 0);
INSERT INTO attempts VALUES (1, 1, 1, 'submit', 'main', 1, 2000, 2500, 1, 'accepted', 200, NULL, '', 500);
INSERT INTO budget_slots VALUES (1, 'main', 'requests', 1, 'boot', 500, 1000);
INSERT INTO budget_slots VALUES (2, 'main', 'orders', 1, 'boot', 500, 1000);
INSERT INTO deliveries VALUES (1, 'folder', 2, 0, 2500, 0, NULL, NULL, NULL);
CREATE INDEX files_by_hash ON files (sha256);
CREATE INDEX entries_waiting ON entries (due_at_ms, id) WHERE state = 'waiting';
CREATE INDEX entries_unknown ON entries (next_step, due_at_ms, id) WHERE state = 'unknown';
CREATE INDEX entries_placed ON entries (due_at_ms, id) WHERE state = 'placed';
CREATE INDEX entries_attention ON entries (updated_at_ms) WHERE state IN ('needs_review', 'held');
CREATE INDEX entries_deadline ON entries (not_after_ms) WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL;
CREATE INDEX entries_open_iccid ON entries (iccid, id)
  WHERE iccid IS NOT NULL AND state IN ('pending', 'sending', 'waiting', 'unknown', 'placed');
CREATE INDEX entries_sending ON entries (id) WHERE state = 'sending';
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
CREATE INDEX budget_slots_by_attempt ON budget_slots (attempt_id);
CREATE UNIQUE INDEX rejections_once
  ON rejections (file_id, line_number, coalesce(order_id, ''), coalesce(line_id, ''), coalesce(field, ''), code)
  WHERE file_id IS NOT NULL;
CREATE INDEX rejections_by_order ON rejections (source, order_id);
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE VIEW outbox AS
SELECT e.reference, r.source, r.order_id, l.line_id, e.operation, e.state,
       e.variant, e.plan, e.iccid, e.quantity, e.days, e.currency,
       e.order_number, e.status, e.cost, e.charged_currency,
       e.error_code, e.error_message, e.review_reason,
       e.in_doubt, e.attempts, e.next_step, e.key_name,
       CASE WHEN e.state IN ('pending', 'waiting', 'unknown', 'placed')
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', e.due_at_ms / 1000.0, 'unixepoch') END AS next_attempt_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.not_after_ms / 1000.0, 'unixepoch') AS not_after,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.first_sent_at_ms / 1000.0, 'unixepoch') AS first_sent_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch') AS settled_at
FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id;
CREATE VIEW attempt_log AS
SELECT e.reference, r.source, r.order_id, l.line_id, a.number, a.purpose, e.operation, a.key_name,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.opened_at_ms / 1000.0, 'unixepoch') AS opened_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.closed_at_ms / 1000.0, 'unixepoch') AS closed_at,
       a.sent, a.outcome, a.http_status, a.error_code, a.error_message, a.duration_ms
FROM attempts a JOIN entries e ON e.id = a.entry_id JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id;
CREATE VIEW audit_log AS
SELECT id, strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS at, actor, action, subject, reason, detail
FROM audit;
CREATE INDEX entries_pending_lanes ON entries (lane, due_at_ms, id) WHERE state = 'pending';
CREATE INDEX entries_waiting_lanes ON entries (lane, due_at_ms, id) WHERE state = 'waiting';
CREATE INDEX entries_bought ON entries (operation) WHERE state = 'fulfilled' AND outcome_row = 'accepted';
CREATE INDEX deliveries_due ON deliveries (sink, due_at_ms) WHERE done_version < due_version;
CREATE VIEW delivery_log AS
SELECT r.source, r.order_id, d.sink, d.done_version >= d.due_version AS done, d.tries, d.last_error,
       CASE WHEN d.given_up_at_ms IS NULL
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', d.due_at_ms / 1000.0, 'unixepoch') END AS due_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.done_at_ms / 1000.0, 'unixepoch') AS done_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch') AS given_up_at
FROM deliveries d JOIN requests r ON r.id = d.request_id;
CREATE VIEW outbox_attention AS
SELECT 'entry' AS kind, e.reference, r.source, r.order_id, l.line_id, e.state,
       coalesce(e.review_reason, e.error_code) AS reason, e.error_message AS message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS since
FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
WHERE e.state IN ('needs_review', 'held')
UNION ALL
SELECT 'rejection', NULL, j.source, j.order_id, j.line_id, 'not_accepted', j.code,
       'line ' || coalesce(j.line_number, '?') || ', ' || coalesce(j.field, 'line') || ': ' || j.rule,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at_ms / 1000.0, 'unixepoch')
FROM rejections j
UNION ALL
SELECT 'file', NULL, NULL, NULL, NULL, f.state, f.error_code, f.name || ': ' || coalesce(f.error_message, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(f.finished_at_ms, f.claimed_at_ms) / 1000.0, 'unixepoch')
FROM files f WHERE f.state = 'rejected'
UNION ALL
SELECT 'delivery', NULL, r.source, r.order_id, NULL, 'given_up', d.sink, d.last_error,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch')
FROM deliveries d JOIN requests r ON r.id = d.request_id WHERE d.given_up_at_ms IS NOT NULL;
CREATE INDEX deliveries_given_up ON deliveries (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL;
CREATE INDEX audit_by_subject ON audit (subject);
CREATE INDEX storefront_orders_unread ON storefront_orders (source, seen_at_ms) WHERE unread = 1;
