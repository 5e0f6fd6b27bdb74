-- Times that end in _ms are wall time in ms since 1970 (UTC). Times that end in _mono are ms of the machine's monotonic
-- clock; they mean something only in the run of the machine that the boot_id beside them names.
--
-- A CHECK of more than two values is written with OR: for IN, SQLite builds a temporary table of the values for each row
-- that it checks, which was a fifth of what accepting an order line cost.

-- Facts about the database: its id, the upstream and the reference secret it belongs to, which lookup paths are proven, and
-- until when entries are looked up before they are sent.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each run of the worker. An attempt that another run left open is recognised by it.
CREATE TABLE incarnations (
  id            INTEGER PRIMARY KEY,
  boot_id       TEXT,
  version       TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  stopped_at_ms INTEGER
) STRICT;

-- Intake --------------------------------------------------------------------------------------------------------------

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
) STRICT;
CREATE INDEX files_by_hash ON files (sha256);

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

-- The identity of a line is (source, order_id, line_id), for ever, whatever content is sent for it later.
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
  received_at_ms INTEGER NOT NULL,
  UNIQUE (request_id, line_id)
) STRICT;

-- Lines that could not be accepted: an invalid line, or a known line with other content. They have no identity.
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
) STRICT;
-- A file that is read again finds the same rejections again. One line of a file may hold a whole order, so the line
-- number alone does not tell the lines of the order apart.
CREATE UNIQUE INDEX rejections_once
  ON rejections (file_id, line_number, coalesce(order_id, ''), coalesce(line_id, ''), coalesce(field, ''), code)
  WHERE file_id IS NOT NULL;
CREATE INDEX rejections_by_order ON rejections (source, order_id);

-- Storefronts ---------------------------------------------------------------------------------------------------------

-- The newest state of each storefront order that was seen, bought or not. Deliveries of a shop overtake each other: an
-- old "paid" that arrives after a newer "refunded" must buy nothing.
CREATE TABLE storefront_orders (
  source           TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  order_id         TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  -- When the shop last changed it, by the shop's clock. Only ever compared with itself.
  modified_ms      INTEGER NOT NULL,
  -- 1: cancelled or refunded as a whole.
  closed           INTEGER NOT NULL CHECK (closed IN (0, 1)),
  seen_at_ms       INTEGER NOT NULL,
  -- 1: a delivery did not say what was refunded, so the order waits until it is read back from the shop.
  awaits_read_back INTEGER NOT NULL DEFAULT 0 CHECK (awaits_read_back IN (0, 1)),
  PRIMARY KEY (source, order_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX storefront_orders_awaiting ON storefront_orders (source, seen_at_ms) WHERE awaits_read_back = 1;

-- How far each storefront's list of orders was read back, by the shop's clock. Every older change is on disk.
CREATE TABLE storefront_watermarks (
  source        TEXT NOT NULL PRIMARY KEY CHECK (length(source) BETWEEN 1 AND 64),
  modified_ms   INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- SKUs that the SKU map did not know when an order with them was first seen, and in how many orders. Lines with them are
-- ignored, so without this nobody would notice a product that is missing from the map.
CREATE TABLE storefront_unmapped_skus (
  source           TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  sku              TEXT NOT NULL CHECK (length(sku) <= 128),
  orders           INTEGER NOT NULL CHECK (orders > 0),
  last_order_id    TEXT NOT NULL,
  first_seen_at_ms INTEGER NOT NULL,
  last_seen_at_ms  INTEGER NOT NULL,
  PRIMARY KEY (source, sku)
) STRICT, WITHOUT ROWID;

-- How each shop is recognised (its name, its address, a fingerprint of its secret), and the source of its orders. The
-- source is a part of every reference: under another source, orders that the shop shows again would be bought again.
CREATE TABLE shop_fingerprints (
  kind       TEXT NOT NULL CHECK (kind = 'name' OR kind = 'address' OR kind = 'secret'),
  value      TEXT NOT NULL CHECK (length(value) BETWEEN 1 AND 4096),
  source     TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  seen_at_ms INTEGER NOT NULL,
  PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;

-- Submission ----------------------------------------------------------------------------------------------------------

-- One row for each reference (or for one cancel). Every write is a conditional UPDATE whose row count is asserted.
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
  -- The end of the settlement delay: by the wall clock for people, and by the monotonic clock, which nobody can set, for
  -- the worker.
  settlement_delay_end_ms   INTEGER,
  settlement_delay_end_mono REAL,
  settlement_delay_boot_id  TEXT,
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
  settled_at_ms             INTEGER,
  UNIQUE (line_id, generation, part)
) STRICT;
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
-- The check whether lookups work asks for an order that was surely bought, without a search through another operation.
CREATE INDEX entries_bought ON entries (operation) WHERE state = 'fulfilled' AND outcome_row = 'accepted';

CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted: their references must be known for ever'); END;
CREATE TRIGGER entries_keep_their_reference BEFORE UPDATE OF reference, line_id, operation ON entries
BEGIN SELECT RAISE(ABORT, 'a reference stands for one purchase, for ever'); END;
CREATE TRIGGER entries_keep_their_request BEFORE UPDATE OF request_body ON entries
WHEN OLD.request_body IS NOT NULL AND NEW.request_body IS NOT OLD.request_body
BEGIN SELECT RAISE(ABORT, 'the request of a reference is never changed'); END;

-- Which order an eSIM came from: after an ambiguous cancel, a lookup of that order tells what became of it.
CREATE TABLE esims (
  iccid    TEXT PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES entries (id)
) STRICT, WITHOUT ROWID;

-- The most units of a variant that one order may hold, as far as rejections have told.
CREATE TABLE variant_limits (
  variant       TEXT PRIMARY KEY,
  known_limit   INTEGER NOT NULL CHECK (known_limit >= 0),
  learned_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each HTTP call. Opened before the socket is used, closed once, then never changed, and never deleted.
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
-- An entry has one call in flight at most: the database itself refuses a second one.
CREATE UNIQUE INDEX attempts_open ON attempts (entry_id) WHERE closed_at_ms IS NULL;

CREATE TRIGGER attempts_are_final BEFORE UPDATE ON attempts WHEN OLD.closed_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a closed attempt is never changed'); END;
CREATE TRIGGER attempts_are_kept BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts are append-only'); END;

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

-- The keys that were configured last, and the back-off of each after a 429. A changed value is recognised by its
-- fingerprint, a keyed digest from which the key cannot be found.
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

-- Results -------------------------------------------------------------------------------------------------------------

-- The write-back of each result to each sink. A delivery that fails never touches buying.
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
  given_up_at_ms INTEGER,
  PRIMARY KEY (request_id, sink)
) STRICT, WITHOUT ROWID;
-- By sink: one that is behind must not slow the others down.
CREATE INDEX deliveries_due ON deliveries (sink, due_at_ms) WHERE done_version < due_version;
CREATE INDEX deliveries_given_up ON deliveries (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL;

-- Operator ------------------------------------------------------------------------------------------------------------

-- Who decided what, about which subject, and why.
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at_ms   INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  action  TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason  TEXT NOT NULL,
  detail  TEXT NOT NULL
) STRICT;
-- The detail of an order shows what was decided about it.
CREATE INDEX audit_by_subject ON audit (subject);
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
