-- The attention list: what a person must see, for the command line, the pages, health and metrics alike. Each part is a list
-- of its own with its own index. The joins are LEFT JOINs, because SQLite leaves out those that a count does not need.
--
-- `id` names a row for `orders ack`: the reference of an entry, else the kind of thing and its key. `can_acknowledge`: nothing
-- is open any more, so a person may end it without a decision. What is short, or matters most, comes first: who looks at a
-- part of the list only sees that.
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
SELECT e.state AS kind, e.reference AS id, e.reference, r.source, r.order_id, l.line_id, e.state,
       -- What a call for a held entry ended with before is not why it is held.
       CASE WHEN e.state = 'held' THEN 'held' ELSE coalesce(e.error_code, e.state) END AS code,
       CASE WHEN e.state = 'held' THEN e.review_reason ELSE coalesce(e.review_reason, e.error_message) END AS message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS since, NULL AS scope,
       'this line' AS holds_up,
       CASE WHEN e.held_by = 'shop' THEN 'it is released when the shop shows its order as paid again; `orders release` buys it without that'
         WHEN e.state = 'held' AND (SELECT same_as FROM lines WHERE id = e.line_id) IS NOT NULL THEN 'decide with `orders resolve --same` or `--another` whether both lines are one purchase'
         WHEN e.state = 'held' THEN 'release it with `orders release`, or end it with `orders cancel`'
         ELSE 'compare it with the supplier''s list, then settle it with `orders resolve`, or try again with `orders retry`' END AS what_to_do,
       0 AS can_acknowledge
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state IN ('needs_review', 'held')
UNION ALL
-- A lookup usually tells within minutes what became of a call. Where it cannot, the entry holds up its product and others.
SELECT 'unknown', e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, 'outcome_unknown'), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.first_sent_at_ms / 1000.0, 'unixepoch'), NULL,
       'this line, and with another one like it its product',
       'the worker looks it up by itself; `orders show` has its attempts, `orders retry` looks it up at once', 0
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state = 'unknown' AND e.first_sent_at_ms < unixepoch('subsec') * 1000 - 900000
UNION ALL
-- The worker noticed that the database is an older copy: what was taken in since is missing.
SELECT 'older_copy', 'older_copy:' || a.id, NULL, NULL, NULL, NULL, 'after_loss', 'older_copy', a.reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.at_ms / 1000.0, 'unixepoch'), NULL,
       'what was taken in after the copy was made: it is missing',
       'have the shops send it again, as docs/operating.md says under Restore; the row ends by itself', 0
FROM audit a WHERE a.subject = 'outbox' AND a.action = 'recovery_stage' AND a.actor = 'worker'
  AND json_extract(a.detail, '$.until_ms') > unixepoch() * 1000
UNION ALL
-- Pauses that are older than a minute, because most end before; one for an unproven connector at once. That of a product
-- only while it holds something up: whatever nobody orders any more waits for its trial for ever. The clock is that of the
-- machine that reads; a start that lies in the future comes from a clock that was set, and hides nothing.
SELECT 'pause', 'pause:' || p.scope, NULL, NULL, NULL, NULL, 'paused', p.reason, p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.scope,
       CASE WHEN p.scope = 'account' THEN 'everything that is to be sent'
            WHEN p.scope LIKE 'key:%' THEN 'what is sent with this key; with every key paused, everything'
            WHEN p.scope LIKE 'balance:%' THEN 'orders that are charged to this balance'
            WHEN p.scope = 'family:gift_card' THEN 'gift card orders'
            WHEN p.scope = 'family:esim' THEN 'eSIM orders'
            ELSE 'orders of this product' END,
       CASE WHEN p.reason = 'manual' THEN 'resume it with `queue resume`'
            WHEN p.reason = 'connector_unproven' THEN 'compare `wire` with the answers in `orders show`; if the mapping is right, `queue resume`'
            WHEN p.reason = 'api_unreachable' THEN 'nothing while the supplier is down: the worker tries again by itself; else repair the way to the API'
            ELSE 'repair its cause: the worker tries again by itself, or at once after `queue resume`' END, 0
FROM pauses p
WHERE (p.since_ms NOT BETWEEN unixepoch('subsec') * 1000 - 60000 AND unixepoch('subsec') * 1000 OR p.reason = 'connector_unproven')
  AND ((p.scope NOT LIKE 'variant:%' AND p.scope NOT LIKE 'plan:%') OR p.scope IN (SELECT product FROM to_send))
