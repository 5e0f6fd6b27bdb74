-- How far each storefront's own list of orders has been read back, as a time of the shop's clock. Everything that was
-- changed before it is on disk.
CREATE TABLE storefront_watermarks (
  source        TEXT NOT NULL PRIMARY KEY CHECK (length(source) BETWEEN 1 AND 64),
  modified_ms   INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
