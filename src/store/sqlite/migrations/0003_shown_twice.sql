-- After an entry was delivered: which order number, code or eSIM of it another entry was shown, too, and its reference.
ALTER TABLE entries ADD COLUMN also_shown TEXT;
CREATE INDEX entries_shown_twice ON entries (id) WHERE also_shown IS NOT NULL AND acknowledged_at_ms IS NULL;
