-- The attention list has pauses and outcomes that stay unknown, too, and the column `scope`. This view takes the place of the one before.
DROP VIEW outbox_attention;

CREATE VIEW outbox_attention AS
WITH RECURSIVE
  -- The lanes that have entries to send, found by going from one to the next: the cost is their number, not the backlog.
  pending (lane) AS (
    SELECT min(lane) FROM entries WHERE state = 'pending'
    UNION ALL
    SELECT (SELECT min(lane) FROM entries WHERE state = 'pending' AND lane > pending.lane) FROM pending WHERE pending.lane IS NOT NULL),
  waiting (lane) AS (
    SELECT min(lane) FROM entries WHERE state = 'waiting'
    UNION ALL
    SELECT (SELECT min(lane) FROM entries WHERE state = 'waiting' AND lane > waiting.lane) FROM waiting WHERE waiting.lane IS NOT NULL),
  -- A lane is `source|balances|product`, and only a product may have the separator in it.
  to_send (product) AS MATERIALIZED (
    SELECT DISTINCT substr(rest, instr(rest, '|') + 1) FROM (
      SELECT substr(lane, instr(lane, '|') + 1) AS rest FROM (
        SELECT lane FROM pending UNION ALL SELECT lane FROM waiting
        UNION ALL SELECT lane FROM entries WHERE state = 'unknown' AND next_step = 'send')
      WHERE lane IS NOT NULL))
SELECT 'entry' AS kind, e.reference, r.source, r.order_id, l.line_id, e.state,
       coalesce(e.review_reason, e.error_code) AS reason, e.error_message AS message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS since, NULL AS scope
FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
WHERE e.state IN ('needs_review', 'held')
UNION ALL
-- A lookup usually tells within minutes what became of a call. Where it cannot, the entry holds up its product and others.
SELECT 'entry', e.reference, r.source, r.order_id, l.line_id, e.state, 'outcome_unknown', e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.first_sent_at_ms / 1000.0, 'unixepoch'), NULL
FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
WHERE e.state = 'unknown' AND e.first_sent_at_ms < unixepoch('subsec') * 1000 - 900000
UNION ALL
SELECT 'rejection', NULL, j.source, j.order_id, j.line_id, 'not_accepted', j.code,
       'line ' || coalesce(j.line_number, '?') || ', ' || coalesce(j.field, 'line') || ': ' || j.rule,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at_ms / 1000.0, 'unixepoch'), NULL
FROM rejections j
UNION ALL
SELECT 'file', NULL, NULL, NULL, NULL, f.state, f.error_code, f.name || ': ' || coalesce(f.error_message, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(f.finished_at_ms, f.claimed_at_ms) / 1000.0, 'unixepoch'), NULL
FROM files f WHERE f.state = 'rejected'
UNION ALL
SELECT 'delivery', NULL, r.source, r.order_id, NULL, 'given_up', d.sink, d.last_error,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch'), NULL
FROM deliveries d JOIN requests r ON r.id = d.request_id WHERE d.given_up_at_ms IS NOT NULL
UNION ALL
-- The worker noticed that the database is an older copy: what was taken in since is missing.
SELECT 'outbox', NULL, NULL, NULL, NULL, 'after_loss', 'older_copy', a.reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.at_ms / 1000.0, 'unixepoch'), NULL
FROM audit a WHERE a.subject = 'outbox' AND a.action = 'recovery_stage' AND a.actor = 'worker'
  AND json_extract(a.detail, '$.until_ms') > unixepoch() * 1000
UNION ALL
-- Pauses that are older than a minute, because most end before; one for an unproven connector at once. That of a product only while it holds something up: whatever nobody orders any more
-- waits for its trial for ever. The clock is that of the machine that reads; a start that lies in the future comes from a
-- clock that was set, and hides nothing.
SELECT 'pause', NULL, NULL, NULL, NULL, 'paused', p.reason, p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.scope
FROM pauses p
WHERE (p.since_ms NOT BETWEEN unixepoch('subsec') * 1000 - 60000 AND unixepoch('subsec') * 1000 OR p.reason = 'connector_unproven')
  AND ((p.scope NOT LIKE 'variant:%' AND p.scope NOT LIKE 'plan:%') OR p.scope IN (SELECT product FROM to_send));