UNION ALL
-- A sink that takes no results, while some wait for it.
SELECT 'pause', 'sink:' || p.sink, NULL, NULL, NULL, NULL, 'paused', p.reason, p.sink || ': ' || p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.sink,
       'the results for this sink; nothing else',
       'repair the receiver or the folder: the worker tries again by itself, at least every five minutes', 0
FROM sink_pauses p
WHERE p.since_ms NOT BETWEEN unixepoch('subsec') * 1000 - 60000 AND unixepoch('subsec') * 1000
  AND EXISTS (SELECT 1 FROM deliveries d WHERE d.sink = p.sink AND d.done_version < d.due_version AND d.due_at_ms < 9000000000000000)
UNION ALL
-- Reading the shop back tells within minutes which lines were refunded, unless the shop cannot be read.
SELECT 'storefront', 'order:' || o.source || '/' || o.order_id, NULL, o.source, o.order_id, NULL, 'awaits_read_back', 'awaits_read_back',
       'was refunded in part, and the delivery did not say which line: nothing of it is bought or cancelled until the shop is read back',
       strftime('%Y-%m-%dT%H:%M:%fZ', o.seen_at_ms / 1000.0, 'unixepoch'), NULL,
       'this order', 'check the keys of the shop''s API, then read it back with `reconcile`', 0
