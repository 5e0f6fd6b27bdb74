PRAGMA application_id = 0;
PRAGMA user_version = 30;
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
  -- Raised and committed before the file is parsed: a file that kills the worker again and again is set aside.
  starts         INTEGER NOT NULL DEFAULT 0,
  accepted_count INTEGER NOT NULL DEFAULT 0,
  known_count    INTEGER NOT NULL DEFAULT 0,
  conflict_count INTEGER NOT NULL DEFAULT 0,
  rejected_count INTEGER NOT NULL DEFAULT 0,
  error_code     TEXT,
  error_message  TEXT,
  claimed_at_ms  INTEGER NOT NULL,
  finished_at_ms INTEGER
, acknowledged_at_ms INTEGER) STRICT;
CREATE TABLE requests (
  id             INTEGER PRIMARY KEY,
  source         TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  order_id       TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  metadata       TEXT NOT NULL,
  received_at_ms INTEGER NOT NULL,
  -- Rises with every change that the result shows. A delivery is done for a version.
  version        INTEGER NOT NULL DEFAULT 1,
  updated_at_ms  INTEGER NOT NULL,
  UNIQUE (source, order_id)
) STRICT;
CREATE TABLE lines (
  id             INTEGER PRIMARY KEY,
  request_id     INTEGER NOT NULL REFERENCES requests (id),
  line_id        TEXT NOT NULL CHECK (length(line_id) BETWEEN 1 AND 64),
  operation      TEXT NOT NULL CHECK (operation = 'gift_card_order' OR operation = 'esim_order'
                   OR operation = 'esim_topup' OR operation = 'esim_cancel'),
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
  received_at_ms INTEGER NOT NULL, shop_hold TEXT, shop_hold_lifted INTEGER NOT NULL DEFAULT 0 CHECK (shop_hold_lifted IN (0, 1)), same_as INTEGER,
  UNIQUE (request_id, line_id)
) STRICT;
CREATE TABLE rejections (
  id            INTEGER PRIMARY KEY,
  file_id       TEXT REFERENCES files (id),
  line_number   INTEGER,
  source        TEXT,
  order_id      TEXT,
  line_id       TEXT,
  code          TEXT NOT NULL,
  field         TEXT,
  rule          TEXT NOT NULL,
  value         TEXT,
  created_at_ms INTEGER NOT NULL
, product TEXT, corrected_at_ms INTEGER, taken_back INTEGER NOT NULL DEFAULT 0 CHECK (taken_back = 0 OR taken_back = 1), acknowledged_at_ms INTEGER) STRICT;
CREATE TABLE storefront_orders (
  source           TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  order_id         TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  -- When the shop last changed it, by the shop's clock. Only ever compared with itself.
  modified_ms      INTEGER NOT NULL,
  -- 1: cancelled or refunded as a whole.
  seen_at_ms       INTEGER NOT NULL,
  -- 1: a delivery did not say what was refunded, so the order waits until it is read back from the shop.
  awaits_read_back INTEGER NOT NULL DEFAULT 0 CHECK (awaits_read_back IN (0, 1)), state TEXT NOT NULL DEFAULT 'paid'
  CHECK (state = 'unpaid' OR state = 'paid' OR state = 'on_hold' OR state = 'unknown_status' OR state = 'closed' OR state = 'deleted'), refund_count INTEGER NOT NULL DEFAULT 0, lines_left TEXT, current_at_ms INTEGER NOT NULL DEFAULT 0, recheck_since_ms INTEGER, recheck_at_ms INTEGER, recheck_problem TEXT, kept_order TEXT,
  PRIMARY KEY (source, order_id)
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
CREATE TABLE shop_fingerprints (
  kind       TEXT NOT NULL CHECK (kind = 'name' OR kind = 'address' OR kind = 'secret'),
  value      TEXT NOT NULL CHECK (length(value) BETWEEN 1 AND 4096),
  source     TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  seen_at_ms INTEGER NOT NULL,
  PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
  id                        INTEGER PRIMARY KEY,
  reference                 TEXT NOT NULL UNIQUE CHECK (length(reference) BETWEEN 8 AND 36),
  line_id                   INTEGER NOT NULL REFERENCES lines (id),
  generation                INTEGER NOT NULL DEFAULT 0,
  part                      INTEGER NOT NULL DEFAULT 0,
  operation                 TEXT NOT NULL CHECK (operation = 'gift_card_order' OR operation = 'esim_order'
                              OR operation = 'esim_topup' OR operation = 'esim_cancel'),
  variant                   TEXT,
  plan                      TEXT,
  iccid                     TEXT,
  quantity                  INTEGER,
  days                      INTEGER,
  currency                  TEXT,
  not_after_ms              INTEGER,
  -- What the order allows the worker to do by itself, as JSON: {"split": true, "fallback_currency": "EUR"}.
  rules                     TEXT NOT NULL DEFAULT '{}',
  state                     TEXT NOT NULL CHECK (state = 'pending' OR state = 'sending' OR state = 'waiting'
                              OR state = 'unknown' OR state = 'placed' OR state = 'fulfilled' OR state = 'refunded'
                              OR state = 'rejected' OR state = 'expired' OR state = 'cancelled'
                              OR state = 'needs_review' OR state = 'held'),
  -- The state that it had when a person held it.
  held_from                 TEXT,
  -- 1: rejected, and other entries took its place. The line is judged by those.
  replaced                  INTEGER NOT NULL DEFAULT 0 CHECK (replaced IN (0, 1)),
  -- Entries queue in lanes, one for each shop and balance: the backlog of one shop delays no single order of another,
  -- and what waits for a paused balance costs no search.
  lane                      TEXT NOT NULL,
  -- What is due at due_at_ms: to send the call, or to look up what became of it.
  next_step                 TEXT NOT NULL DEFAULT 'send' CHECK (next_step IN ('send', 'lookup')),
  due_at_ms                 INTEGER NOT NULL,
  -- 1: the API may have processed an attempt, and nothing has settled that yet.
  outcome_unknown           INTEGER NOT NULL DEFAULT 0 CHECK (outcome_unknown IN (0, 1)),
  -- The end of the in-flight window: by the wall clock for people, and by the monotonic clock, which nobody can set, for
  -- the worker.
  in_flight_window_end_ms   INTEGER,
  in_flight_window_end_mono REAL,
  in_flight_window_boot_id  TEXT,
  -- Attempts that count, and tries of the present kind (the position in a retry schedule).
  attempts                  INTEGER NOT NULL DEFAULT 0,
  tries                     INTEGER NOT NULL DEFAULT 0,
  -- How many lookups in a row found nothing where that would settle the entry. The worker does not believe one alone.
  absences                  INTEGER NOT NULL DEFAULT 0,
  -- After the loss of an outbox, what was looked up before the entry may be sent. 0: nothing; 1: its own reference is
  -- next; 2: the reference of its replacement is next; 3: both were.
  recovery_stage            INTEGER NOT NULL DEFAULT 0,
  first_sent_at_ms          INTEGER,
  last_sent_at_ms           INTEGER,
  key_name                  TEXT,
  -- The exact request, stored with the first attempt and never rendered again.
  request_method            TEXT,
  request_path              TEXT,
  request_body              TEXT,
  order_number              TEXT,
  status                    TEXT,
  cost                      TEXT,
  charged_currency          TEXT,
  units                     TEXT,
  outcome_row               TEXT,
  error_code                TEXT,
  error_message             TEXT,
  -- 1: an earlier attempt of ours may have caused the rejection above, so it proves nothing yet.
  error_buffered            INTEGER NOT NULL DEFAULT 0 CHECK (error_buffered IN (0, 1)),
  review_reason             TEXT,
  created_at_ms             INTEGER NOT NULL,
  updated_at_ms             INTEGER NOT NULL,
  settled_at_ms             INTEGER, resolved_by TEXT, taken_back INTEGER NOT NULL DEFAULT 0 CHECK (taken_back = 0 OR taken_back = 1), acknowledged_at_ms INTEGER, held_by TEXT CHECK (held_by = 'shop'), due_before_recheck_ms INTEGER, units_missing INTEGER NOT NULL DEFAULT 0 CHECK (units_missing >= 0), sealed_by TEXT, unit_count INTEGER NOT NULL DEFAULT 0 CHECK (unit_count >= 0), shredded_at_ms INTEGER,
  UNIQUE (line_id, generation, part)
) STRICT;
CREATE TABLE esims (
  iccid    TEXT PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES entries (id)
) STRICT, WITHOUT ROWID;
CREATE TABLE variant_limits (
  variant       TEXT PRIMARY KEY,
  known_limit   INTEGER NOT NULL CHECK (known_limit >= 0),
  learned_at_ms INTEGER NOT NULL
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
CREATE TABLE wholesale_keys (
  key_name             TEXT PRIMARY KEY,
  value_fingerprint    TEXT,
  boot_id              TEXT,
  stamped_mono         REAL,
  -- The key is not used before this.
  blocked_until_mono   REAL,
  -- Its calls keep an even distance before this; for how long in all.
  throttled_until_mono REAL,
  throttle_length_ms   REAL,
  rate_limited_at_ms   INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE pauses (
  scope       TEXT PRIMARY KEY,
  reason      TEXT NOT NULL,
  message     TEXT NOT NULL,
  opened_by   TEXT NOT NULL,
  since_ms    INTEGER NOT NULL,
  -- When the worker probes the scope next; null: only a person ends the pause.
  probe_at_ms INTEGER,
  probes      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE deliveries (
  request_id     INTEGER NOT NULL REFERENCES requests (id),
  sink           TEXT NOT NULL,
  due_version    INTEGER NOT NULL,
  done_version   INTEGER NOT NULL DEFAULT 0,
  due_at_ms      INTEGER NOT NULL,
  tries          INTEGER NOT NULL DEFAULT 0,
  last_error     TEXT,
  done_at_ms     INTEGER,
  -- A receiver that refuses a result for days is given up, and the delivery is flagged for review.
  given_up_at_ms INTEGER, acknowledged_at_ms INTEGER, confirmed_events TEXT,
  PRIMARY KEY (request_id, sink)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at_ms   INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason  TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
CREATE TABLE scope_evidence (
  scope    TEXT NOT NULL CHECK (length(scope) <= 300),
  reason   TEXT NOT NULL,
  entry_id INTEGER NOT NULL REFERENCES entries (id),
  product  TEXT,
  at_ms    INTEGER NOT NULL,
  PRIMARY KEY (scope, reason, entry_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE product_costs (
  product   TEXT NOT NULL,
  currency  TEXT NOT NULL,
  unit_cost REAL NOT NULL,
  PRIMARY KEY (product, currency)
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE search_words USING fts5(
  words, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '@._+-'");
CREATE TABLE unit_endings (
  ending   TEXT NOT NULL CHECK (length(ending) = 4),
  entry_id INTEGER NOT NULL REFERENCES entries (id),
  PRIMARY KEY (ending, entry_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE sink_pauses (
  sink        TEXT PRIMARY KEY,
  reason      TEXT NOT NULL,
  message     TEXT NOT NULL,
  since_ms    INTEGER NOT NULL,
  probe_at_ms INTEGER NOT NULL,
  probes      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE hourly_statistics (
  name TEXT NOT NULL CHECK (length(name) <= 16),
  hour INTEGER NOT NULL,
  key  TEXT NOT NULL CHECK (length(key) <= 64),
  n    INTEGER NOT NULL,
  PRIMARY KEY (name, hour, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE entry_counts (
  state   TEXT NOT NULL,
  lane    TEXT NOT NULL,
  entries INTEGER NOT NULL,
  PRIMARY KEY (state, lane)
) STRICT, WITHOUT ROWID;
CREATE TABLE counted_entries (
  id            INTEGER PRIMARY KEY CHECK (id = 1),
  counted_up_to INTEGER NOT NULL
) STRICT;
CREATE TABLE csv_files (
  id                 INTEGER PRIMARY KEY,
  file_id            TEXT NOT NULL UNIQUE REFERENCES files (id),
  -- As it was read: a later configuration might find another one.
  delimiter          TEXT NOT NULL CHECK (length(delimiter) = 1),
  due_version        INTEGER NOT NULL DEFAULT 1,
  done_version       INTEGER NOT NULL DEFAULT 0,
  due_at_ms          INTEGER NOT NULL,
  tries              INTEGER NOT NULL DEFAULT 0,
  last_error         TEXT,
  done_at_ms         INTEGER,
  given_up_at_ms     INTEGER,
  acknowledged_at_ms INTEGER
) STRICT;
CREATE TABLE csv_runs (
  csv_file_id INTEGER NOT NULL REFERENCES csv_files (id),
  first_row   INTEGER NOT NULL,
  first_line  INTEGER NOT NULL,
  line_count  INTEGER NOT NULL CHECK (line_count > 0),
  PRIMARY KEY (csv_file_id, first_row)
) STRICT, WITHOUT ROWID;
CREATE TABLE csv_repeats (
  line_id     INTEGER NOT NULL REFERENCES lines (id),
  csv_file_id INTEGER NOT NULL REFERENCES csv_files (id),
  PRIMARY KEY (line_id, csv_file_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE alerts_told (
  endpoint  TEXT NOT NULL,
  condition TEXT NOT NULL,
  count     INTEGER NOT NULL,
  -- The time of its newest row: a row that takes the place of another one is new, although the count is the same.
  newest_ms INTEGER NOT NULL,
  PRIMARY KEY (endpoint, condition)
) STRICT, WITHOUT ROWID;
CREATE TABLE alert_endpoints (
  endpoint    TEXT PRIMARY KEY,
  next_at_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('connector_proven:gift_card', '');
INSERT INTO meta VALUES ('database_id', 'd9c1ed497eb8e2a932eadf505fc06bb4');
INSERT INTO meta VALUES ('namespace', 'eb999be8c4b366a4');
INSERT INTO meta VALUES ('upstream', 'sandbox');
INSERT INTO incarnations VALUES (1, 'boot', '0', 1, NULL);
INSERT INTO requests VALUES (1, 'shop1', 'fulfilled', '{}', 1000, 2, 2500);
INSERT INTO requests VALUES (2, 'shop1', 'pending', '{}', 1000, 1, 1000);
INSERT INTO lines VALUES (1, 1, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL);
INSERT INTO lines VALUES (2, 2, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL);
INSERT INTO entries VALUES (1, 'os-mu6nrg5jsrkbmoftylpjl7aw7g', 1, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'fulfilled', NULL, 0, 'shop1|USD|variant:steam-10', 'send', 3000, 0, NULL, NULL, NULL, 1, 1, 0, 0, 2000, 2000, 'main', 'POST', '/orders', '{"reference":"os-mu6nrg5jsrkbmoftylpjl7aw7g"}', 'GC-1', 'completed', '10.00', 'USD', '[{"code":"SECRET-CODE"}]', 'accepted', NULL, NULL, 0, NULL, 1000, 2500, 2500, NULL, 0, NULL, NULL, NULL, 0, NULL, 1, NULL);
INSERT INTO entries VALUES (2, 'os-o4jcokzc4egr7eoafrvb7z7o3v', 2, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'pending', NULL, 0, 'shop1|USD|variant:steam-10', 'send', 1000, 0, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 1000, 1000, NULL, NULL, 0, NULL, NULL, NULL, 0, NULL, 0, NULL);
INSERT INTO attempts VALUES (1, 1, 1, 'submit', 'main', 1, 2000, 2500, 1, 'accepted', 200, NULL, '', 500);
INSERT INTO budget_slots VALUES (1, 'main', 'requests', 1, 'boot', 500, 1000);
INSERT INTO budget_slots VALUES (2, 'main', 'orders', 1, 'boot', 500, 1000);
INSERT INTO deliveries VALUES (1, 'folder', 2, 0, 2500, 0, NULL, NULL, NULL, NULL, NULL);
INSERT INTO product_costs VALUES ('variant:steam-10', 'USD', 10);
DELETE FROM search_words_data;
INSERT INTO search_words_data VALUES (1, x'0202');
INSERT INTO search_words_data VALUES (10, x'000000010102020002010101020101');
INSERT INTO search_words_data VALUES (137438953473, x'0000000f0930737465616d2d31300104');
INSERT INTO search_words_data VALUES (274877906945, x'0000000f0930737465616d2d31300204');
DELETE FROM search_words_idx;
INSERT INTO search_words_idx VALUES (1, x'', 2);
INSERT INTO search_words_idx VALUES (2, x'', 2);
DELETE FROM search_words_config;
INSERT INTO search_words_config VALUES ('automerge', 16);
INSERT INTO search_words_config VALUES ('version', 4);
INSERT INTO unit_endings VALUES ('CODE', 1);
INSERT INTO hourly_statistics VALUES ('bought', 0, 'USD', 1);
INSERT INTO hourly_statistics VALUES ('calls', 0, 'submit', 1);
INSERT INTO hourly_statistics VALUES ('latency', 0, '16', 1);
INSERT INTO hourly_statistics VALUES ('received', 0, '', 2);
INSERT INTO hourly_statistics VALUES ('settled', 0, 'fulfilled', 1);
INSERT INTO hourly_statistics VALUES ('spent', 0, 'USD', 10000000);
INSERT INTO counted_entries VALUES (1, 0);
CREATE INDEX files_by_hash ON files (sha256);
CREATE UNIQUE INDEX rejections_once
  ON rejections (file_id, line_number, coalesce(order_id, ''), coalesce(line_id, ''), coalesce(field, ''), code)
  WHERE file_id IS NOT NULL;
CREATE INDEX rejections_by_order ON rejections (source, order_id);
CREATE INDEX storefront_orders_awaiting ON storefront_orders (source, seen_at_ms) WHERE awaits_read_back = 1;
CREATE INDEX entries_pending_lanes ON entries (lane, due_at_ms, id) WHERE state = 'pending';
CREATE INDEX entries_waiting_lanes ON entries (lane, due_at_ms, id) WHERE state = 'waiting';
CREATE INDEX entries_waiting ON entries (due_at_ms, id) WHERE state = 'waiting';
CREATE INDEX entries_unknown ON entries (next_step, due_at_ms, id) WHERE state = 'unknown';
CREATE INDEX entries_placed ON entries (due_at_ms, id) WHERE state = 'placed';
CREATE INDEX entries_sending ON entries (id) WHERE state = 'sending';
CREATE INDEX entries_attention ON entries (updated_at_ms) WHERE state IN ('needs_review', 'held');
CREATE INDEX entries_deadline ON entries (not_after_ms) WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL;
CREATE INDEX entries_open_iccid ON entries (iccid, id)
  WHERE iccid IS NOT NULL AND state IN ('pending', 'sending', 'waiting', 'unknown', 'placed');
CREATE INDEX entries_bought ON entries (operation) WHERE state = 'fulfilled' AND outcome_row = 'accepted';
CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted: their references must be known for ever'); END;
CREATE TRIGGER entries_keep_their_reference BEFORE UPDATE OF reference, line_id, operation ON entries
BEGIN SELECT RAISE(ABORT, 'a reference stands for one purchase, for ever'); END;
CREATE TRIGGER entries_keep_their_request BEFORE UPDATE OF request_body ON entries
WHEN OLD.request_body IS NOT NULL AND NEW.request_body IS NOT OLD.request_body
BEGIN SELECT RAISE(ABORT, 'the request of a reference is never changed'); END;
CREATE UNIQUE INDEX attempts_open ON attempts (entry_id) WHERE closed_at_ms IS NULL;
CREATE TRIGGER attempts_are_final BEFORE UPDATE ON attempts WHEN OLD.closed_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a closed attempt is never changed'); END;
CREATE TRIGGER attempts_are_kept BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts are append-only'); END;
CREATE INDEX budget_slots_by_attempt ON budget_slots (attempt_id);
CREATE INDEX deliveries_due ON deliveries (sink, due_at_ms) WHERE done_version < due_version;
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE VIEW outbox AS
SELECT e.reference, r.source, r.order_id, l.line_id, e.operation, e.state,
       e.variant, e.plan, e.iccid, e.quantity, e.days, e.currency,
       e.order_number, e.status, e.cost, e.charged_currency,
       e.error_code, e.error_message, e.review_reason,
       e.outcome_unknown, e.attempts, e.next_step, e.key_name,
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
CREATE VIEW delivery_log AS
SELECT r.source, r.order_id, d.sink, d.done_version >= d.due_version AS done, d.tries, d.last_error,
       CASE WHEN d.given_up_at_ms IS NULL
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', d.due_at_ms / 1000.0, 'unixepoch') END AS due_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.done_at_ms / 1000.0, 'unixepoch') AS done_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch') AS given_up_at
FROM deliveries d JOIN requests r ON r.id = d.request_id;
CREATE VIEW audit_log AS
SELECT id, strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS at, actor, action, subject, reason, detail
FROM audit;
CREATE INDEX rejections_to_correct ON rejections (source, order_id, line_id, product) WHERE corrected_at_ms IS NULL;
CREATE INDEX entries_unbought ON entries (state, settled_at_ms)
  WHERE (state = 'rejected' OR state = 'expired') AND replaced = 0 AND taken_back = 0 AND acknowledged_at_ms IS NULL
    AND error_code IS NOT 'rejected_by_person';
CREATE INDEX entries_waiting_age ON entries (created_at_ms) WHERE state = 'waiting';
CREATE INDEX rejections_attention ON rejections (created_at_ms)
  WHERE corrected_at_ms IS NULL AND taken_back = 0 AND acknowledged_at_ms IS NULL;
CREATE INDEX files_attention ON files (claimed_at_ms) WHERE state = 'rejected' AND acknowledged_at_ms IS NULL;
CREATE INDEX deliveries_given_up ON deliveries (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL AND acknowledged_at_ms IS NULL;
CREATE INDEX requests_with_capitals ON requests (lower(source), lower(order_id))
  WHERE source GLOB '*[A-Z]*' OR order_id GLOB '*[A-Z]*';
CREATE INDEX entries_by_order_number ON entries (order_number) WHERE order_number IS NOT NULL;
CREATE INDEX entries_by_iccid ON entries (iccid) WHERE iccid IS NOT NULL;
CREATE INDEX lines_same_as ON lines (same_as) WHERE same_as IS NOT NULL;
CREATE INDEX storefront_orders_rechecks ON storefront_orders (source, recheck_at_ms) WHERE recheck_since_ms IS NOT NULL;
CREATE INDEX entries_to_deliver ON entries (settled_at_ms)
  WHERE units_missing > 0 AND replaced = 0 AND taken_back = 0 AND acknowledged_at_ms IS NULL;
CREATE INDEX entries_units_by_key ON entries (sealed_by, id) WHERE units IS NOT NULL;
CREATE INDEX entries_to_shred ON entries (settled_at_ms, id) WHERE units IS NOT NULL AND settled_at_ms IS NOT NULL;
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
CREATE INDEX attempts_by_time ON attempts (opened_at_ms, purpose);
CREATE INDEX attempts_by_outcome ON attempts (outcome) WHERE outcome IS NOT NULL;
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_actor ON audit (actor, at_ms);
CREATE INDEX audit_by_action ON audit (action, at_ms);
CREATE INDEX audit_by_subject ON audit (subject, at_ms);
CREATE TRIGGER entries_change_their_count AFTER UPDATE OF state, lane ON entries
WHEN (NEW.state <> OLD.state OR NEW.lane <> OLD.lane) AND NEW.id <= (SELECT counted_up_to FROM counted_entries)
BEGIN
  UPDATE entry_counts SET entries = entries - 1 WHERE state = OLD.state AND lane = OLD.lane;
  INSERT INTO entry_counts (state, lane, entries) VALUES (NEW.state, NEW.lane, 1)
  ON CONFLICT (state, lane) DO UPDATE SET entries = entries + 1;
END;
CREATE INDEX entries_pending_age ON entries (substr(lane, 1, instr(lane, '|') - 1), created_at_ms) WHERE state = 'pending';
CREATE INDEX entries_state_age ON entries (state, substr(lane, 1, instr(lane, '|') - 1), created_at_ms) WHERE state <> 'pending';
CREATE INDEX csv_files_due ON csv_files (due_at_ms) WHERE done_version < due_version;
CREATE INDEX csv_files_given_up ON csv_files (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL;
CREATE VIEW outbox_attention AS
WITH RECURSIVE
  -- The lanes that have entries to send, found by going from one to the next: the cost is their number, not the backlog.
  pending (lane) AS (
    SELECT min(lane) FROM entries WHERE state = 'pending'
    UNION ALL
    SELECT (SELECT min(lane) FROM entries WHERE state = 'pending' AND lane > pending.lane) FROM pending WHERE pending.lane IS NOT NULL),
  waiting (lane) AS (
    SELECT min(lane) FROM entries WHERE state = 'waiting'
    UNION ALL
    SELECT (SELECT min(lane) FROM entries WHERE state = 'waiting' AND lane > waiting.lane) FROM waiting WHERE waiting.lane IS NOT NULL),
  -- A lane is `source|balances|product`, and only a product may have the separator in it.
  to_send (product) AS MATERIALIZED (
    SELECT DISTINCT substr(rest, instr(rest, '|') + 1) FROM (
      SELECT substr(lane, instr(lane, '|') + 1) AS rest FROM (
        SELECT lane FROM pending UNION ALL SELECT lane FROM waiting
        UNION ALL SELECT lane FROM entries WHERE state = 'unknown' AND next_step = 'send')
      WHERE lane IS NOT NULL))
SELECT e.state AS kind, e.reference AS id, e.reference, r.source, r.order_id, l.line_id, e.state,
       -- What a call for a held entry ended with before is not why it is held.
       CASE WHEN e.state = 'held' THEN 'held' ELSE coalesce(e.error_code, e.state) END AS code,
       CASE WHEN e.state = 'held' THEN e.review_reason ELSE coalesce(e.review_reason, e.error_message) END AS message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS since, NULL AS scope,
       'this line' AS holds_up,
       CASE WHEN e.held_by = 'shop' THEN 'it is released when the shop shows its order as paid again; `orders release` buys it without that'
         WHEN e.state = 'held' AND (SELECT same_as FROM lines WHERE id = e.line_id) IS NOT NULL THEN 'decide with `orders resolve --same` or `--another` whether both lines are one purchase'
         WHEN e.state = 'held' THEN 'release it with `orders release`, or end it with `orders cancel`'
         ELSE 'compare it with the supplier''s list, then settle it with `orders resolve`, or try again with `orders retry`' END AS what_to_do,
       0 AS can_acknowledge
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state IN ('needs_review', 'held')
UNION ALL
-- A lookup usually tells within minutes what became of a call. Where it cannot, the entry holds up its product and others.
SELECT 'unknown', e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, 'outcome_unknown'), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.first_sent_at_ms / 1000.0, 'unixepoch'), NULL,
       'this line, and with another one like it its product',
       'the worker looks it up by itself; `orders show` has its attempts, `orders retry` looks it up at once', 0
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state = 'unknown' AND e.first_sent_at_ms < unixepoch('subsec') * 1000 - 900000
UNION ALL
-- The worker noticed that the database is an older copy: what was taken in since is missing.
SELECT 'older_copy', 'older_copy:' || a.id, NULL, NULL, NULL, NULL, 'after_loss', 'older_copy', a.reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.at_ms / 1000.0, 'unixepoch'), NULL,
       'what was taken in after the copy was made: it is missing',
       'have the shops send it again, as docs/operating.md says under Restore; the row ends by itself', 0
FROM audit a WHERE a.subject = 'outbox' AND a.action = 'recovery_stage' AND a.actor = 'worker'
  AND json_extract(a.detail, '$.until_ms') > unixepoch() * 1000
UNION ALL
-- Pauses that are older than a minute, because most end before; one for an unproven connector at once. That of a product
-- only while it holds something up: whatever nobody orders any more waits for its trial for ever. The clock is that of the
-- machine that reads; a start that lies in the future comes from a clock that was set, and hides nothing.
SELECT 'pause', 'pause:' || p.scope, NULL, NULL, NULL, NULL, 'paused', p.reason, p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.scope,
       CASE WHEN p.scope = 'account' THEN 'everything that is to be sent'
            WHEN p.scope LIKE 'key:%' THEN 'what is sent with this key; with every key paused, everything'
            WHEN p.scope LIKE 'balance:%' THEN 'orders that are charged to this balance'
            WHEN p.scope = 'family:gift_card' THEN 'gift card orders'
            WHEN p.scope = 'family:esim' THEN 'eSIM orders'
            ELSE 'orders of this product' END,
       CASE WHEN p.reason = 'manual' THEN 'resume it with `queue resume`'
            WHEN p.reason = 'connector_unproven' THEN 'compare `wire` with the answers in `orders show`; if the mapping is right, `queue resume`'
            WHEN p.reason = 'api_unreachable' THEN 'nothing while the supplier is down: the worker tries again by itself; else repair the way to the API'
            ELSE 'repair its cause: the worker tries again by itself, or at once after `queue resume`' END, 0
FROM pauses p
WHERE (p.since_ms NOT BETWEEN unixepoch('subsec') * 1000 - 60000 AND unixepoch('subsec') * 1000 OR p.reason = 'connector_unproven')
  AND ((p.scope NOT LIKE 'variant:%' AND p.scope NOT LIKE 'plan:%') OR p.scope IN (SELECT product FROM to_send))
UNION ALL
-- A sink that takes no results, while some wait for it.
SELECT 'pause', 'sink:' || p.sink, NULL, NULL, NULL, NULL, 'paused', p.reason, p.sink || ': ' || p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.sink,
       'the results for this sink; nothing else',
       'repair the receiver or the folder: the worker tries again by itself, at least every five minutes', 0
FROM sink_pauses p
WHERE p.since_ms NOT BETWEEN unixepoch('subsec') * 1000 - 60000 AND unixepoch('subsec') * 1000
  AND EXISTS (SELECT 1 FROM deliveries d WHERE d.sink = p.sink AND d.done_version < d.due_version AND d.due_at_ms < 9000000000000000)
UNION ALL
-- Reading the shop back tells within minutes which lines were refunded, unless the shop cannot be read.
SELECT 'storefront', 'order:' || o.source || '/' || o.order_id, NULL, o.source, o.order_id, NULL, 'awaits_read_back', 'awaits_read_back',
       'was refunded in part, and the delivery did not say which line: nothing of it is bought or cancelled until the shop is read back',
       strftime('%Y-%m-%dT%H:%M:%fZ', o.seen_at_ms / 1000.0, 'unixepoch'), NULL,
       'this order', 'check the keys of the shop''s API, then read it back with `reconcile`', 0
FROM storefront_orders o WHERE o.awaits_read_back = 1 AND o.seen_at_ms < unixepoch('subsec') * 1000 - 3600000
UNION ALL
-- An order is usually read again within seconds. Where the shop cannot be read, what waits for that is not bought.
SELECT 'storefront', 'recheck:' || o.source || '/' || o.order_id, NULL, o.source, o.order_id, NULL, 'awaits_recheck', 'awaits_recheck',
       'is read again from the shop before it is bought, and that did not succeed yet' || coalesce(': ' || o.recheck_problem, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', o.recheck_since_ms / 1000.0, 'unixepoch'), NULL,
       'what is unsent of this order',
       'repair the way to the shop''s API: the worker tries again by itself; if nobody wants the order any more, end it with `orders cancel`', 0
FROM storefront_orders o WHERE o.recheck_since_ms IS NOT NULL AND o.recheck_since_ms < unixepoch('subsec') * 1000 - 600000
UNION ALL
SELECT 'refused_file', 'file:' || f.id, NULL, NULL, NULL, NULL, f.state, f.error_code, f.name || ': ' || coalesce(f.error_message, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(f.finished_at_ms, f.claimed_at_ms) / 1000.0, 'unixepoch'), NULL,
       'every line of the file', 'correct the file and send it again, then end it with `orders ack`', 1
FROM files f WHERE f.state = 'rejected' AND f.acknowledged_at_ms IS NULL
UNION ALL
SELECT 'delivery', 'delivery:' || d.request_id || ':' || d.sink, NULL, r.source, r.order_id, NULL, 'given_up', 'given_up',
       d.sink || ', tried ' || d.tries || ' times: ' || coalesce(d.last_error, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch'), NULL,
       'the result of this order: the shop does not have it',
       'repair the receiver and write it again with `results rewrite --sink`, or end it with `orders ack`', 1
FROM deliveries d LEFT JOIN requests r ON r.id = d.request_id WHERE d.given_up_at_ms IS NOT NULL AND d.acknowledged_at_ms IS NULL
UNION ALL
-- An order file whose rows are not written back any more, because its archive is gone or was changed.
SELECT 'delivery', 'csv:' || c.file_id, NULL, NULL, NULL, NULL, 'given_up', 'given_up',
       (SELECT name FROM files WHERE id = c.file_id) || ', tried ' || c.tries || ' times: ' || coalesce(c.last_error, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', c.given_up_at_ms / 1000.0, 'unixepoch'), NULL,
       'the CSV with the results of this order file; each order has its result in a file of its own',
       'read the results of its orders, or send the file again, which buys nothing twice; then end it with `orders ack`', 1
FROM csv_files c WHERE c.given_up_at_ms IS NOT NULL AND c.acknowledged_at_ms IS NULL
UNION ALL
-- An order file whose rows cannot be written back at the moment.
SELECT 'delivery', 'csv:' || c.file_id, NULL, NULL, NULL, NULL, 'waiting', 'not_written',
       (SELECT name FROM files WHERE id = c.file_id) || ', tried ' || c.tries || ' times: ' || coalesce(c.last_error, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', (SELECT finished_at_ms FROM files WHERE id = c.file_id) / 1000.0, 'unixepoch'), NULL,
       'the CSV with the results of this order file; each order has its result in a file of its own',
       'repair the folder of results: the worker tries again by itself, at least every five minutes', 0
FROM csv_files c
WHERE c.done_version < c.due_version AND c.due_at_ms < 9000000000000000 AND c.tries >= 3
UNION ALL
-- A paid line that was not bought. Where another entry took its place, that one answers for the line.
SELECT e.state, e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, e.state), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch'), NULL,
       'this line: its customer gets nothing',
       'correct its cause and order it again with `orders reorder` (after a correction of the SKU map with `orders reorder --remap`), or refund it in the shop, then end it with `orders ack`', 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE (e.state = 'rejected' OR e.state = 'expired') AND e.replaced = 0 AND e.taken_back = 0 AND e.acknowledged_at_ms IS NULL
  AND e.error_code IS NOT 'rejected_by_person'
UNION ALL
-- A paid line that a person found to be bought, and whose units nobody has.
SELECT 'needs_manual_delivery', e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, 'needs_manual_delivery',
       e.units_missing || ' of ' || coalesce(e.quantity, 1) || ' units are not in the outbox: ' || e.resolved_by || ' found that it was bought'
         || coalesce(', as order ' || e.order_number, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch'), NULL,
       'this line: its customer waits for the units',
       'enter the units with `orders resolve --as fulfilled --units`; or give them to the customer by hand, then end it with `orders ack`', 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.units_missing > 0 AND e.replaced = 0 AND e.taken_back = 0 AND e.acknowledged_at_ms IS NULL
UNION ALL
-- A line that was not accepted, until it comes again corrected: from then on its entry answers for it. The same
-- mistake of the same line in a later file takes its place: that is one thing to do. And what the worker flagged about an order of a shop. A known line with other content
-- (`conflict`) may have come from anywhere.
SELECT CASE WHEN j.file_id IS NULL AND j.line_number IS NULL AND j.code <> 'conflict' THEN 'storefront' ELSE 'refused_line' END, 'line:' || j.id,
       NULL, j.source, j.order_id, j.line_id, 'not_accepted', j.code,
       CASE WHEN j.line_number IS NULL THEN '' ELSE 'line ' || j.line_number || ' of the file, ' END
         || CASE WHEN j.field IS NULL THEN '' ELSE j.field || ': ' END || j.rule,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at_ms / 1000.0, 'unixepoch'), NULL,
       CASE WHEN j.code = 'conflict' THEN 'nothing: what was accepted first counts' ELSE 'this line' END,
       CASE WHEN j.code = 'conflict' THEN 'compare both contents in `orders show`, then end it with `orders ack`'
            WHEN j.file_id IS NULL AND j.line_number IS NULL AND j.code = 'unknown_sku'
              THEN 'correct the SKU map and order it with `orders reorder --remap`, or end it with `orders ack`'
            WHEN j.file_id IS NULL AND j.line_number IS NULL THEN 'look at the order in the shop and decide what becomes of it, then end it with `orders ack`'
            ELSE 'correct the line and send it again, or end it with `orders ack`' END, 1
FROM rejections j WHERE j.corrected_at_ms IS NULL AND j.taken_back = 0 AND j.acknowledged_at_ms IS NULL
  AND (j.file_id IS NULL OR NOT EXISTS (SELECT 1 FROM rejections n WHERE n.source = j.source AND n.order_id = j.order_id AND n.line_id = j.line_id
    AND n.code = j.code AND n.code <> 'duplicate_line' AND n.rule = j.rule AND n.file_id <> j.file_id AND n.id > j.id))
UNION ALL
-- Nothing was charged, and the worker tries again; but a customer has waited for an hour.
SELECT 'waiting', e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, 'waiting'), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at_ms / 1000.0, 'unixepoch'), NULL,
       'this line', 'the worker tries it again by itself; if nobody wants it any more, end it with `orders cancel`', 0
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state = 'waiting' AND e.created_at_ms < unixepoch('subsec') * 1000 - 3600000;
