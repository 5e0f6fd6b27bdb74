-- When each shop was connected: the first start with it. What was paid before was not sold for this worker to buy.
CREATE TABLE storefront_connections (
  source          TEXT NOT NULL PRIMARY KEY CHECK (length(source) BETWEEN 1 AND 64),
  connected_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO storefront_connections SELECT DISTINCT source, 0 FROM shop_fingerprints;

-- The addresses by which each shop names itself in its orders: an order that names another one comes from a copy of the shop.
CREATE TABLE storefront_sites (
  source     TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  site       TEXT NOT NULL CHECK (length(site) BETWEEN 1 AND 1024),
  seen_at_ms INTEGER NOT NULL,
  PRIMARY KEY (source, site)
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

-- SKUs that a map of the source ever had, in the form in which they are compared: a line with one of them is ours, also when
-- the map has lost it.
CREATE TABLE storefront_mapped_skus (
  source       TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  sku          TEXT NOT NULL,
  mapped_at_ms INTEGER NOT NULL,
  -- 1: the map that is in use has it.
  is_mapped    INTEGER NOT NULL DEFAULT 0 CHECK (is_mapped IN (0, 1)),
  PRIMARY KEY (source, sku)
) STRICT, WITHOUT ROWID;
-- What was bought by a SKU was mapped.
INSERT OR IGNORE INTO storefront_mapped_skus (source, sku, mapped_at_ms)
SELECT r.source, lower(replace(json_extract(l.extra, '$.sku'), ' ', '')), l.received_at_ms FROM lines l JOIN requests r ON r.id = l.request_id
WHERE json_extract(l.extra, '$.sku') IS NOT NULL AND json_extract(l.extra, '$.shop_quantity') IS NOT NULL AND l.file_id IS NULL;

-- What tells a sale from another one that the shop gave the same id; null: it does not say.
ALTER TABLE storefront_orders ADD COLUMN sale_key TEXT;
-- When it was paid, as its first paid state told; null: no state has told it yet.
ALTER TABLE storefront_orders ADD COLUMN paid_ms INTEGER;

-- The customer waits for what the result gives: it comes before other results of its sink, such as notes about old orders.
ALTER TABLE deliveries ADD COLUMN gives_units INTEGER NOT NULL DEFAULT 0;
UPDATE deliveries SET gives_units = 1 WHERE done_version < due_version AND done_at_ms IS NULL AND EXISTS (
  SELECT 1 FROM lines l JOIN entries e ON e.line_id = l.id WHERE l.request_id = deliveries.request_id AND e.state = 'fulfilled');
CREATE INDEX deliveries_giving ON deliveries (sink, due_at_ms) WHERE done_version < due_version AND gives_units = 1;
-- What the last try failed with, where that decides what is to be done: see `WriteBackError`.
ALTER TABLE deliveries ADD COLUMN given_up_reason TEXT;
-- The last result in the shop's order that another worker wrote, as JSON. It is kept when this worker writes its own over it.
ALTER TABLE storefront_orders ADD COLUMN other_result TEXT;
-- What was kept had only the lines with unknown SKUs, and is taken in as the whole order from now on.
UPDATE storefront_orders SET kept_order = NULL;

-- The name of the watched folder that it came from. Before folders had names there was one.
ALTER TABLE files ADD COLUMN folder TEXT NOT NULL DEFAULT 'folder' CHECK (length(folder) BETWEEN 1 AND 32);

-- By it an order finds one whose id is the same number, with zeros before it or as a text of a spreadsheet. Most shops have no such ids.
CREATE INDEX requests_with_zeros ON requests (source, ltrim(order_id, '''0')) WHERE order_id GLOB '[0'']*';
