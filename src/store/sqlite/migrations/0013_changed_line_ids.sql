-- The id of the line of the same order that vanished when this one came, with the same SKU: one purchase, until a person says
-- that this one is another.
ALTER TABLE lines ADD COLUMN same_as INTEGER;
CREATE INDEX lines_same_as ON lines (same_as) WHERE same_as IS NOT NULL;
