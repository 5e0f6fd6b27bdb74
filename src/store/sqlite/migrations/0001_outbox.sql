-- The outbox of order-sync. Read it with the views `outbox`, `outbox_attention`, `attempt_log`, `delivery_log` and `audit_log`,
-- which are stable; the tables may change with each version. This file never changes once a version with it was released:
-- later changes are migrations of their own beside it.
--
-- Times that end in _ms are wall time in ms since 1970 (UTC): what happened. Times that end in _steady are steady time: what is
-- waited for. Steady time is ms that only run forward, also over restarts, and that nobody can set; see `steady_time`.
--
-- A CHECK of more than two values is written with OR: for IN, SQLite builds a temporary table of the values for each row
-- that it checks, which was a fifth of what accepting an order line cost.

-- Facts about the database: its id, the upstream and the reference secret it belongs to, which lookup paths are proven, the keys
-- of its account by their fingerprints (`account_key:…`), until when entries are looked up before they are sent, and the hash of
-- each SQL file that made it (`schema:0001_outbox.sql`, `schema:views/…`). The program refuses a database that a migration made
-- which it does not know, or with another text.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What the clocks showed last, written every ten seconds and with each order and call. The present steady time follows from
-- machine_ms, the monotonic clock of the machine in the run that boot_id names. Steady time does not run while the machine is off.
CREATE TABLE steady_time (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  steady_ms  REAL NOT NULL,
  -- What the wall clock showed less steady_ms.
  ahead_ms   INTEGER NOT NULL,
  machine_ms REAL NOT NULL,
  boot_id    TEXT
) STRICT;
INSERT INTO steady_time (id, steady_ms, ahead_ms, machine_ms) VALUES (1, 0, 0, 0);

-- Intake --------------------------------------------------------------------------------------------------------------

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
CREATE INDEX files_by_hash ON files (sha256);
CREATE INDEX files_attention ON files (claimed_at_ms) WHERE state = 'rejected' AND acknowledged_at_ms IS NULL;

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
-- By it an order finds those whose source and order id differ from its own in capital letters only: their results must not
-- share a file on a disk that takes them for the same. Most shops number their orders, and cost this index nothing.
CREATE INDEX requests_with_capitals ON requests (lower(source), lower(order_id))
  WHERE source GLOB '*[A-Z]*' OR order_id GLOB '*[A-Z]*';

