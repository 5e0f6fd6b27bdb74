-- After the loss of an outbox: what of an entry is looked up before it is sent for the first time. 0: nothing so far;
-- 1: its own reference; 2: the reference of what may have taken its place; 3: all of it was looked up.
ALTER TABLE entries ADD COLUMN recovery_stage INTEGER NOT NULL DEFAULT 0;
