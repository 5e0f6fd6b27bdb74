-- How many lookups in a row found nothing where that would have ended the entry: one such answer is not believed.
ALTER TABLE entries ADD COLUMN absences INTEGER NOT NULL DEFAULT 0;
