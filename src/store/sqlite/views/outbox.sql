-- For people who open the file with sqlite3. Columns are added, never renamed or removed. All times are ISO 8601 text
-- in UTC.

CREATE VIEW outbox AS
SELECT e.reference, r.source, r.order_id, l.line_id, e.operation, e.state,
       e.variant, e.plan, e.iccid, e.quantity, e.days, e.currency,
       e.order_number, e.status, e.cost, e.charged_currency,
       e.error_code, e.error_message, e.review_reason,
       e.outcome_unknown, e.attempts, e.next_step, e.key_name,
       CASE WHEN e.state IN ('pending', 'waiting', 'unknown', 'placed')
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', (e.due_steady + (SELECT ahead_ms FROM steady_time)) / 1000.0, 'unixepoch') END AS next_attempt_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.not_after_ms / 1000.0, 'unixepoch') AS not_after,
       strftime('%Y-%m-%dT%H:%M:%fZ', (SELECT min(a.opened_at_ms) FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.sent = 1) / 1000.0, 'unixepoch') AS first_sent_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch') AS settled_at
FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id;

CREATE VIEW attempt_log AS
SELECT e.reference, r.source, r.order_id, l.line_id, a.number, a.purpose, e.operation, a.key_name,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.opened_at_ms / 1000.0, 'unixepoch') AS opened_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.closed_at_ms / 1000.0, 'unixepoch') AS closed_at,
       a.sent, a.outcome, a.http_status, a.error_code, a.error_message, a.duration_ms
FROM attempts a JOIN entries e ON e.id = a.entry_id JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id;

-- `file`: of a CSV order file, which comes back with the results of its rows; it has no source and order id.
CREATE VIEW delivery_log AS
SELECT r.source, r.order_id, d.sink, d.done_version >= d.due_version AS done, d.tries, d.last_error,
       CASE WHEN d.given_up_at_ms IS NULL
            THEN strftime('%Y-%m-%dT%H:%M:%fZ', (d.due_steady + (SELECT ahead_ms FROM steady_time)) / 1000.0, 'unixepoch') END AS due_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.done_at_ms / 1000.0, 'unixepoch') AS done_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch') AS given_up_at,
       (SELECT name FROM files WHERE number = -d.request_id) AS file
FROM deliveries d LEFT JOIN requests r ON r.id = d.request_id;

CREATE VIEW audit_log AS
SELECT id, strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS at, actor, action, subject, reason, detail
FROM audit;
