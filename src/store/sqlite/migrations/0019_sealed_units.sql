-- The units of an entry are JSON, or sealed: `sealed:1:<key id>:<nonce>:<text>`. Which key sealed them; null: they are in clear.
-- No generated column: with one, VACUUM INTO of some versions of SQLite fails.
ALTER TABLE entries ADD COLUMN sealed_by TEXT;
CREATE INDEX entries_units_by_key ON entries (sealed_by, id) WHERE units IS NOT NULL;

-- SQL cannot look into sealed units.
ALTER TABLE entries ADD COLUMN unit_count INTEGER NOT NULL DEFAULT 0 CHECK (unit_count >= 0);
UPDATE entries SET unit_count = json_array_length(units) WHERE units IS NOT NULL;
