-- What stands in the attention list until it is corrected, taken back in the shop, or acknowledged. All of it is stored in
-- the row that it concerns, so that each list is an index of what is still there: rows that left it cost nothing.

-- 1: the shop refunded the line or cancelled its order: nobody waits for it any more.
ALTER TABLE entries ADD COLUMN taken_back INTEGER NOT NULL DEFAULT 0 CHECK (taken_back = 0 OR taken_back = 1);
ALTER TABLE entries ADD COLUMN acknowledged_at_ms INTEGER;
-- What a person resolved as rejected was seen by a person.
CREATE INDEX entries_unbought ON entries (state, settled_at_ms)
  WHERE (state = 'rejected' OR state = 'expired') AND replaced = 0 AND taken_back = 0 AND acknowledged_at_ms IS NULL
    AND error_code IS NOT 'rejected_by_person';
CREATE INDEX entries_waiting_age ON entries (created_at_ms) WHERE state = 'waiting';

ALTER TABLE rejections ADD COLUMN taken_back INTEGER NOT NULL DEFAULT 0 CHECK (taken_back = 0 OR taken_back = 1);
ALTER TABLE rejections ADD COLUMN acknowledged_at_ms INTEGER;
CREATE INDEX rejections_attention ON rejections (created_at_ms)
  WHERE corrected_at_ms IS NULL AND taken_back = 0 AND acknowledged_at_ms IS NULL;

ALTER TABLE files ADD COLUMN acknowledged_at_ms INTEGER;
CREATE INDEX files_attention ON files (claimed_at_ms) WHERE state = 'rejected' AND acknowledged_at_ms IS NULL;

ALTER TABLE deliveries ADD COLUMN acknowledged_at_ms INTEGER;
DROP INDEX deliveries_given_up;
CREATE INDEX deliveries_given_up ON deliveries (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL AND acknowledged_at_ms IS NULL;
