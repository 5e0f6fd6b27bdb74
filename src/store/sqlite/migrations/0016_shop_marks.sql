-- What each shop is recognised by (its name, its address, a print of its secret), and the source that its orders belong
-- to. Under another source the references would be others, and what the shop shows again would be bought again.
CREATE TABLE shop_fingerprints (
  kind       TEXT NOT NULL CHECK (kind = 'name' OR kind = 'address' OR kind = 'secret'),
  value      TEXT NOT NULL CHECK (length(value) BETWEEN 1 AND 4096),
  source     TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  seen_at_ms INTEGER NOT NULL,
  PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
