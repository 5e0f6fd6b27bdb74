-- When the units of a settled entry were shredded, because they were kept for long enough. How many there were stays in unit_count.
ALTER TABLE entries ADD COLUMN shredded_at_ms INTEGER;
CREATE INDEX entries_to_shred ON entries (settled_at_ms, id) WHERE units IS NOT NULL AND settled_at_ms IS NOT NULL;
