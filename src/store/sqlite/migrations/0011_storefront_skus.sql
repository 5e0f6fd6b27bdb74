-- SKUs of storefronts' orders that the SKU map did not know when the order was first seen, and in how many orders. What
-- is ignored is recorded nowhere else, and a product that is missing from the map would never be noticed.
CREATE TABLE storefront_unmapped_skus (
  source           TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  sku              TEXT NOT NULL CHECK (length(sku) <= 128),
  orders           INTEGER NOT NULL CHECK (orders > 0),
  last_order_id    TEXT NOT NULL,
  first_seen_at_ms INTEGER NOT NULL,
  last_seen_at_ms  INTEGER NOT NULL,
  PRIMARY KEY (source, sku)
) STRICT, WITHOUT ROWID;
