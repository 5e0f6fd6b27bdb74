-- What an order allows the worker to do by itself, as JSON: {"split": true, "fallback_currency": "EUR"}.
ALTER TABLE entries ADD COLUMN rules TEXT NOT NULL DEFAULT '{}';
-- 1: refused, and others took its place; the line stands by those.
ALTER TABLE entries ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0 CHECK (replaced IN (0, 1));

-- The most of a variant that one order may hold, as far as refusals have told.
CREATE TABLE variant_limits (
  variant       TEXT PRIMARY KEY,
  known_limit   INTEGER NOT NULL CHECK (known_limit >= 0),
  learned_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
