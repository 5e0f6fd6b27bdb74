-- Lanes hold the product, too: what waits for a paused product costs no search.
UPDATE entries SET lane = lane || '|' || coalesce('variant:' || variant, 'plan:' || plan, 'plan:')
WHERE state IN ('pending', 'waiting', 'sending', 'unknown', 'placed', 'held', 'needs_review');

-- What counts against a scope until something clears it: the entries that failed in it, one after the other.
CREATE TABLE scope_evidence (
  scope    TEXT NOT NULL CHECK (length(scope) <= 300),
  reason   TEXT NOT NULL,
  entry_id INTEGER NOT NULL REFERENCES entries (id),
  product  TEXT,
  at_ms    INTEGER NOT NULL,
  PRIMARY KEY (scope, reason, entry_id)
) STRICT, WITHOUT ROWID;

-- What a unit of a product cost last. Only to choose the cheapest order as the trial of a balance that was empty.
CREATE TABLE product_costs (
  product   TEXT NOT NULL,
  currency  TEXT NOT NULL,
  unit_cost REAL NOT NULL,
  PRIMARY KEY (product, currency)
) STRICT, WITHOUT ROWID;
