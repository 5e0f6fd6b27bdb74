-- The headers that the mapping gave the request, as JSON; null: none. Like its body they are stored with the first attempt and
-- never rendered again.
ALTER TABLE entries ADD COLUMN request_headers TEXT;
CREATE TRIGGER entries_keep_their_headers BEFORE UPDATE OF request_headers ON entries
WHEN OLD.request_method IS NOT NULL AND NEW.request_headers IS NOT OLD.request_headers
BEGIN SELECT RAISE(ABORT, 'the request of a reference is never changed'); END;
