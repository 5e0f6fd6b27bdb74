-- A receiver that refuses a result for days is given up, and a person is told; a write-back to this machine never is.
ALTER TABLE deliveries ADD COLUMN given_up_at_ms INTEGER;
-- Each sink looks for its own: one that is behind must not slow the others down.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (sink, due_at_ms) WHERE done_version < due_version;

DROP VIEW delivery_log;
CREATE VIEW delivery_log AS
SELECT r.source, r.order_id, d.sink, d.done_version >= d.due_version AS done, d.tries, d.last_error,
       CASE WHEN d.given_up_at_ms IS NULL
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', d.due_at_ms / 1000.0, 'unixepoch') END AS due_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.done_at_ms / 1000.0, 'unixepoch') AS done_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch') AS given_up_at
FROM deliveries d JOIN requests r ON r.id = d.request_id;

DROP VIEW outbox_attention;
CREATE VIEW outbox_attention AS
SELECT 'entry' AS kind, e.reference, r.source, r.order_id, l.line_id, e.state,
       coalesce(e.review_reason, e.error_code) AS reason, e.error_message AS message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS since
FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
WHERE e.state IN ('needs_review', 'held')
UNION ALL
SELECT 'rejection', NULL, j.source, j.order_id, j.line_id, 'not_accepted', j.code,
       'line ' || coalesce(j.line_number, '?') || ', ' || coalesce(j.field, 'line') || ': ' || j.rule,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at_ms / 1000.0, 'unixepoch')
FROM rejections j
UNION ALL
SELECT 'file', NULL, NULL, NULL, NULL, f.state, f.error_code, f.name || ': ' || coalesce(f.error_message, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(f.finished_at_ms, f.claimed_at_ms) / 1000.0, 'unixepoch')
FROM files f WHERE f.state = 'rejected'
UNION ALL
SELECT 'delivery', NULL, r.source, r.order_id, NULL, 'given_up', d.sink, d.last_error,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch')
FROM deliveries d JOIN requests r ON r.id = d.request_id WHERE d.given_up_at_ms IS NOT NULL;
CREATE INDEX deliveries_given_up ON deliveries (given_up_at_ms) WHERE given_up_at_ms IS NOT NULL;
