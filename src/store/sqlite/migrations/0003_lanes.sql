-- Entries queue in lanes, one for each shop and balance: no shop's backlog stands before another shop's single order,
-- and a balance that stands still costs no search through what waits for it.
ALTER TABLE entries ADD COLUMN lane TEXT NOT NULL DEFAULT '';
UPDATE entries SET lane = (
  SELECT r.source || '|' || coalesce(entries.currency, '-')
  FROM lines l JOIN requests r ON r.id = l.request_id WHERE l.id = entries.line_id);
CREATE INDEX entries_pending_lanes ON entries (lane, due_at_ms, id) WHERE state = 'pending';
CREATE INDEX entries_waiting_lanes ON entries (lane, due_at_ms, id) WHERE state = 'waiting';
