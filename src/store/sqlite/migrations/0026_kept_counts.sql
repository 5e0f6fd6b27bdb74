-- How many entries each lane has in each state: who asks for a count must not wait for a scan of a million rows. The counts of
-- the entries up to `counted_up_to` are kept here; those after it are the newest and few, and are counted when somebody asks.
-- So a count is exact whichever statement made the change, and taking in a line does not pay for it: a trigger for each new
-- entry was a third of that.
CREATE TABLE entry_counts (
  state   TEXT NOT NULL,
  lane    TEXT NOT NULL,
  entries INTEGER NOT NULL,
  PRIMARY KEY (state, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE counted_entries (
  id            INTEGER PRIMARY KEY CHECK (id = 1),
  counted_up_to INTEGER NOT NULL
) STRICT;

INSERT INTO entry_counts (state, lane, entries) SELECT state, lane, count(*) FROM entries GROUP BY state, lane;
INSERT INTO counted_entries (id, counted_up_to) SELECT 1, coalesce(max(id), 0) FROM entries;

CREATE TRIGGER entries_change_their_count AFTER UPDATE OF state, lane ON entries
WHEN (NEW.state <> OLD.state OR NEW.lane <> OLD.lane) AND NEW.id <= (SELECT counted_up_to FROM counted_entries)
BEGIN
  UPDATE entry_counts SET entries = entries - 1 WHERE state = OLD.state AND lane = OLD.lane;
  INSERT INTO entry_counts (state, lane, entries) VALUES (NEW.state, NEW.lane, 1)
  ON CONFLICT (state, lane) DO UPDATE SET entries = entries + 1;
END;

-- The entries of a state and a shop by age, without looking at any others. A lane begins with its source. An entry comes in as
-- `pending`, so only the first index costs time then.
CREATE INDEX entries_pending_age ON entries (substr(lane, 1, instr(lane, '|') - 1), created_at_ms) WHERE state = 'pending';
CREATE INDEX entries_state_age ON entries (state, substr(lane, 1, instr(lane, '|') - 1), created_at_ms) WHERE state <> 'pending';