-- By it an order finds one whose id is the same number, with zeros before it or as a text of a spreadsheet. Most shops have no such ids.
CREATE INDEX requests_with_zeros ON requests (source, ltrim(order_id, '''0')) WHERE order_id GLOB '[0'']*';

-- The identity of a line is (source, order_id, line_id), for ever, whatever content is sent for it later.
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
CREATE INDEX lines_by_email ON lines (email_mark) WHERE email_mark IS NOT NULL;
CREATE INDEX lines_by_phone ON lines (phone_mark) WHERE phone_mark IS NOT NULL;
CREATE INDEX lines_same_as ON lines (same_as) WHERE same_as IS NOT NULL;

-- Lines that could not be accepted: an invalid line, or a known line with other content. They have no identity.
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
-- A file that is read again finds the same rejections again. One line of a file may hold a whole order, so the line
-- number alone does not tell the lines of the order apart.
CREATE UNIQUE INDEX rejections_once
  ON rejections (file_id, line_number, coalesce(order_id, ''), coalesce(line_id, ''), coalesce(field, ''), code)
  WHERE file_id IS NOT NULL;
CREATE INDEX rejections_by_order ON rejections (source, order_id);
CREATE INDEX rejections_to_correct ON rejections (source, order_id, line_id, product) WHERE corrected_at_ms IS NULL;
CREATE INDEX rejections_attention ON rejections (created_at_ms)
  WHERE corrected_at_ms IS NULL AND taken_back = 0 AND acknowledged_at_ms IS NULL;

-- What people search an order by. `words` is an index only: the texts themselves are in requests.metadata and lines.extra.
-- A line has its id as its row here; an order of which no line was accepted has its own id, negative.
CREATE VIRTUAL TABLE search_words USING fts5(
  words, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '@._+-'");
-- Fewer and larger merges: accepting lines costs less, and a search looks at more segments.
INSERT INTO search_words (search_words, rank) VALUES ('automerge', 16);

-- Storefronts ---------------------------------------------------------------------------------------------------------

-- The newest state of each storefront order that was seen, bought or not. Deliveries of a shop overtake each other: an
-- old "paid" that arrives after a newer "refunded" must buy nothing.
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
CREATE INDEX storefront_orders_awaiting ON storefront_orders (source, seen_at_ms) WHERE awaits_read_back = 1;
CREATE INDEX storefront_orders_rechecks ON storefront_orders (source, recheck_steady) WHERE recheck_since_ms IS NOT NULL;

-- What is known about each shop.
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

-- SKUs of each shop that its SKU map has or ever had, in the form in which they are compared: a line with one of them is ours, also
-- when the map has lost it. And SKUs as orders have them that the map did not know when an order with them was first seen:
-- lines with them are ignored, so without this nobody would notice a product that is missing from the map.
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

-- How each shop is recognised (its name, its address, a fingerprint of its secret), and the source of its orders. The
-- source is a part of every reference: under another source, orders that the shop shows again would be bought again.
CREATE TABLE shop_fingerprints (
  kind       TEXT NOT NULL CHECK (kind = 'name' OR kind = 'address' OR kind = 'secret'),
  value      TEXT NOT NULL CHECK (length(value) BETWEEN 1 AND 4096),
  source     TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  seen_steady REAL NOT NULL,
  PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;

-- By what orders of one shop are found to be one purchase. `is`: its own id and number; `part_of`: the order of which the shop says
-- that it is a part; `names`: ids and numbers of others in its data; `payment`: the id of its payment; `key`: the secret of its sale, as a digest.
CREATE TABLE storefront_marks (
  source   TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  kind     TEXT NOT NULL CHECK (kind = 'is' OR kind = 'part_of' OR kind = 'names' OR kind = 'payment' OR kind = 'key'),
  value    TEXT NOT NULL CHECK (length(value) BETWEEN 1 AND 256),
  order_id TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  PRIMARY KEY (source, value, kind, order_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX storefront_marks_by_order ON storefront_marks (source, order_id);

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
-- The check whether lookups work asks for an order that was surely bought, without a search through another operation.
CREATE INDEX entries_bought ON entries (operation) WHERE state = 'fulfilled' AND outcome_row = 'accepted';
-- The lists of what needs attention: an entry that left its list costs nothing. A line that an operator resolved as rejected
-- was seen by an operator.
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
-- The entries of a state and a shop by age, without looking at any others. A lane begins with its source. An entry comes in as
-- `pending`, so only the first index costs time then.
CREATE INDEX entries_pending_age ON entries (substr(lane, 1, instr(lane, '|') - 1), created_at_ms) WHERE state = 'pending';
CREATE INDEX entries_state_age ON entries (state, substr(lane, 1, instr(lane, '|') - 1), created_at_ms) WHERE state <> 'pending';
CREATE INDEX entries_uncounted ON entries (id) WHERE uncounted_cost IS NOT NULL AND acknowledged_at_ms IS NULL;
CREATE INDEX entries_shown_twice ON entries (id) WHERE in_question IS NOT NULL AND acknowledged_at_ms IS NULL;

CREATE INDEX entries_reserved ON entries (currency) WHERE reserved IS NOT NULL;
CREATE INDEX entries_over_limit ON entries (held_by, due_steady, id) WHERE held_by = 'limit';

-- What each entry moved on a balance, as answers showed it, in millionths of the currency; never changed. Every sum of money that
-- anybody sees, and the limits on spending, are sums of these rows.
--   charge    what was charged; one row for each change of the cost of an entry, which has the difference
--   estimate  it was bought, and no answer showed a cost: what was reserved for it, or null. It counts against the limits alone
--   refund    what came back, so less than 0; null: nobody knows how much. Once for each entry, and for each eSIM
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
-- It has all that a sum needs.
CREATE INDEX charges_by_time ON charges (at_steady, kind, currency, millionths);
CREATE UNIQUE INDEX charges_end_once ON charges (entry_id, kind) WHERE kind <> 'charge';

-- What a balance was at a time, in millionths, as an operator or an answer (`set_by`) said.
CREATE TABLE balances (
  currency   TEXT PRIMARY KEY,
  millionths INTEGER NOT NULL,
  at_ms      INTEGER NOT NULL,
  at_steady  REAL NOT NULL,
  set_by     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Its statements run in this order: what is charged again in another balance is first taken off the one before.
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
-- A cancel spends nothing, and gives back what its eSIM cost: once (Spec 3), whatever cancels it, and not what its order gave back.
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
-- A call that left may have bought it, until a lookup proves that it did not (`sent_since_lookup`).
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

-- Which entry was shown which unit, so that no unit is given to two customers: a keyed hash of each name of the unit (its code, with its
-- PIN; its link; its ICCID; its activation code). It stays when the codes are shredded; the codes are in entries.units alone.
CREATE TABLE unit_marks (
  mark     TEXT NOT NULL CHECK (length(mark) = 22),
  entry_id INTEGER NOT NULL REFERENCES entries (id),
  -- The last four characters of a code of eight and more, for the search; null once the codes are shredded.
  ending   TEXT CHECK (length(ending) = 4),
  PRIMARY KEY (mark, entry_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_marks_by_ending ON unit_marks (ending, entry_id) WHERE ending IS NOT NULL;

-- Which order an eSIM came from: after an ambiguous cancel, a lookup of that order tells what became of it.
CREATE TABLE esims (
  iccid    TEXT PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES entries (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX esims_by_entry ON esims (entry_id);

-- The most units of a variant that one order may hold, as far as rejections have told.
CREATE TABLE variant_limits (
  variant       TEXT PRIMARY KEY,
  known_limit   INTEGER NOT NULL CHECK (known_limit >= 0),
  learned_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a unit of a product cost last; of a plan by its days, 0 for what has none.
CREATE TABLE product_costs (
  product   TEXT NOT NULL,
  days      INTEGER NOT NULL,
  currency  TEXT NOT NULL,
  unit_cost REAL NOT NULL,
  PRIMARY KEY (product, days, currency)
) STRICT, WITHOUT ROWID;

-- What the catalogue showed last as the price of a product.
CREATE TABLE catalogue_prices (
  product  TEXT NOT NULL,
  currency TEXT NOT NULL,
  price    REAL NOT NULL,
  PRIMARY KEY (product, currency)
) STRICT, WITHOUT ROWID;

-- One row for each HTTP call. Opened before the socket is used, closed once, then never changed, and never deleted.
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
-- An entry has one call in flight at most: the database itself refuses a second one.
CREATE UNIQUE INDEX attempts_open ON attempts (entry_id) WHERE closed_at_ms IS NULL;
-- Calls of the last minutes, and the log of calls. Calls are few: the API limits them.
CREATE INDEX attempts_by_time ON attempts (opened_at_ms, purpose);
CREATE INDEX attempts_by_outcome ON attempts (outcome) WHERE outcome IS NOT NULL;

CREATE TRIGGER attempts_are_final BEFORE UPDATE ON attempts WHEN OLD.closed_at_ms IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a closed attempt is never changed'); END;
CREATE TRIGGER attempts_are_kept BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'attempts are append-only'); END;

-- The last answers of the API, so that an operator can compare them with the mapping. Values have only their form (letters as A,
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

-- Calls that count against a limit of a key, written in the same transaction as their attempt.
CREATE TABLE budget_slots (
  id           INTEGER PRIMARY KEY,
  key_name     TEXT NOT NULL,
  limit_name   TEXT NOT NULL CHECK (limit_name IN ('requests', 'orders')),
  attempt_id   INTEGER,
  -- When its window began; null: its call is open.
  settled_steady REAL
) STRICT;
CREATE INDEX budget_slots_by_attempt ON budget_slots (attempt_id);

-- The keys that were configured last, and the back-off of each after a 429. A changed value is recognised by its
-- fingerprint, a keyed digest from which the key cannot be found.
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

-- Paused scopes. Stored, so that a worker in a crash loop does not hammer an API that denied it.
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

-- What counts against a scope until something clears it: the entries that failed in it, one after the other.
CREATE TABLE scope_evidence (
  scope    TEXT NOT NULL CHECK (length(scope) <= 300),
  reason   TEXT NOT NULL,
  entry_id INTEGER NOT NULL REFERENCES entries (id),
  product  TEXT,
  at_steady REAL NOT NULL,
  PRIMARY KEY (scope, reason, entry_id)
) STRICT, WITHOUT ROWID;

-- Results -------------------------------------------------------------------------------------------------------------

-- The write-back of each result to each sink. A delivery that fails never touches buying.
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
-- By sink: one that is behind must not slow the others down.
CREATE INDEX deliveries_due ON deliveries (sink, due_steady) WHERE done_version < due_version;
CREATE INDEX deliveries_giving ON deliveries (sink, due_steady) WHERE done_version < due_version AND gives_units = 1;
CREATE INDEX deliveries_given_up ON deliveries (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL AND acknowledged_at_ms IS NULL;

-- Sinks that take no results at the moment. Stored, so that a worker in a crash loop does not hammer a receiver that is down.
CREATE TABLE sink_pauses (
  sink        TEXT PRIMARY KEY,
  reason      TEXT NOT NULL,
  message     TEXT NOT NULL,
  since_ms    INTEGER NOT NULL,
  probe_steady REAL NOT NULL,
  probes      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Which line each row of a CSV order file is: `line_count` rows from `first_row` on (a line number of the file) are the lines from
-- `first_line` on. A row for each line would cost a quarter of what accepting it costs.
CREATE TABLE file_rows (
  file_number INTEGER NOT NULL REFERENCES files (number),
  first_row   INTEGER NOT NULL,
  first_line  INTEGER NOT NULL,
  line_count  INTEGER NOT NULL CHECK (line_count > 0),
  PRIMARY KEY (file_number, first_row)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_rows_by_line ON file_rows (first_line);

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
-- The audit log is read by time, and by who did what to which subject.
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_actor ON audit (actor, at_ms);
CREATE INDEX audit_by_action ON audit (action, at_ms);
-- The last one: of indexes that seem equal, SQLite takes that one, and a subject has the fewest rows.
CREATE INDEX audit_by_subject ON audit (subject, at_ms);
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- What each alert endpoint was told, and what is to be told, as JSON of the alert loop: a restart neither repeats nor loses an alert.
CREATE TABLE alerts_told (
  endpoint TEXT PRIMARY KEY,
  told     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Counts and statistics -------------------------------------------------------------------------------------------------

-- How many entries each lane has in each state: who asks for a count must not wait for a scan of a million rows. The counts of
-- the entries up to `counted_up_to` (in meta) are kept here; those after it are the newest and few, and are counted when somebody asks.
-- So a count is exact whichever statement made the change, and taking in a line does not pay for it: a trigger for each new
-- entry was a third of that.
CREATE TABLE entry_counts (
  state   TEXT NOT NULL,
  lane    TEXT NOT NULL,
  entries INTEGER NOT NULL,
  PRIMARY KEY (state, lane)
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('counted_up_to', '0');

CREATE TRIGGER entries_change_their_count AFTER UPDATE OF state, lane ON entries
WHEN (NEW.state <> OLD.state OR NEW.lane <> OLD.lane) AND NEW.id <= (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'counted_up_to')
BEGIN
  UPDATE entry_counts SET entries = entries - 1 WHERE state = OLD.state AND lane = OLD.lane;
  INSERT INTO entry_counts (state, lane, entries) VALUES (NEW.state, NEW.lane, 1)
  ON CONFLICT (state, lane) DO UPDATE SET entries = entries + 1;
END;

-- What happened in each hour, for charts and for what was spent. Kept by triggers, so that it is exact after a crash, whatever
-- statement made the change, and so that a chart costs its hours and not the entries. `hour` is hours since 1970 (UTC), by the
-- wall clock of the worker at the time.
--   received  orders that came in; counted by the statement that takes in their batch, because a trigger for each order was a
--             third of what it costs to take one in
--   settled   entries that reached a final state, by state
--   latency   fulfilled entries by the time from intake to settlement: key is ceil(4 * log2(ms / 100)), so a step is 19 %
--   calls     calls for entries, by purpose
--   spent     the `charges`, by currency, in millionths; `bought`: how many orders they are, `uncounted`: those without a cost
--   refunded  what came back, by currency, in millionths; `unrefunded`: how many refunds of an unknown amount
CREATE TABLE hourly_statistics (
  name TEXT NOT NULL CHECK (length(name) <= 16),
  hour INTEGER NOT NULL,
  key  TEXT NOT NULL CHECK (length(key) <= 64),
  n    INTEGER NOT NULL,
  PRIMARY KEY (name, hour, key)
) STRICT, WITHOUT ROWID;

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