FROM storefront_orders o WHERE o.awaits_read_back = 1 AND o.seen_at_ms < unixepoch('subsec') * 1000 - 3600000
UNION ALL
-- An order is usually read again within seconds. Where the shop cannot be read, what waits for that is not bought.
SELECT 'storefront', 'recheck:' || o.source || '/' || o.order_id, NULL, o.source, o.order_id, NULL, 'awaits_recheck', 'awaits_recheck',
       'is read again from the shop before it is bought, and that did not succeed yet' || coalesce(': ' || o.recheck_problem, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', o.recheck_since_ms / 1000.0, 'unixepoch'), NULL,
       'what is unsent of this order',
       'repair the way to the shop''s API: the worker tries again by itself; if nobody wants the order any more, end it with `orders cancel`', 0
FROM storefront_orders o WHERE o.recheck_since_ms IS NOT NULL AND o.recheck_since_ms < unixepoch('subsec') * 1000 - 600000
UNION ALL
SELECT 'refused_file', 'file:' || f.id, NULL, NULL, NULL, NULL, f.state, f.error_code, f.name || ': ' || coalesce(f.error_message, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(f.finished_at_ms, f.claimed_at_ms) / 1000.0, 'unixepoch'), NULL,
       'every line of the file', 'correct the file and send it again, then end it with `orders ack`', 1
FROM files f WHERE f.state = 'rejected' AND f.acknowledged_at_ms IS NULL
UNION ALL
SELECT 'delivery', 'delivery:' || d.request_id || ':' || d.sink, NULL, r.source, r.order_id, NULL, 'given_up', 'given_up',
       d.sink || ', tried ' || d.tries || ' times: ' || coalesce(d.last_error, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch'), NULL,
       'the result of this order: the shop does not have it',
       'repair the receiver and write it again with `results rewrite --sink`, or end it with `orders ack`', 1
FROM deliveries d LEFT JOIN requests r ON r.id = d.request_id WHERE d.given_up_at_ms IS NOT NULL AND d.acknowledged_at_ms IS NULL
UNION ALL
-- An order file whose rows are not written back any more, because its archive is gone or was changed.
SELECT 'delivery', 'csv:' || c.file_id, NULL, NULL, NULL, NULL, 'given_up', 'given_up',
       (SELECT name FROM files WHERE id = c.file_id) || ', tried ' || c.tries || ' times: ' || coalesce(c.last_error, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', c.given_up_at_ms / 1000.0, 'unixepoch'), NULL,
       'the CSV with the results of this order file; each order has its result in a file of its own',
       'read the results of its orders, or send the file again, which buys nothing twice; then end it with `orders ack`', 1
FROM csv_files c WHERE c.given_up_at_ms IS NOT NULL AND c.acknowledged_at_ms IS NULL
UNION ALL
-- An order file whose rows cannot be written back at the moment.
SELECT 'delivery', 'csv:' || c.file_id, NULL, NULL, NULL, NULL, 'waiting', 'not_written',
       (SELECT name FROM files WHERE id = c.file_id) || ', tried ' || c.tries || ' times: ' || coalesce(c.last_error, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', (SELECT finished_at_ms FROM files WHERE id = c.file_id) / 1000.0, 'unixepoch'), NULL,
       'the CSV with the results of this order file; each order has its result in a file of its own',
       'repair the folder of results: the worker tries again by itself, at least every five minutes', 0
FROM csv_files c
WHERE c.done_version < c.due_version AND c.due_at_ms < 9000000000000000 AND c.tries >= 3
UNION ALL
-- A paid line that was not bought. Where another entry took its place, that one answers for the line.
SELECT e.state, e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, e.state), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch'), NULL,
       'this line: its customer gets nothing',
       'correct its cause and order it again with `orders reorder` (after a correction of the SKU map with `orders reorder --remap`), or refund it in the shop, then end it with `orders ack`', 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE (e.state = 'rejected' OR e.state = 'expired') AND e.replaced = 0 AND e.taken_back = 0 AND e.acknowledged_at_ms IS NULL
  AND e.error_code IS NOT 'rejected_by_person'
UNION ALL
-- A paid line that a person found to be bought, and whose units nobody has.
SELECT 'needs_manual_delivery', e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, 'needs_manual_delivery',
       e.units_missing || ' of ' || coalesce(e.quantity, 1) || ' units are not in the outbox: ' || e.resolved_by || ' found that it was bought'
         || coalesce(', as order ' || e.order_number, ''),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch'), NULL,
       'this line: its customer waits for the units',
       'enter the units with `orders resolve --as fulfilled --units`; or give them to the customer by hand, then end it with `orders ack`', 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.units_missing > 0 AND e.replaced = 0 AND e.taken_back = 0 AND e.acknowledged_at_ms IS NULL
UNION ALL
-- A line that was not accepted, until it comes again corrected: from then on its entry answers for it. The same
-- mistake of the same line in a later file takes its place: that is one thing to do. And what the worker flagged about an order of a shop. A known line with other content
-- (`conflict`) may have come from anywhere.
SELECT CASE WHEN j.file_id IS NULL AND j.line_number IS NULL AND j.code <> 'conflict' THEN 'storefront' ELSE 'refused_line' END, 'line:' || j.id,
       NULL, j.source, j.order_id, j.line_id, 'not_accepted', j.code,
       CASE WHEN j.line_number IS NULL THEN '' ELSE 'line ' || j.line_number || ' of the file, ' END
         || CASE WHEN j.field IS NULL THEN '' ELSE j.field || ': ' END || j.rule,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at_ms / 1000.0, 'unixepoch'), NULL,
       CASE WHEN j.code = 'conflict' THEN 'nothing: what was accepted first counts' ELSE 'this line' END,
       CASE WHEN j.code = 'conflict' THEN 'compare both contents in `orders show`, then end it with `orders ack`'
            WHEN j.file_id IS NULL AND j.line_number IS NULL AND j.code = 'unknown_sku'
              THEN 'correct the SKU map and order it with `orders reorder --remap`, or end it with `orders ack`'
            WHEN j.file_id IS NULL AND j.line_number IS NULL THEN 'look at the order in the shop and decide what becomes of it, then end it with `orders ack`'
            ELSE 'correct the line and send it again, or end it with `orders ack`' END, 1
FROM rejections j WHERE j.corrected_at_ms IS NULL AND j.taken_back = 0 AND j.acknowledged_at_ms IS NULL
  AND (j.file_id IS NULL OR NOT EXISTS (SELECT 1 FROM rejections n WHERE n.source = j.source AND n.order_id = j.order_id AND n.line_id = j.line_id
    AND n.code = j.code AND n.code <> 'duplicate_line' AND n.rule = j.rule AND n.file_id <> j.file_id AND n.id > j.id))
UNION ALL
-- Nothing was charged, and the worker tries again; but a customer has waited for an hour.
SELECT 'waiting', e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, 'waiting'), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at_ms / 1000.0, 'unixepoch'), NULL,
       'this line', 'the worker tries it again by itself; if nobody wants it any more, end it with `orders cancel`', 0
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state = 'waiting' AND e.created_at_ms < unixepoch('subsec') * 1000 - 3600000;
