-- See make-dump.ts.
PRAGMA application_id = 1869838702;
PRAGMA user_version = 1;
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE steady_time (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  steady_ms  REAL NOT NULL,
  -- What the wall clock showed less steady_ms.
  ahead_ms   INTEGER NOT NULL,
  machine_ms REAL NOT NULL,
  boot_id    TEXT
) STRICT;
CREATE TABLE files (
  number             INTEGER PRIMARY KEY,
  id                 TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 64),
  name               TEXT NOT NULL CHECK (length(name) <= 1024),
  -- The name of the watched folder that it came from.
  folder             TEXT NOT NULL CHECK (length(folder) BETWEEN 1 AND 32),
  sha256             TEXT,
  size_bytes         INTEGER,
  -- Of a CSV file that is written back, as it was read: a later configuration might find another one.
  delimiter          TEXT CHECK (length(delimiter) = 1),
  state              TEXT NOT NULL CHECK (state IN ('claimed', 'ingesting', 'ingested', 'archived', 'rejected')),
  -- Raised and committed before the file is parsed: a file that kills the worker again and again is set aside.
  starts             INTEGER NOT NULL DEFAULT 0,
  accepted_count     INTEGER NOT NULL DEFAULT 0,
  known_count        INTEGER NOT NULL DEFAULT 0,
  conflict_count     INTEGER NOT NULL DEFAULT 0,
  rejected_count     INTEGER NOT NULL DEFAULT 0,
  error_code         TEXT,
  error_message      TEXT,
  claimed_at_ms      INTEGER NOT NULL,
  finished_at_ms     INTEGER,
  acknowledged_at_ms INTEGER
) STRICT;
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
  id               INTEGER PRIMARY KEY,
  request_id       INTEGER NOT NULL REFERENCES requests (id),
  line_id          TEXT NOT NULL CHECK (length(line_id) BETWEEN 1 AND 64),
  operation        TEXT NOT NULL CHECK (operation = 'gift_card_order' OR operation = 'esim_order'
                     OR operation = 'esim_topup' OR operation = 'esim_cancel'),
  variant          TEXT,
  plan             TEXT,
  iccid            TEXT,
  quantity         INTEGER,
  days             INTEGER,
  currency         TEXT,
  not_after_ms     INTEGER,
  extra            TEXT NOT NULL,
  fingerprint      TEXT NOT NULL,
  file_id          TEXT REFERENCES files (id),
  received_at_ms   INTEGER NOT NULL,
  -- Why the state of the shop's order forbids to buy the line now, and whether an operator lifted that. Read by every claim.
  shop_hold        TEXT,
  shop_hold_lifted INTEGER NOT NULL DEFAULT 0 CHECK (shop_hold_lifted IN (0, 1)),
  -- Keyed hashes of the customer's e-mail address and phone, where the order names them: a limit on spending may be for each customer.
  email_mark       TEXT,
  phone_mark       TEXT,
  -- The id of the line of the same order that vanished when this one came, with the same SKU: one purchase, until an operator
  -- says that this one is another.
  same_as          INTEGER,
  UNIQUE (request_id, line_id)
) STRICT;
CREATE TABLE rejections (
  id                 INTEGER PRIMARY KEY,
  file_id            TEXT REFERENCES files (id),
  line_number        INTEGER,
  source             TEXT,
  order_id           TEXT,
  line_id            TEXT,
  code               TEXT NOT NULL,
  field              TEXT,
  rule               TEXT NOT NULL,
  value              TEXT,
  -- The product that the line names, where that can be read: by it a line whose id was wrong is found again.
  product            TEXT,
  created_at_ms      INTEGER NOT NULL,
  -- When the line came again and was accepted.
  corrected_at_ms    INTEGER,
  -- 1: the shop refunded the line or cancelled its order: nobody waits for it any more.
  taken_back         INTEGER NOT NULL DEFAULT 0 CHECK (taken_back = 0 OR taken_back = 1),
  acknowledged_at_ms INTEGER
) STRICT;
CREATE VIRTUAL TABLE search_words USING fts5(
  words, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '@._+-'");
CREATE TABLE storefront_orders (
  source           TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  order_id         TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  -- When the shop last changed it, by the shop's clock. Only ever compared with itself.
  modified_ms      INTEGER NOT NULL,
  -- What this state says about buying the order. Within the same second of the shop, `lines_left` (how many of each line the
  -- customer keeps, as JSON; null: not read yet) and the number of refunds tell which of two states is older.
  state            TEXT NOT NULL DEFAULT 'paid'
    CHECK (state = 'unpaid' OR state = 'paid' OR state = 'on_hold' OR state = 'unknown_status' OR state = 'closed' OR state = 'deleted'),
  refund_count     INTEGER NOT NULL DEFAULT 0,
  lines_left       TEXT,
  seen_at_ms       INTEGER NOT NULL,
  -- When this state was the shop's present one, as far as is known: when it was read there, or when it changed, as a webhook
  -- told. An older one is read once more before the order is bought.
  current_at_ms    INTEGER NOT NULL DEFAULT 0,
  -- 1: a delivery did not say what was refunded, so the order waits until it is read back from the shop.
  awaits_read_back INTEGER NOT NULL DEFAULT 0 CHECK (awaits_read_back IN (0, 1)),
  -- Since when a line waits until the order is read once more, when it is read next, and why it could not be read; null:
  -- nothing waits.
  recheck_since_ms INTEGER,
  recheck_steady   REAL,
  recheck_problem  TEXT,
  -- The order as it was read, with only the lines that the SKU map did not know: with a corrected map they can be ordered.
  kept_order       TEXT,
  -- What tells a sale from another one that the shop gave the same id; null: it does not say.
  sale_key         TEXT,
  -- When it was paid, as its first paid state told; null: no state has told it yet.
  paid_ms          INTEGER,
  -- The last result in the shop's order that another worker wrote, as JSON. It is kept when this worker writes its own over it.
  other_result     TEXT,
  PRIMARY KEY (source, order_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE storefronts (
  source          TEXT NOT NULL PRIMARY KEY CHECK (length(source) BETWEEN 1 AND 64),
  -- The first start with it. What was paid before was not sold for this worker to buy.
  connected_at_ms INTEGER,
  -- The same in steady time: an ahead clock may have dated it.
  connected_steady REAL,
  -- How far its list of orders was read back, by the shop's clock. Every older change is on disk.
  read_until_ms   INTEGER,
  -- The addresses by which it names itself in its orders, as JSON: an order that names another one comes from a copy of the shop.
  sites           TEXT NOT NULL DEFAULT '[]'
) STRICT, WITHOUT ROWID;
CREATE TABLE storefront_skus (
  source          TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  sku             TEXT NOT NULL,
  -- 1: the map that is in use has it; 0: an earlier one had it; null: none had it.
  is_mapped       INTEGER CHECK (is_mapped IN (0, 1)),
  unmapped_orders INTEGER NOT NULL DEFAULT 0,
  last_order_id   TEXT,
  last_seen_at_ms INTEGER,
  PRIMARY KEY (source, sku)
) STRICT, WITHOUT ROWID;
CREATE TABLE shop_fingerprints (
  kind       TEXT NOT NULL CHECK (kind = 'name' OR kind = 'address' OR kind = 'secret'),
  value      TEXT NOT NULL CHECK (length(value) BETWEEN 1 AND 4096),
  source     TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  seen_steady REAL NOT NULL,
  PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
CREATE TABLE storefront_marks (
  source   TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  kind     TEXT NOT NULL CHECK (kind = 'is' OR kind = 'part_of' OR kind = 'names' OR kind = 'payment' OR kind = 'key'),
  value    TEXT NOT NULL CHECK (length(value) BETWEEN 1 AND 256),
  order_id TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  PRIMARY KEY (source, value, kind, order_id)
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
  -- The state that it had when it was held, and who held it: null for an operator, `shop` for the state of its order there, and
  -- `limit` for a limit on spending, which also release it.
  held_from                 TEXT,
  held_by                   TEXT CHECK (held_by = 'shop' OR held_by = 'limit'),
  -- The limit on spending that holds it, and 1 where an operator released it from that.
  over_limit                TEXT,
  limit_lifted              INTEGER NOT NULL DEFAULT 0 CHECK (limit_lifted = 0 OR limit_lifted = 1),
  -- What it probably costs, in millionths of its currency, from its first claim until its cost is known or it was surely not
  -- bought: that counts against the limits on spending. 0: nobody knows. Two triggers end it.
  reserved                  INTEGER CHECK (reserved >= 0),
  -- 1: rejected, and other entries took its place. The line is judged by those.
  replaced                  INTEGER NOT NULL DEFAULT 0 CHECK (replaced IN (0, 1)),
  -- 1: the shop refunded the line or cancelled its order: nobody waits for it any more.
  taken_back                INTEGER NOT NULL DEFAULT 0 CHECK (taken_back = 0 OR taken_back = 1),
  acknowledged_at_ms        INTEGER,
  -- Entries queue in lanes, `source|balances|product`: the backlog of one shop delays no single order of another, and what
  -- waits for a paused balance or product costs no search.
  lane                      TEXT NOT NULL,
  -- What is due at due_steady: to send the call, or to look up what became of it. Of one that is sent now: when that began.
  next_step                 TEXT NOT NULL DEFAULT 'send' CHECK (next_step IN ('send', 'lookup')),
  due_steady                REAL NOT NULL,
  -- When it was due before it began to wait for its order to be read again in the shop; null: it does not wait for that.
  due_before_recheck_steady REAL,
  -- 1: the API may have processed an attempt, and nothing has settled that yet.
  outcome_unknown           INTEGER NOT NULL DEFAULT 0 CHECK (outcome_unknown IN (0, 1)),
  in_flight_window_end_steady REAL,
  -- Attempts that count, and tries of the present kind (the position in a retry schedule).
  attempts                  INTEGER NOT NULL DEFAULT 0,
  tries                     INTEGER NOT NULL DEFAULT 0,
  -- How many lookups in a row found nothing where that would settle the entry. The worker does not believe one alone.
  absences                  INTEGER NOT NULL DEFAULT 0,
  -- 0: a lost outbox may have sent the entry, so it is looked up first; 1: lookups have told since; null: none may have.
  asked_after_loss          INTEGER CHECK (asked_after_loss IN (0, 1)),
  -- Since when the API may know the reference.
  first_sent_steady         REAL,
  last_sent_at_ms           INTEGER,
  -- 1: a call of it left after the last lookup that proved it absent, so it may not end as unbought without another one.
  sent_since_lookup         INTEGER NOT NULL DEFAULT 0 CHECK (sent_since_lookup IN (0, 1)),
  key_name                  TEXT,
  -- The exact request, stored with the first attempt and never rendered again.
  request_method            TEXT,
  request_path              TEXT,
  request_body              TEXT,
  -- The headers that the mapping gave the request, as JSON; null: none.
  request_headers           TEXT,
  order_number              TEXT,
  status                    TEXT,
  cost                      TEXT,
  charged_currency          TEXT,
  -- The cost that an answer showed in another form than a plain amount, while none is known: it is in no sum.
  uncounted_cost            TEXT,
  -- What the answer to a cancel says came back.
  refund                    TEXT,
  -- JSON, or sealed: `sealed:1:<key id>:<nonce>:<text>`, and then the key that sealed them. No generated column: with one,
  -- VACUUM INTO of some versions of SQLite fails.
  units                     TEXT,
  sealed_by                 TEXT,
  -- SQL cannot look into sealed units. The count stays when the units were shredded, because they were kept for long enough.
  unit_count                INTEGER NOT NULL DEFAULT 0 CHECK (unit_count >= 0),
  shredded_at_ms            INTEGER,
  -- How many units nobody has of an entry that an operator found to be bought: its customer waits for them.
  units_missing             INTEGER NOT NULL DEFAULT 0 CHECK (units_missing >= 0),
  outcome_row               TEXT,
  error_code                TEXT,
  error_message             TEXT,
  -- 1: an earlier attempt of ours may have caused the rejection above, so it proves nothing yet.
  -- 2: it ends as cancelled for the reason above, once lookups have not found it.
  error_buffered            INTEGER NOT NULL DEFAULT 0 CHECK (error_buffered IN (0, 1, 2)),
  review_reason             TEXT,
  -- Who resolved it by hand, for its result.
  resolved_by               TEXT,
  -- Why its order number or its units may be those of another order: another entry was shown them, too, or they are more than were
  -- ordered. See `isInQuestion`.
  in_question               TEXT,
  created_at_ms             INTEGER NOT NULL,
  updated_at_ms             INTEGER NOT NULL,
  settled_at_ms             INTEGER,
  UNIQUE (line_id, generation, part)
) STRICT;
CREATE TABLE charges (
  entry_id    INTEGER NOT NULL REFERENCES entries (id),
  number      INTEGER NOT NULL,
  kind        TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'estimate' OR kind = 'refund'),
  currency    TEXT NOT NULL,
  millionths  INTEGER CHECK (millionths IS NOT NULL OR kind <> 'charge'),
  at_ms       INTEGER NOT NULL,
  -- By this the limits on spending count what was charged within their window.
  at_steady   REAL NOT NULL,
  PRIMARY KEY (entry_id, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE balances (
  currency   TEXT PRIMARY KEY,
  millionths INTEGER NOT NULL,
  at_ms      INTEGER NOT NULL,
  at_steady  REAL NOT NULL,
  set_by     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE unit_marks (
  mark     TEXT NOT NULL CHECK (length(mark) = 22),
  entry_id INTEGER NOT NULL REFERENCES entries (id),
  -- The last four characters of a code of eight and more, for the search; null once the codes are shredded.
  ending   TEXT CHECK (length(ending) = 4),
  PRIMARY KEY (mark, entry_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE esims (
  iccid    TEXT PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES entries (id)
) STRICT, WITHOUT ROWID;
CREATE TABLE variant_limits (
  variant       TEXT PRIMARY KEY,
  known_limit   INTEGER NOT NULL CHECK (known_limit >= 0),
  learned_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE product_costs (
  product   TEXT NOT NULL,
  days      INTEGER NOT NULL,
  currency  TEXT NOT NULL,
  unit_cost REAL NOT NULL,
  PRIMARY KEY (product, days, currency)
) STRICT, WITHOUT ROWID;
CREATE TABLE catalogue_prices (
  product  TEXT NOT NULL,
  currency TEXT NOT NULL,
  price    REAL NOT NULL,
  PRIMARY KEY (product, currency)
) STRICT, WITHOUT ROWID;
CREATE TABLE attempts (
  id             INTEGER PRIMARY KEY,
  entry_id       INTEGER NOT NULL REFERENCES entries (id),
  number         INTEGER NOT NULL,
  purpose        TEXT NOT NULL CHECK (purpose IN ('submit', 'lookup')),
  key_name       TEXT NOT NULL,
  -- Of the value that the key had: what is open is looked up with a key of the same account.
  key_fingerprint TEXT,
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
CREATE TABLE budget_slots (
  id           INTEGER PRIMARY KEY,
  key_name     TEXT NOT NULL,
  limit_name   TEXT NOT NULL CHECK (limit_name IN ('requests', 'orders')),
  attempt_id   INTEGER,
  -- When its window began; null: its call is open.
  settled_steady REAL
) STRICT;
CREATE TABLE wholesale_keys (
  key_name             TEXT PRIMARY KEY,
  value_fingerprint    TEXT,
  -- The key is not used before this.
  blocked_until_steady   REAL,
  -- Its calls keep an even distance before this; for how long in all.
  throttled_until_steady REAL,
  throttle_length_ms   REAL,
  rate_limited_at_ms   INTEGER,
  -- Since when the API answers 429 again and again although the worker keeps within the limits of the key.
  used_elsewhere_since_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE pauses (
  scope       TEXT PRIMARY KEY,
  reason      TEXT NOT NULL,
  message     TEXT NOT NULL,
  opened_by   TEXT NOT NULL,
  since_ms    INTEGER NOT NULL,
  -- When the worker probes the scope next; null: only an operator ends the pause.
  probe_steady REAL,
  probes      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE scope_evidence (
  scope    TEXT NOT NULL CHECK (length(scope) <= 300),
  reason   TEXT NOT NULL,
  entry_id INTEGER NOT NULL REFERENCES entries (id),
  product  TEXT,
  at_steady REAL NOT NULL,
  PRIMARY KEY (scope, reason, entry_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE deliveries (
  -- The order; negative: the number of a CSV order file, which comes back with the results of its rows.
  request_id         INTEGER NOT NULL,
  sink               TEXT NOT NULL,
  due_version        INTEGER NOT NULL,
  done_version       INTEGER NOT NULL DEFAULT 0,
  due_steady         INTEGER NOT NULL,
  tries              INTEGER NOT NULL DEFAULT 0,
  last_error         TEXT,
  done_at_ms         INTEGER,
  -- A receiver that refuses a result for days is given up, and the delivery is flagged for review.
  given_up_at_ms     INTEGER,
  acknowledged_at_ms INTEGER,
  -- The events that an endpoint of events has confirmed about the order, as JSON: see core/result/result-events.ts.
  confirmed_events   TEXT,
  -- The notes that were posted into a shop's order, and those whose post began, as JSON, by its platform.
  note_posts         TEXT,
  -- 1: the customer waits for what the result gives: it comes before other results of its sink, such as notes about old orders.
  gives_units        INTEGER NOT NULL DEFAULT 0,
  -- What the last try failed with, where that decides what is to be done: see `WriteBackError`.
  given_up_reason    TEXT,
  PRIMARY KEY (request_id, sink)
) STRICT, WITHOUT ROWID;
CREATE TABLE sink_pauses (
  sink        TEXT PRIMARY KEY,
  reason      TEXT NOT NULL,
  message     TEXT NOT NULL,
  since_ms    INTEGER NOT NULL,
  probe_steady REAL NOT NULL,
  probes      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE file_rows (
  file_number INTEGER NOT NULL REFERENCES files (number),
  first_row   INTEGER NOT NULL,
  first_line  INTEGER NOT NULL,
  line_count  INTEGER NOT NULL CHECK (line_count > 0),
  PRIMARY KEY (file_number, first_row)
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
CREATE TABLE alerts_told (
  endpoint TEXT PRIMARY KEY,
  told     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE entry_counts (
  state   TEXT NOT NULL,
  lane    TEXT NOT NULL,
  entries INTEGER NOT NULL,
  PRIMARY KEY (state, lane)
) STRICT, WITHOUT ROWID;
CREATE TABLE hourly_statistics (
  name TEXT NOT NULL CHECK (length(name) <= 16),
  hour INTEGER NOT NULL,
  key  TEXT NOT NULL CHECK (length(key) <= 64),
  n    INTEGER NOT NULL,
  PRIMARY KEY (name, hour, key)
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('connector_proven:gift_card', '');
INSERT INTO meta VALUES ('counted_up_to', '0');
INSERT INTO meta VALUES ('database_id', '1fac55152b5265290c451e6f85293842');
INSERT INTO meta VALUES ('namespace', 'eb999be8c4b366a4');
INSERT INTO meta VALUES ('path_accepted:gift_card_order', '/orders');
INSERT INTO meta VALUES ('schema:0001_outbox.sql', 'e5f2bf96c5ff9fd6e3ee83dcbe0435eee649f5859d4852b451e19e05de3250d1');
INSERT INTO meta VALUES ('schema:views/other_workers.sql', 'a520e3a781f2ac471bcc1a18481482b326fa7735cb2c1afa6aed34ba61796ee9');
INSERT INTO meta VALUES ('schema:views/outbox.sql', 'fda73d254fe1cb351ef175bdabad9d0a2fd9285193fce69fb15b4f89ec13aba4');
INSERT INTO meta VALUES ('schema:views/outbox_attention.sql', '2dcd043340557e953b23e5087f10a9e27b5d06ab9c4a468787203affc3849cb3');
INSERT INTO meta VALUES ('schema:views/pieces_in_question.sql', 'd4aa8e487f9abbde5af2932d661c5bef90f4995975a3cc8a387b98d0d88a073e');
INSERT INTO meta VALUES ('schema:views/storefront_related.sql', '6f98f71dfd0be97dad83a4088835b54743501b109f07e05bb630816f12e8a329');
INSERT INTO meta VALUES ('upstream', 'sandbox');
INSERT INTO steady_time VALUES (1, 0, 0, 0, NULL);
INSERT INTO requests VALUES (1, 'shop1', 'waiting', '{"customer":"waiting@shop.example"}', 1000, 1, 1000);
INSERT INTO requests VALUES (2, 'shop1', 'unknown', '{"customer":"unknown@shop.example"}', 1000, 1, 1000);
INSERT INTO requests VALUES (3, 'shop1', 'placed', '{"customer":"placed@shop.example"}', 1000, 2, 2500);
INSERT INTO requests VALUES (4, 'shop1', 'fulfilled', '{"customer":"fulfilled@shop.example"}', 1000, 2, 2500);
INSERT INTO requests VALUES (5, 'shop1', 'refunded', '{"customer":"refunded@shop.example"}', 1000, 2, 2500);
INSERT INTO requests VALUES (6, 'shop1', 'rejected', '{"customer":"rejected@shop.example"}', 1000, 2, 2500);
INSERT INTO requests VALUES (7, 'shop1', 'needs_review', '{"customer":"needs_review@shop.example"}', 1000, 2, 2500);
INSERT INTO requests VALUES (8, 'shop1', 'expired', '{"customer":"expired@shop.example"}', 1000, 2, 2000);
INSERT INTO requests VALUES (9, 'shop1', 'cancelled', '{"customer":"cancelled@shop.example"}', 1000, 2, 2500);
INSERT INTO requests VALUES (10, 'shop1', 'held', '{"customer":"held@shop.example"}', 1000, 2, 2500);
INSERT INTO requests VALUES (11, 'shop1', 'sending', '{"customer":"sending@shop.example"}', 1000, 1, 1000);
INSERT INTO requests VALUES (12, 'shop1', 'pending', '{"customer":"pending@shop.example"}', 1000, 1, 1000);
INSERT INTO lines VALUES (1, 1, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (2, 2, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (3, 3, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (4, 4, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (5, 5, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (6, 6, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (7, 7, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (8, 8, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', 1500, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (9, 9, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (10, 10, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (11, 11, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
INSERT INTO lines VALUES (12, 12, '1', 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', '4c8a40b39bf61c492363692575338f61', NULL, 1000, NULL, 0, NULL, NULL, NULL);
DELETE FROM search_words_data;
INSERT INTO search_words_data VALUES (1, x'0c18');
INSERT INTO search_words_data VALUES (10, x'00000001010c0c000c0101010201010301010401010501010601010701010801010901010a01010b01010c0101');
INSERT INTO search_words_data VALUES (137438953473, x'000000260930737465616d2d313001011477616974696e674073686f702e6578616d706c6501040b');
INSERT INTO search_words_data VALUES (274877906945, x'000000260930737465616d2d3130020114756e6b6e6f776e4073686f702e6578616d706c6502040b');
INSERT INTO search_words_data VALUES (412316860417, x'000000251430706c616365644073686f702e6578616d706c65030108737465616d2d3130030416');
INSERT INTO search_words_data VALUES (549755813889, x'00000028173066756c66696c6c65644073686f702e6578616d706c65040108737465616d2d3130040419');
INSERT INTO search_words_data VALUES (687194767361, x'000000271630726566756e6465644073686f702e6578616d706c65050108737465616d2d3130050418');
INSERT INTO search_words_data VALUES (824633720833, x'00000027163072656a65637465644073686f702e6578616d706c65060108737465616d2d3130060418');
INSERT INTO search_words_data VALUES (962072674305, x'0000002b1a306e656564735f7265766965774073686f702e6578616d706c65070108737465616d2d313007041c');
INSERT INTO search_words_data VALUES (1099511627777, x'000000261530657870697265644073686f702e6578616d706c65080108737465616d2d3130080417');
INSERT INTO search_words_data VALUES (1236950581249, x'00000028173063616e63656c6c65644073686f702e6578616d706c65090108737465616d2d3130090419');
INSERT INTO search_words_data VALUES (1374389534721, x'00000023123068656c644073686f702e6578616d706c650a0108737465616d2d31300a0414');
INSERT INTO search_words_data VALUES (1511828488193, x'00000025153073656e64696e674073686f702e6578616d706c650b02077465616d2d31300b0417');
INSERT INTO search_words_data VALUES (1649267441665, x'00000026153070656e64696e674073686f702e6578616d706c650c0108737465616d2d31300c0417');
DELETE FROM search_words_idx;
INSERT INTO search_words_idx VALUES (1, x'', 2);
INSERT INTO search_words_idx VALUES (2, x'', 2);
INSERT INTO search_words_idx VALUES (3, x'', 2);
INSERT INTO search_words_idx VALUES (4, x'', 2);
INSERT INTO search_words_idx VALUES (5, x'', 2);
INSERT INTO search_words_idx VALUES (6, x'', 2);
INSERT INTO search_words_idx VALUES (7, x'', 2);
INSERT INTO search_words_idx VALUES (8, x'', 2);
INSERT INTO search_words_idx VALUES (9, x'', 2);
INSERT INTO search_words_idx VALUES (10, x'', 2);
INSERT INTO search_words_idx VALUES (11, x'', 2);
INSERT INTO search_words_idx VALUES (12, x'', 2);
DELETE FROM search_words_config;
INSERT INTO search_words_config VALUES ('automerge', 16);
INSERT INTO search_words_config VALUES ('version', 4);
INSERT INTO entries VALUES (1, 'os-s2ttrt7j3k3l7rfsleu474orkk', 1, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'waiting', NULL, NULL, NULL, 0, 0, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 900000, NULL, 0, NULL, 1, 1, 0, NULL, 2000, 2000, 1, 'main', 'POST', '/orders', '{"reference":"os-s2ttrt7j3k3l7rfsleu474orkk"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 'out_of_stock', 'invalid_variant', 'No such product', 0, NULL, NULL, NULL, 1000, 2500, NULL);
INSERT INTO entries VALUES (2, 'os-fssvv7y3jp37r6tf3ozihnwl7t', 2, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'unknown', NULL, NULL, NULL, 0, 0, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'lookup', 3000, NULL, 1, 120000, 1, 1, 0, NULL, 2000, 2000, 1, 'main', 'POST', '/orders', '{"reference":"os-fssvv7y3jp37r6tf3ozihnwl7t"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 'dropped', 'dropped', 'other side closed', 0, NULL, NULL, NULL, 1000, 2500, NULL);
INSERT INTO entries VALUES (3, 'os-zgjtqlxdjs2uuimpjrkt5ruig6', 3, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'placed', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'lookup', 3000, NULL, 0, NULL, 1, 1, 0, NULL, 2000, 2000, 1, 'main', 'POST', '/orders', '{"reference":"os-zgjtqlxdjs2uuimpjrkt5ruig6"}', NULL, 'GC-3', 'completed', '10.00', 'USD', NULL, NULL, NULL, NULL, 0, NULL, 0, 'accepted', NULL, NULL, 0, NULL, NULL, NULL, 1000, 2500, NULL);
INSERT INTO entries VALUES (4, 'os-mu6nrg5jsrkbmoftylpjl7aw7g', 4, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'fulfilled', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 3000, NULL, 0, NULL, 1, 1, 0, NULL, 2000, 2000, 1, 'main', 'POST', '/orders', '{"reference":"os-mu6nrg5jsrkbmoftylpjl7aw7g"}', NULL, 'GC-4', 'completed', '10.00', 'USD', NULL, NULL, '[{"code":"SECRET-CODE-1004"}]', NULL, 1, NULL, 0, 'accepted', NULL, NULL, 0, NULL, NULL, NULL, 1000, 2500, 2500);
INSERT INTO entries VALUES (5, 'os-b6ijnl4lyf2hd7o45etoyydfhw', 5, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'refunded', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 3000, NULL, 0, NULL, 1, 1, 0, NULL, 2000, 2000, 1, 'main', 'POST', '/orders', '{"reference":"os-b6ijnl4lyf2hd7o45etoyydfhw"}', NULL, 'GC-5', 'completed', '10.00', 'USD', NULL, NULL, '[{"code":"SECRET-CODE-1005"}]', NULL, 1, NULL, 0, 'accepted', NULL, NULL, 0, NULL, NULL, NULL, 1000, 2500, 2500);
INSERT INTO entries VALUES (6, 'os-xbprtwqigv3hhdqgbtauuqfrdk', 6, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'rejected', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 3000, NULL, 0, NULL, 1, 1, 0, NULL, 2000, 2000, 1, 'main', 'POST', '/orders', '{"reference":"os-xbprtwqigv3hhdqgbtauuqfrdk"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 'invalid_variant', 'invalid_variant', 'No such product', 0, NULL, NULL, NULL, 1000, 2500, 2500);
INSERT INTO entries VALUES (7, 'os-i6hltlclki6jahf4crkjyvbtur', 7, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'needs_review', NULL, NULL, NULL, 0, 10000000, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 3000, NULL, 0, NULL, 1, 1, 0, NULL, 2000, 2000, 1, 'main', 'POST', '/orders', '{"reference":"os-i6hltlclki6jahf4crkjyvbtur"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 'invalid_variant', 'invalid_variant', 'No such product', 0, 'the answer names another product', NULL, NULL, 1000, 2500, NULL);
INSERT INTO entries VALUES (8, 'os-pz7iar7oqexkfbkbfzmsra4id6', 8, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', 1500, '{}', 'expired', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 'not_after_passed', 'the deadline of the order passed before it could be bought; nothing was charged', 0, NULL, NULL, NULL, 1000, 2000, 2000);
INSERT INTO entries VALUES (9, 'os-d5yv3fkvgjawjef4737olw7j6m', 9, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'cancelled', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, 'cancelled_by_person', 'cancelled by an operator before it was bought; nothing was charged', 0, NULL, NULL, NULL, 1000, 2500, 2500);
INSERT INTO entries VALUES (10, 'os-2ottfydyd2vb5fqelitwubncep', 10, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'held', 'pending', NULL, NULL, 0, NULL, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, 0, 'the shop asked', NULL, NULL, 1000, 2500, NULL);
INSERT INTO entries VALUES (11, 'os-ibhl2jghsmkmosfprvj5q3rzuf', 11, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'sending', NULL, NULL, NULL, 0, 10000000, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 2000, NULL, 0, NULL, 0, 0, 0, NULL, NULL, 2000, 0, 'main', 'POST', '/orders', '{"reference":"os-ibhl2jghsmkmosfprvj5q3rzuf"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1000, 2000, NULL);
INSERT INTO entries VALUES (12, 'os-o4jcokzc4egr7eoafrvb7z7o3v', 12, 0, 0, 'gift_card_order', 'steam-10', NULL, NULL, 1, NULL, 'USD', NULL, '{}', 'pending', NULL, NULL, NULL, 0, NULL, 0, 0, NULL, 'shop1|USD|variant:steam-10', 'send', 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL, 1000, 1000, NULL);
INSERT INTO charges VALUES (3, 0, 'charge', 'USD', 10000000, 2500, 0);
INSERT INTO charges VALUES (4, 0, 'charge', 'USD', 10000000, 2500, 0);
INSERT INTO charges VALUES (5, 0, 'charge', 'USD', 10000000, 2500, 0);
INSERT INTO charges VALUES (5, 1, 'refund', 'USD', -10000000, 2500, 0);
INSERT INTO unit_marks VALUES ('ntfAoOm0n3HxvPwbG0cZ5g', 4, '1004');
INSERT INTO unit_marks VALUES ('xMY_sLm_ANyumvoBG-JsXZ', 5, '1005');
INSERT INTO product_costs VALUES ('variant:steam-10', 0, 'USD', 10);
INSERT INTO attempts VALUES (1, 1, 1, 'submit', 'main', NULL, 2000, 2500, 1, 'out_of_stock', 200, NULL, '', 500);
INSERT INTO attempts VALUES (2, 2, 1, 'submit', 'main', NULL, 2000, 2500, 1, 'dropped', 200, NULL, '', 500);
INSERT INTO attempts VALUES (3, 3, 1, 'submit', 'main', NULL, 2000, 2500, 1, 'accepted', 200, NULL, '', 500);
INSERT INTO attempts VALUES (4, 4, 1, 'submit', 'main', NULL, 2000, 2500, 1, 'accepted', 200, NULL, '', 500);
INSERT INTO attempts VALUES (5, 5, 1, 'submit', 'main', NULL, 2000, 2500, 1, 'accepted', 200, NULL, '', 500);
INSERT INTO attempts VALUES (6, 6, 1, 'submit', 'main', NULL, 2000, 2500, 1, 'invalid_variant', 200, NULL, '', 500);
INSERT INTO attempts VALUES (7, 7, 1, 'submit', 'main', NULL, 2000, 2500, 1, 'invalid_variant', 200, NULL, '', 500);
INSERT INTO attempts VALUES (8, 11, 1, 'submit', 'main', NULL, 2000, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO budget_slots VALUES (1, 'main', 'requests', 1, 1000);
INSERT INTO budget_slots VALUES (2, 'main', 'orders', 1, 1000);
INSERT INTO budget_slots VALUES (3, 'main', 'requests', 2, 1000);
INSERT INTO budget_slots VALUES (4, 'main', 'orders', 2, 1000);
INSERT INTO budget_slots VALUES (5, 'main', 'requests', 3, 1000);
INSERT INTO budget_slots VALUES (6, 'main', 'orders', 3, 1000);
INSERT INTO budget_slots VALUES (7, 'main', 'requests', 4, 1000);
INSERT INTO budget_slots VALUES (8, 'main', 'orders', 4, 1000);
INSERT INTO budget_slots VALUES (9, 'main', 'requests', 5, 1000);
INSERT INTO budget_slots VALUES (10, 'main', 'orders', 5, 1000);
INSERT INTO budget_slots VALUES (11, 'main', 'requests', 6, 1000);
INSERT INTO budget_slots VALUES (12, 'main', 'orders', 6, 1000);
INSERT INTO budget_slots VALUES (13, 'main', 'requests', 7, 1000);
INSERT INTO budget_slots VALUES (14, 'main', 'orders', 7, 1000);
INSERT INTO budget_slots VALUES (15, 'main', 'requests', 8, NULL);
INSERT INTO budget_slots VALUES (16, 'main', 'orders', 8, NULL);
INSERT INTO deliveries VALUES (3, 'folder', 2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO deliveries VALUES (4, 'folder', 2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO deliveries VALUES (5, 'folder', 2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO deliveries VALUES (6, 'folder', 2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO deliveries VALUES (7, 'folder', 2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO deliveries VALUES (8, 'folder', 2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO deliveries VALUES (9, 'folder', 2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO deliveries VALUES (10, 'folder', 2, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL);
INSERT INTO audit VALUES (1, 2500, 'cli:anna', 'cancel', 'os-d5yv3fkvgjawjef4737olw7j6m', 'the shop asked', '{"before":{"state":"pending","next_step":"send","outcome_unknown":false,"held_from":null,"replaced":false,"order_number":null,"error_code":null,"review_reason":null},"after":{"state":"cancelled","next_step":"send","outcome_unknown":false,"held_from":null,"replaced":false,"order_number":null,"error_code":"cancelled_by_person","review_reason":null}}');
INSERT INTO audit VALUES (2, 2500, 'cli:anna', 'hold', 'os-2ottfydyd2vb5fqelitwubncep', 'the shop asked', '{"before":{"state":"pending","next_step":"send","outcome_unknown":false,"held_from":null,"replaced":false,"order_number":null,"error_code":null,"review_reason":null},"after":{"state":"held","next_step":"send","outcome_unknown":false,"held_from":"pending","replaced":false,"order_number":null,"error_code":null,"review_reason":"the shop asked"}}');
INSERT INTO hourly_statistics VALUES ('bought', 0, 'USD', 3);
INSERT INTO hourly_statistics VALUES ('calls', 0, 'submit', 8);
INSERT INTO hourly_statistics VALUES ('latency', 0, '16', 1);
INSERT INTO hourly_statistics VALUES ('received', 0, '', 12);
INSERT INTO hourly_statistics VALUES ('refunded', 0, 'USD', 10000000);
INSERT INTO hourly_statistics VALUES ('settled', 0, 'cancelled', 1);
INSERT INTO hourly_statistics VALUES ('settled', 0, 'expired', 1);
INSERT INTO hourly_statistics VALUES ('settled', 0, 'fulfilled', 1);
INSERT INTO hourly_statistics VALUES ('settled', 0, 'refunded', 1);
INSERT INTO hourly_statistics VALUES ('settled', 0, 'rejected', 1);
INSERT INTO hourly_statistics VALUES ('spent', 0, 'USD', 30000000);
CREATE INDEX files_by_hash ON files (sha256);
CREATE INDEX files_attention ON files (claimed_at_ms) WHERE state = 'rejected' AND acknowledged_at_ms IS NULL;
CREATE INDEX requests_with_capitals ON requests (lower(source), lower(order_id))
  WHERE source GLOB '*[A-Z]*' OR order_id GLOB '*[A-Z]*';
CREATE INDEX requests_with_zeros ON requests (source, ltrim(order_id, '''0')) WHERE order_id GLOB '[0'']*';
CREATE INDEX lines_by_email ON lines (email_mark) WHERE email_mark IS NOT NULL;
CREATE INDEX lines_by_phone ON lines (phone_mark) WHERE phone_mark IS NOT NULL;
CREATE INDEX lines_same_as ON lines (same_as) WHERE same_as IS NOT NULL;
CREATE UNIQUE INDEX rejections_once
  ON rejections (file_id, line_number, coalesce(order_id, ''), coalesce(line_id, ''), coalesce(field, ''), code)
  WHERE file_id IS NOT NULL;
CREATE INDEX rejections_by_order ON rejections (source, order_id);
CREATE INDEX rejections_to_correct ON rejections (source, order_id, line_id, product) WHERE corrected_at_ms IS NULL;
CREATE INDEX rejections_attention ON rejections (created_at_ms)
  WHERE corrected_at_ms IS NULL AND taken_back = 0 AND acknowledged_at_ms IS NULL;
CREATE INDEX storefront_orders_awaiting ON storefront_orders (source, seen_at_ms) WHERE awaits_read_back = 1;
CREATE INDEX storefront_orders_rechecks ON storefront_orders (source, recheck_steady) WHERE recheck_since_ms IS NOT NULL;
CREATE INDEX storefront_marks_by_order ON storefront_marks (source, order_id);
CREATE INDEX entries_pending_lanes ON entries (lane, due_steady, id) WHERE state = 'pending';
CREATE INDEX entries_waiting_lanes ON entries (lane, due_steady, id) WHERE state = 'waiting';
CREATE INDEX entries_waiting ON entries (due_steady, id) WHERE state = 'waiting';
CREATE INDEX entries_unknown ON entries (next_step, due_steady, id) WHERE state = 'unknown';
CREATE INDEX entries_placed ON entries (due_steady, id) WHERE state = 'placed';
CREATE INDEX entries_sending ON entries (id) WHERE state = 'sending';
CREATE INDEX entries_attention ON entries (updated_at_ms) WHERE state IN ('needs_review', 'held');
CREATE INDEX entries_deadline ON entries (not_after_ms) WHERE state IN ('pending', 'waiting') AND not_after_ms IS NOT NULL;
CREATE INDEX entries_open_iccid ON entries (iccid, id)
  WHERE iccid IS NOT NULL AND state IN ('pending', 'sending', 'waiting', 'unknown', 'placed');
CREATE INDEX entries_bought ON entries (operation) WHERE state = 'fulfilled' AND outcome_row = 'accepted';
CREATE INDEX entries_unbought ON entries (state, settled_at_ms)
  WHERE (state = 'rejected' OR state = 'expired') AND replaced = 0 AND taken_back = 0 AND acknowledged_at_ms IS NULL
    AND error_code IS NOT 'rejected_by_person';
CREATE INDEX entries_waiting_age ON entries (created_at_ms) WHERE state = 'waiting';
CREATE INDEX entries_by_order_number ON entries (order_number) WHERE order_number IS NOT NULL;
CREATE INDEX entries_by_iccid ON entries (iccid) WHERE iccid IS NOT NULL;
CREATE INDEX entries_to_deliver ON entries (settled_at_ms)
  WHERE units_missing > 0 AND replaced = 0 AND taken_back = 0 AND acknowledged_at_ms IS NULL;
CREATE INDEX entries_units_by_key ON entries (sealed_by, id) WHERE units IS NOT NULL;
CREATE INDEX entries_to_shred ON entries (settled_at_ms, id) WHERE units IS NOT NULL AND settled_at_ms IS NOT NULL;
CREATE INDEX entries_pending_age ON entries (substr(lane, 1, instr(lane, '|') - 1), created_at_ms) WHERE state = 'pending';
CREATE INDEX entries_state_age ON entries (state, substr(lane, 1, instr(lane, '|') - 1), created_at_ms) WHERE state <> 'pending';
CREATE INDEX entries_uncounted ON entries (id) WHERE uncounted_cost IS NOT NULL AND acknowledged_at_ms IS NULL;
CREATE INDEX entries_shown_twice ON entries (id) WHERE in_question IS NOT NULL AND acknowledged_at_ms IS NULL;
CREATE INDEX entries_reserved ON entries (currency) WHERE reserved IS NOT NULL;
CREATE INDEX entries_over_limit ON entries (held_by, due_steady, id) WHERE held_by = 'limit';
CREATE INDEX charges_by_time ON charges (at_steady, kind, currency, millionths);
CREATE UNIQUE INDEX charges_end_once ON charges (entry_id, kind) WHERE kind <> 'charge';
CREATE TRIGGER entries_charge AFTER UPDATE OF cost, charged_currency, state ON entries
WHEN NEW.operation <> 'esim_cancel' AND (NEW.cost IS NOT OLD.cost OR NEW.charged_currency IS NOT OLD.charged_currency
  OR (NEW.state <> OLD.state AND (NEW.state = 'fulfilled' OR NEW.state = 'refunded')))
BEGIN
  INSERT INTO charges (entry_id, number, kind, currency, millionths, at_ms, at_steady)
  SELECT NEW.id, (SELECT count(*) FROM charges WHERE entry_id = NEW.id), 'charge', currency, -sum(millionths),
         NEW.updated_at_ms, (SELECT steady_ms FROM steady_time)
  FROM charges WHERE entry_id = NEW.id AND kind = 'charge' AND currency <> coalesce(NEW.charged_currency, NEW.currency, '-')
  GROUP BY currency HAVING sum(millionths) <> 0;
  INSERT INTO charges (entry_id, number, kind, currency, millionths, at_ms, at_steady)
  SELECT NEW.id, count(*), 'charge', coalesce(NEW.charged_currency, NEW.currency, '-'),
         -- Beyond that, no sum would be exact.
         CAST(max(-9e15, min(9e15, round(NEW.cost * 1000000))) AS INTEGER) - coalesce(sum(millionths), 0),
         NEW.updated_at_ms, (SELECT steady_ms FROM steady_time)
  FROM charges WHERE entry_id = NEW.id HAVING NEW.cost IS NOT NULL
    AND (NEW.cost IS NOT OLD.cost OR coalesce(NEW.charged_currency, NEW.currency) IS NOT coalesce(OLD.charged_currency, OLD.currency));
  INSERT OR IGNORE INTO charges (entry_id, number, kind, currency, millionths, at_ms, at_steady)
  SELECT NEW.id, 0, 'estimate', coalesce(NEW.charged_currency, NEW.currency, '-'), nullif(NEW.reserved, 0),
         NEW.updated_at_ms, (SELECT steady_ms FROM steady_time)
  WHERE NEW.state <> OLD.state AND NEW.cost IS NULL AND (NEW.state = 'fulfilled' OR NEW.state = 'refunded');
  -- Spec 2: the money of an order that is refunded is back. The money of its cancelled eSIMs was back before.
  INSERT OR IGNORE INTO charges (entry_id, number, kind, currency, millionths, at_ms, at_steady)
  SELECT NEW.id, count(*), 'refund', coalesce(NEW.charged_currency, NEW.currency, '-'),
         CASE WHEN NEW.cost IS NOT NULL THEN min(0, -sum(millionths) - coalesce((SELECT sum(r.millionths) FROM esims s
           JOIN entries e ON e.iccid = s.iccid AND e.operation = 'esim_cancel' JOIN charges r ON r.entry_id = e.id AND r.kind = 'refund' WHERE s.entry_id = NEW.id), 0)) END,
         NEW.updated_at_ms, (SELECT steady_ms FROM steady_time)
  FROM charges WHERE entry_id = NEW.id HAVING NEW.state <> OLD.state AND NEW.state = 'refunded';
END;
CREATE TRIGGER entries_give_back AFTER UPDATE OF state ON entries
WHEN NEW.operation = 'esim_cancel' AND NEW.state <> OLD.state AND (NEW.state = 'fulfilled' OR NEW.state = 'refunded')
  AND NOT EXISTS (SELECT 1 FROM entries e JOIN charges r ON r.entry_id = e.id AND r.kind = 'refund'
    WHERE e.operation = 'esim_cancel' AND e.iccid = NEW.iccid)
  AND NOT EXISTS (SELECT 1 FROM esims s JOIN charges r ON r.entry_id = s.entry_id AND r.kind = 'refund' WHERE s.iccid = NEW.iccid)
BEGIN
  INSERT OR IGNORE INTO charges (entry_id, number, kind, currency, millionths, at_ms, at_steady)
  SELECT NEW.id, 0, 'refund', coalesce(NEW.charged_currency, (SELECT coalesce(e.charged_currency, e.currency)
           FROM esims s JOIN entries e ON e.id = s.entry_id WHERE s.iccid = NEW.iccid), '-'),
         -CAST(min(9e15, round(NEW.refund * 1000000)) AS INTEGER), NEW.updated_at_ms, (SELECT steady_ms FROM steady_time);
END;
CREATE TRIGGER entries_free_reserved AFTER UPDATE OF cost, state, outcome_unknown, sent_since_lookup ON entries
WHEN NEW.reserved IS NOT NULL AND (NEW.cost IS NOT NULL
  OR NEW.state = 'rejected' OR NEW.state = 'expired' OR NEW.state = 'cancelled' OR NEW.state = 'fulfilled' OR NEW.state = 'refunded'
  OR ((NEW.state = 'pending' OR NEW.state = 'waiting' OR (NEW.state = 'held' AND NEW.held_from IS NOT 'placed'))
    AND NEW.outcome_unknown = 0 AND NEW.sent_since_lookup = 0))
BEGIN
  UPDATE entries SET reserved = NULL WHERE id = NEW.id;
END;
CREATE TRIGGER charges_are_kept BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'what was charged is never deleted'); END;
CREATE TRIGGER charges_are_not_changed BEFORE UPDATE ON charges
BEGIN SELECT RAISE(ABORT, 'what was charged is never changed'); END;
CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted: their references must be known for ever'); END;
CREATE TRIGGER entries_keep_their_reference BEFORE UPDATE OF reference, line_id, operation ON entries
BEGIN SELECT RAISE(ABORT, 'a reference stands for one purchase, for ever'); END;
CREATE TRIGGER entries_keep_their_request BEFORE UPDATE OF request_body ON entries
WHEN OLD.request_body IS NOT NULL AND NEW.request_body IS NOT OLD.request_body
BEGIN SELECT RAISE(ABORT, 'the request of a reference is never changed'); END;
CREATE TRIGGER entries_keep_their_headers BEFORE UPDATE OF request_headers ON entries
WHEN OLD.request_method IS NOT NULL AND NEW.request_headers IS NOT OLD.request_headers
BEGIN SELECT RAISE(ABORT, 'the request of a reference is never changed'); END;
CREATE INDEX unit_marks_by_ending ON unit_marks (ending, entry_id) WHERE ending IS NOT NULL;
CREATE INDEX esims_by_entry ON esims (entry_id);
CREATE UNIQUE INDEX attempts_open ON attempts (entry_id) WHERE closed_at_ms IS NULL;
CREATE INDEX attempts_by_time ON attempts (opened_at_ms, purpose);
CREATE INDEX attempts_by_outcome ON attempts (outcome) WHERE outcome IS NOT NULL;
CREATE TRIGGER attempts_are_final BEFORE UPDATE ON attempts WHEN OLD.closed_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a closed attempt is never changed'); END;
CREATE TRIGGER attempts_are_kept BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts are append-only'); END;
CREATE INDEX kept_answers_by_kind ON kept_answers (kind, is_error, id);
CREATE INDEX kept_answers_by_attempt ON kept_answers (attempt_id) WHERE attempt_id IS NOT NULL;
CREATE INDEX kept_answers_by_age ON kept_answers (kept_at_ms);
CREATE INDEX budget_slots_by_attempt ON budget_slots (attempt_id);
CREATE INDEX deliveries_due ON deliveries (sink, due_steady) WHERE done_version < due_version;
CREATE INDEX deliveries_giving ON deliveries (sink, due_steady) WHERE done_version < due_version AND gives_units = 1;
CREATE INDEX deliveries_given_up ON deliveries (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL AND acknowledged_at_ms IS NULL;
CREATE INDEX file_rows_by_line ON file_rows (first_line);
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_actor ON audit (actor, at_ms);
CREATE INDEX audit_by_action ON audit (action, at_ms);
CREATE INDEX audit_by_subject ON audit (subject, at_ms);
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER entries_change_their_count AFTER UPDATE OF state, lane ON entries
WHEN (NEW.state <> OLD.state OR NEW.lane <> OLD.lane) AND NEW.id <= (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'counted_up_to')
BEGIN
  UPDATE entry_counts SET entries = entries - 1 WHERE state = OLD.state AND lane = OLD.lane;
  INSERT INTO entry_counts (state, lane, entries) VALUES (NEW.state, NEW.lane, 1)
  ON CONFLICT (state, lane) DO UPDATE SET entries = entries + 1;
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
END;
CREATE TRIGGER charges_are_summed AFTER INSERT ON charges
BEGIN
  INSERT INTO hourly_statistics (hour, name, key, n)
  SELECT NEW.at_ms / 3600000,
         CASE NEW.kind WHEN 'charge' THEN 'spent' WHEN 'estimate' THEN 'uncounted' ELSE iif(NEW.millionths IS NULL, 'unrefunded', 'refunded') END,
         NEW.currency, CASE NEW.kind WHEN 'charge' THEN NEW.millionths WHEN 'estimate' THEN 1 ELSE coalesce(-NEW.millionths, 1) END
  WHERE true
  -- An absurd amount is cut, because a number that overflows would keep the call from being recorded.
  ON CONFLICT (name, hour, key) DO UPDATE SET n = max(-9000000000000000000, min(9000000000000000000, n + excluded.n));
  INSERT INTO hourly_statistics (hour, name, key, n) SELECT NEW.at_ms / 3600000, 'bought', NEW.currency, 1
  WHERE NEW.kind = 'charge' AND NEW.number = 0
  ON CONFLICT (name, hour, key) DO UPDATE SET n = n + 1;
END;
CREATE VIEW other_workers AS
SELECT source FROM rejections WHERE order_id IS NULL AND file_id IS NULL AND code = 'other_worker' AND acknowledged_at_ms IS NULL;
CREATE VIEW other_worker_lines AS
SELECT l.id AS line_id, r.source, l.shop_hold,
       CASE WHEN EXISTS (SELECT 1 FROM json_tree(o.other_result) j
              WHERE j.path LIKE '$.lines[%].references' AND json_extract(o.other_result, replace(j.path, 'references', 'line_id')) = l.line_id
                AND json_extract(o.other_result, replace(j.path, 'references', 'state')) NOT IN ('held', 'pending')) THEN 'line'
            WHEN EXISTS (SELECT 1 FROM other_workers w WHERE w.source = r.source) THEN 'shop' END AS other_worker
FROM lines l JOIN requests r ON r.id = l.request_id
LEFT JOIN storefront_orders o ON o.source = r.source AND o.order_id = r.order_id
WHERE json_extract(l.extra, '$.sku') IS NOT NULL;
CREATE VIEW outbox AS
SELECT e.reference, r.source, r.order_id, l.line_id, e.operation, e.state,
       e.variant, e.plan, e.iccid, e.quantity, e.days, e.currency,
       e.order_number, e.status, e.cost, e.charged_currency,
       e.error_code, e.error_message, e.review_reason,
       e.outcome_unknown, e.attempts, e.next_step, e.key_name,
       CASE WHEN e.state IN ('pending', 'waiting', 'unknown', 'placed')
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', (e.due_steady + (SELECT ahead_ms FROM steady_time)) / 1000.0, 'unixepoch') END AS next_attempt_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.not_after_ms / 1000.0, 'unixepoch') AS not_after,
       strftime('%Y-%m-%dT%H:%M:%fZ', (SELECT min(a.opened_at_ms) FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.sent = 1) / 1000.0, 'unixepoch') AS first_sent_at,
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
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', (d.due_steady + (SELECT ahead_ms FROM steady_time)) / 1000.0, 'unixepoch') END AS due_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.done_at_ms / 1000.0, 'unixepoch') AS done_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch') AS given_up_at,
       (SELECT name FROM files WHERE number = -d.request_id) AS file
FROM deliveries d LEFT JOIN requests r ON r.id = d.request_id;
CREATE VIEW audit_log AS
SELECT id, strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS at, actor, action, subject, reason, detail
FROM audit;
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
SELECT e.state AS kind,
       CASE WHEN e.held_by = 'shop' THEN 'held_by_shop' WHEN e.held_by = 'limit' THEN 'over_limit'
            WHEN e.state = 'held' AND (SELECT same_as FROM lines WHERE id = e.line_id) IS NOT NULL THEN 'held_as_same_line'
            WHEN e.state = 'held' THEN 'held' ELSE 'needs_review' END AS reason,
       e.reference AS id, e.reference, r.source, r.order_id, l.line_id, e.state,
       -- What a call for a held entry ended with before is not why it is held.
       CASE WHEN e.held_by = 'limit' THEN e.over_limit WHEN e.state = 'held' THEN 'held' ELSE coalesce(e.error_code, e.state) END AS code,
       CASE WHEN e.state = 'held' THEN e.review_reason ELSE coalesce(e.review_reason, e.error_message) END AS message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS since, NULL AS scope, NULL AS evidence,
       0 AS can_acknowledge
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state IN ('needs_review', 'held')
UNION ALL
-- A lookup usually tells within minutes what became of a call. Where it cannot, the entry holds up its product and others.
SELECT 'unknown', 'outcome_unknown' AS reason, e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, 'outcome_unknown'), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', (SELECT min(a.opened_at_ms) FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.sent = 1) / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state = 'unknown' AND (SELECT min(a.opened_at_ms) FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.sent = 1) NOT BETWEEN unixepoch('subsec') * 1000 - 900000 AND unixepoch('subsec') * 1000
UNION ALL
-- The worker noticed that the database is an older copy: what was taken in since is missing.
SELECT 'older_copy', 'older_copy' AS reason, 'older_copy:' || a.id, NULL, NULL, NULL, NULL, 'after_loss', 'older_copy', a.reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.at_ms / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM audit a WHERE a.subject = 'outbox' AND a.action = 'after_loss' AND a.actor = 'worker'
  AND json_extract(a.detail, '$.until_ms') > unixepoch() * 1000
UNION ALL
-- Only a lookup tells what became of a call without an answer, and none of this kind has found an order.
SELECT 'lookup', 'lookup_unproven' AS reason, m.name, NULL, NULL, NULL, NULL, 'unproven', 'lookup_unproven', NULL,
       m.value ->> '$.at', NULL, m.value, 0
FROM meta m WHERE m.name GLOB 'lookup_missed:*'
UNION ALL
SELECT 'money', CASE WHEN m.name GLOB 'money:balance:*' THEN 'balance_low' ELSE 'limit_near' END AS reason, m.name, NULL, NULL, NULL, NULL,
       'nearly_spent', 'nearly_spent', m.value ->> '$.message', m.value ->> '$.at', substr(m.name, 7), NULL, 0
FROM meta m WHERE m.name GLOB 'money:*'
UNION ALL
-- A pause that may be a short outage is shown 95 s after it began, when the probes have had time to end it; where nothing was ever
-- bought, nothing was interrupted, so it is shown at once. Other pauses are shown at once, and those of an operator after a minute.
-- The pause of a product is shown only while it holds something up: a product that nobody orders any more waits for its trial for
-- ever. The clock is that of the machine that reads; a start in the future comes from a clock that was set, and hides nothing.
SELECT 'pause',
       CASE p.reason WHEN 'manual' THEN 'paused_by_person' WHEN 'connector_unproven' THEN 'connector_unproven'
                     WHEN 'api_unreachable' THEN 'api_unreachable' WHEN 'api_disabled' THEN 'api_unreachable'
                     WHEN 'redirect' THEN 'wrong_address' WHEN 'tls_refused' THEN 'wrong_address'
                     WHEN 'invalid_key' THEN 'key_denied' WHEN 'ip_not_allowed' THEN 'account_denied'
                     WHEN 'account_not_allowed' THEN 'account_denied'
                     WHEN 'insufficient_balance' THEN 'balance_too_low' WHEN 'older_copy' THEN 'older_copy'
                     WHEN 'key_of_other_account' THEN 'key_of_other_account'
                     WHEN 'product_refused' THEN 'product_refused' WHEN 'price_rose' THEN 'price_rose' ELSE 'paused' END AS reason,
       'pause:' || p.scope, NULL, NULL, NULL, NULL, 'paused', p.reason, p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.scope, NULL, 0
FROM pauses p
WHERE (p.since_ms NOT BETWEEN unixepoch('subsec') * 1000
         - CASE WHEN p.reason = 'manual' THEN 60000 WHEN p.reason NOT IN ('api_disabled', 'api_unreachable') THEN -1
                WHEN EXISTS (SELECT 1 FROM entries b WHERE b.state = 'fulfilled' AND b.outcome_row = 'accepted') THEN 95000 ELSE -1 END
         AND unixepoch('subsec') * 1000)
  AND ((p.scope NOT LIKE 'variant:%' AND p.scope NOT LIKE 'plan:%') OR p.scope IN (SELECT product FROM to_send))
UNION ALL
-- A sink that takes no results, while some wait for it, or no alerts. It is shown at once if its trouble does not end by itself.
SELECT 'pause', 'sink_paused' AS reason, 'sink:' || p.sink, NULL, NULL, NULL, NULL, 'paused', p.reason, p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.sink, NULL, 0
FROM sink_pauses p
WHERE p.since_ms NOT BETWEEN unixepoch('subsec') * 1000
        - CASE WHEN p.reason IN ('http_401', 'http_403', 'EACCES', 'EEXIST', 'ENOTDIR', 'EPERM', 'EROFS') OR p.sink LIKE 'alert:%' THEN -1
               ELSE 75000 END
        AND unixepoch('subsec') * 1000
  AND (p.sink LIKE 'alert:%'
    OR EXISTS (SELECT 1 FROM deliveries d WHERE d.sink = p.sink AND d.done_version < d.due_version AND d.due_steady < 9000000000000000))
UNION ALL
-- For a day after the last 429, because whoever else uses the key may rest at night.
SELECT 'key_used_elsewhere', 'key_used_elsewhere' AS reason, 'key:' || k.key_name, NULL, NULL, NULL, NULL, 'rate_limited', 'key_used_elsewhere', NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', k.used_elsewhere_since_ms / 1000.0, 'unixepoch'), 'key:' || k.key_name,
       json_object('last_at', strftime('%Y-%m-%dT%H:%M:%fZ', k.rate_limited_at_ms / 1000.0, 'unixepoch')), 0
FROM wholesale_keys k WHERE k.used_elsewhere_since_ms IS NOT NULL AND k.rate_limited_at_ms > unixepoch() * 1000 - 86400000
UNION ALL
-- Reading the shop back tells within minutes which lines were refunded, unless the shop cannot be read.
SELECT 'storefront', 'awaits_read_back' AS reason, 'order:' || o.source || '/' || o.order_id, NULL, o.source, o.order_id, NULL,
       'awaits_read_back', 'awaits_read_back', NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.seen_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM storefront_orders o WHERE o.awaits_read_back = 1 AND o.seen_at_ms NOT BETWEEN unixepoch('subsec') * 1000 - 3600000 AND unixepoch('subsec') * 1000
UNION ALL
-- An order is usually read again within seconds. Where the shop cannot be read, what waits for that is not bought.
SELECT 'storefront', 'awaits_recheck' AS reason, 'recheck:' || o.source || '/' || o.order_id, NULL, o.source, o.order_id, NULL,
       'awaits_recheck', 'awaits_recheck', o.recheck_problem,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.recheck_since_ms / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM storefront_orders o WHERE o.recheck_since_ms IS NOT NULL AND o.recheck_since_ms NOT BETWEEN unixepoch('subsec') * 1000 - 600000 AND unixepoch('subsec') * 1000
UNION ALL
SELECT 'invalid_file', 'file_refused' AS reason, 'file:' || f.id, NULL, NULL, NULL, NULL, f.state, f.error_code, f.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(f.finished_at_ms, f.claimed_at_ms) / 1000.0, 'unixepoch'), NULL,
       json_object('file', f.name), 1
FROM files f WHERE f.state = 'rejected' AND f.acknowledged_at_ms IS NULL
UNION ALL
SELECT 'delivery', CASE WHEN d.given_up_reason = 'gone_in_shop' THEN 'gone_in_shop' WHEN d.given_up_reason = 'nobody_mailed' THEN 'nobody_mailed'
            ELSE 'result_given_up' END AS reason, 'delivery:' || d.request_id || ':' || d.sink, NULL, r.source, r.order_id, NULL,
       'given_up', 'given_up', d.last_error,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch'), NULL,
       json_object('sink', d.sink, 'tries', d.tries, 'file', (SELECT name FROM files WHERE number = -d.request_id)), 1
FROM deliveries d LEFT JOIN requests r ON r.id = d.request_id WHERE d.given_up_at_ms IS NOT NULL AND d.acknowledged_at_ms IS NULL
UNION ALL
-- A paid line that was not bought. Where another entry took its place, that one answers for the line.
SELECT e.state, CASE e.state WHEN 'rejected' THEN 'rejected' ELSE 'expired' END AS reason, e.reference, e.reference,
       r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, e.state), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE (e.state = 'rejected' OR e.state = 'expired') AND e.replaced = 0 AND e.taken_back = 0 AND e.acknowledged_at_ms IS NULL
  AND e.error_code IS NOT 'rejected_by_person'
UNION ALL
-- A paid line that an operator found to be bought, and whose units nobody has.
SELECT 'needs_manual_delivery', 'units_missing' AS reason, e.reference, e.reference,
       r.source, r.order_id, l.line_id, e.state, 'needs_manual_delivery', NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch'), NULL,
       json_object('units_missing', e.units_missing, 'quantity', coalesce(e.quantity, 1), 'resolved_by', e.resolved_by,
                   'order_number', e.order_number), 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.units_missing > 0 AND e.replaced = 0 AND e.taken_back = 0 AND e.acknowledged_at_ms IS NULL
UNION ALL
-- What was delivered for a line was shown for another order, too: one of both customers has what the other one paid for.
SELECT 'shown_twice', 'shown_twice' AS reason, e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, 'shown_twice', e.in_question,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.in_question IS NOT NULL AND e.state = 'fulfilled' AND e.acknowledged_at_ms IS NULL
UNION ALL
-- A delivered order whose cost is in no sum.
SELECT 'uncounted_cost', 'uncounted_cost' AS reason, e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, 'uncounted_cost', e.uncounted_cost,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.uncounted_cost IS NOT NULL AND e.state = 'fulfilled' AND e.acknowledged_at_ms IS NULL
UNION ALL
-- A line that was not accepted, until it comes again corrected: from then on its entry answers for it. The same mistake of the
-- same line in a later file takes its place: that is one thing to do. And what the worker flagged about an order of a shop. A
-- known line with other content (`conflict`) may have come from anywhere.
SELECT CASE WHEN j.file_id IS NULL AND j.line_number IS NULL AND j.code <> 'conflict' THEN 'storefront' ELSE 'invalid_line' END,
       CASE WHEN j.code = 'conflict' THEN 'other_content'
            WHEN j.file_id IS NOT NULL OR j.line_number IS NOT NULL THEN 'line_refused'
            -- About a shop as a whole.
            WHEN j.code = 'webhook_off' THEN 'webhook_off'
            WHEN j.code = 'signature_refused' THEN 'signature_refused'
            WHEN j.code = 'old_sale' THEN 'old_sale'
            WHEN j.code = 'other_shop' THEN 'other_shop'
            WHEN j.code = 'skus_lost' THEN 'skus_lost'
            WHEN j.code LIKE 'unusable_%' THEN 'delivery_unusable'
            WHEN j.code = 'other_worker' THEN 'other_worker'
            WHEN j.code = 'unknown_sku' THEN 'sku_unknown' ELSE 'changed_in_shop' END AS reason,
       'line:' || j.id, NULL, j.source, j.order_id, j.line_id, 'not_accepted', j.code, j.rule,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at_ms / 1000.0, 'unixepoch'), NULL,
       json_object('line_number', j.line_number, 'field', j.field, 'count', CASE WHEN j.order_id IS NULL AND j.file_id IS NULL THEN j.value END), 1
FROM rejections j WHERE j.corrected_at_ms IS NULL AND j.taken_back = 0 AND j.acknowledged_at_ms IS NULL
  AND (j.file_id IS NULL OR NOT EXISTS (SELECT 1 FROM rejections n WHERE n.source = j.source AND n.order_id = j.order_id AND n.line_id = j.line_id
    AND n.code = j.code AND n.code <> 'duplicate_line' AND n.rule = j.rule AND n.file_id <> j.file_id AND n.id > j.id))
UNION ALL
-- Nothing was charged, and the worker tries again; but a customer has waited for an hour.
SELECT 'waiting', 'waits_long' AS reason, e.reference, e.reference,
       r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, 'waiting'), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state = 'waiting' AND e.created_at_ms < unixepoch('subsec') * 1000 - 3600000;
CREATE VIEW pieces_in_question AS
SELECT e.reference, l.id AS line_id, CAST(l.extra ->> 'shop_quantity' AS INTEGER) AS bought_pieces, j.id AS flag_id
FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
  JOIN storefront_orders o ON o.source = r.source AND o.order_id = r.order_id
  LEFT JOIN rejections j ON j.source = r.source AND j.order_id = r.order_id AND j.line_id = l.line_id AND j.file_id IS NULL
    AND j.code IN ('changed_after_purchase', 'refunded_in_storefront') AND j.acknowledged_at_ms IS NULL
WHERE e.state = 'fulfilled' AND e.replaced = 0 AND o.state = 'paid' AND (o.lines_left IS NOT NULL OR j.code = 'refunded_in_storefront')
  AND l.extra ->> 'given_pieces' IS NULL
  AND (SELECT coalesce(max(value), 0) FROM json_each(o.lines_left) WHERE key = l.line_id
    OR key IN (SELECT line_id FROM lines WHERE same_as = l.id)) < CAST(l.extra ->> 'shop_quantity' AS INTEGER);
CREATE VIEW storefront_related AS
WITH related AS (
  SELECT a.source, a.order_id, b.order_id AS other_id,
         'part_of' IN (a.kind, b.kind) OR EXISTS (
           SELECT 1 FROM storefront_marks p WHERE p.source = a.source AND p.order_id = a.order_id AND p.kind = 'part_of') AS is_part,
         l.id, l.line_id, l.received_at_ms, l.extra, o.extra AS other_extra, oe.reference
  FROM storefront_marks a
    JOIN storefront_marks b ON b.source = a.source AND b.value = a.value AND b.order_id <> a.order_id AND (a.kind || b.kind) IN
      ('paymentpayment', 'keykey', 'isnames', 'namesis', 'ispart_of', 'part_ofis')
    JOIN requests r ON r.source = a.source AND r.order_id = a.order_id
    JOIN lines l ON l.request_id = r.id
    JOIN requests q ON q.source = b.source AND q.order_id = b.order_id
    JOIN lines o ON o.request_id = q.id AND o.extra ->> 'sku' IS NOT NULL
    JOIN entries oe ON oe.line_id = o.id AND oe.state NOT IN ('cancelled', 'expired', 'rejected', 'refunded')
  WHERE EXISTS (SELECT 1 FROM entries e WHERE e.line_id = l.id AND e.state = 'pending')
    AND ('names' NOT IN (a.kind, b.kind) OR 2 > (
      SELECT count(DISTINCT p.order_id) FROM storefront_marks p
      WHERE p.source = a.source AND p.kind = 'payment' AND p.order_id IN (a.order_id, b.order_id))))
SELECT source, order_id, other_id, line_id, received_at_ms,
       'it looks like the same purchase as order ' || other_id || ' of the shop, which was ordered under ' || reference
         || ': release it if it is another purchase, cancel it if not' AS why,
       'order ' || order_id || ' of the shop looks like the same purchase: its line ' || line_id || ' is held' AS why_other
FROM related
WHERE EXISTS (
  SELECT 1 FROM lines s JOIN requests r ON r.id = s.request_id
  WHERE (s.id = related.id OR (is_part = 0 AND r.source = related.source AND r.order_id = related.order_id))
    AND s.received_at_ms = related.received_at_ms
    AND (lower(trim(s.extra ->> 'sku')) = lower(trim(other_extra ->> 'sku')) OR s.extra ->> 'shop_product' = other_extra ->> 'shop_product'));
