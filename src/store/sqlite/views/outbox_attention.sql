-- The attention list: what an operator must see, for the command line, the pages, health and metrics alike. Each part is a list
-- of its own with its own index. The joins are LEFT JOINs, because SQLite leaves out those that a count does not need.
--
-- Only facts: what a row means and what to do about it stands in core/operator/attention.ts, by its `reason`; docs/reference/attention.md
-- shows that as a table. `code` is what happened: a stable name, and for an entry the code that its result has, too. `message`
-- is what the API, a shop, a receiver or a rule said; `evidence` has further facts as JSON. `id` names a row for `orders ack`:
-- the reference of an entry, else the kind of thing and its key. `can_acknowledge`: nothing is open any more, so an operator may
-- end it without a decision. What is short, or matters most, comes first: who looks at a part of the list only sees that.
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
SELECT e.state AS kind,
       CASE WHEN e.held_by = 'shop' THEN 'held_by_shop' WHEN e.held_by = 'limit' THEN 'over_limit'
            WHEN e.state = 'held' AND (SELECT same_as FROM lines WHERE id = e.line_id) IS NOT NULL THEN 'held_as_same_line'
            WHEN e.state = 'held' THEN 'held' ELSE 'needs_review' END AS reason,
       e.reference AS id, e.reference, r.source, r.order_id, l.line_id, e.state,
       -- What a call for a held entry ended with before is not why it is held.
       CASE WHEN e.held_by = 'limit' THEN e.over_limit WHEN e.state = 'held' THEN 'held' ELSE coalesce(e.error_code, e.state) END AS code,
       CASE WHEN e.state = 'held' THEN e.review_reason ELSE coalesce(e.review_reason, e.error_message) END AS message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch') AS since, NULL AS scope, NULL AS evidence,
       0 AS can_acknowledge
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state IN ('needs_review', 'held')
UNION ALL
-- A lookup usually tells within minutes what became of a call. Where it cannot, the entry holds up its product and others.
SELECT 'unknown', 'outcome_unknown' AS reason, e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, 'outcome_unknown'), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', (SELECT min(a.opened_at_ms) FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.sent = 1) / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state = 'unknown' AND (SELECT min(a.opened_at_ms) FROM attempts a WHERE a.entry_id = e.id AND a.purpose = 'submit' AND a.sent = 1) NOT BETWEEN unixepoch('subsec') * 1000 - 900000 AND unixepoch('subsec') * 1000
UNION ALL
-- The worker noticed that the database is an older copy: what was taken in since is missing.
SELECT 'older_copy', 'older_copy' AS reason, 'older_copy:' || a.id, NULL, NULL, NULL, NULL, 'after_loss', 'older_copy', a.reason,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.at_ms / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM audit a WHERE a.subject = 'outbox' AND a.action = 'after_loss' AND a.actor = 'worker'
  AND json_extract(a.detail, '$.until_ms') > unixepoch() * 1000
UNION ALL
-- Only a lookup tells what became of a call without an answer, and none of this kind has found an order.
SELECT 'lookup', 'lookup_unproven' AS reason, m.name, NULL, NULL, NULL, NULL, 'unproven', 'lookup_unproven', NULL,
       m.value ->> '$.at', NULL, m.value, 0
FROM meta m WHERE m.name GLOB 'lookup_missed:*'
UNION ALL
SELECT 'money', CASE WHEN m.name GLOB 'money:balance:*' THEN 'balance_low' ELSE 'limit_near' END AS reason, m.name, NULL, NULL, NULL, NULL,
       'nearly_spent', 'nearly_spent', m.value ->> '$.message', m.value ->> '$.at', substr(m.name, 7), NULL, 0
FROM meta m WHERE m.name GLOB 'money:*'
UNION ALL
-- A pause that may be a short outage is shown 95 s after it began, when the probes have had time to end it; where nothing was ever
-- bought, nothing was interrupted, so it is shown at once. Other pauses are shown at once, and those of an operator after a minute.
-- The pause of a product is shown only while it holds something up: a product that nobody orders any more waits for its trial for
-- ever. The clock is that of the machine that reads; a start in the future comes from a clock that was set, and hides nothing.
SELECT 'pause',
       CASE p.reason WHEN 'manual' THEN 'paused_by_person' WHEN 'connector_unproven' THEN 'connector_unproven'
                     WHEN 'api_unreachable' THEN 'api_unreachable' WHEN 'api_disabled' THEN 'api_unreachable'
                     WHEN 'redirect' THEN 'wrong_address' WHEN 'tls_refused' THEN 'wrong_address'
                     WHEN 'invalid_key' THEN 'key_denied' WHEN 'ip_not_allowed' THEN 'account_denied'
                     WHEN 'account_not_allowed' THEN 'account_denied'
                     WHEN 'insufficient_balance' THEN 'balance_too_low' WHEN 'older_copy' THEN 'older_copy'
                     WHEN 'key_of_other_account' THEN 'key_of_other_account'
                     WHEN 'product_refused' THEN 'product_refused' WHEN 'price_rose' THEN 'price_rose' ELSE 'paused' END AS reason,
       'pause:' || p.scope, NULL, NULL, NULL, NULL, 'paused', p.reason, p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.scope, NULL, 0
FROM pauses p
WHERE (p.since_ms NOT BETWEEN unixepoch('subsec') * 1000
         - CASE WHEN p.reason = 'manual' THEN 60000 WHEN p.reason NOT IN ('api_disabled', 'api_unreachable') THEN -1
                WHEN EXISTS (SELECT 1 FROM entries b WHERE b.state = 'fulfilled' AND b.outcome_row = 'accepted') THEN 95000 ELSE -1 END
         AND unixepoch('subsec') * 1000)
  AND ((p.scope NOT LIKE 'variant:%' AND p.scope NOT LIKE 'plan:%') OR p.scope IN (SELECT product FROM to_send))
UNION ALL
-- A sink that takes no results, while some wait for it, or no alerts. It is shown at once if its trouble does not end by itself.
SELECT 'pause', 'sink_paused' AS reason, 'sink:' || p.sink, NULL, NULL, NULL, NULL, 'paused', p.reason, p.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', p.since_ms / 1000.0, 'unixepoch'), p.sink, NULL, 0
FROM sink_pauses p
WHERE p.since_ms NOT BETWEEN unixepoch('subsec') * 1000
        - CASE WHEN p.reason IN ('http_401', 'http_403', 'EACCES', 'EEXIST', 'ENOTDIR', 'EPERM', 'EROFS') OR p.sink LIKE 'alert:%' THEN -1
               ELSE 75000 END
        AND unixepoch('subsec') * 1000
  AND (p.sink LIKE 'alert:%'
    OR EXISTS (SELECT 1 FROM deliveries d WHERE d.sink = p.sink AND d.done_version < d.due_version AND d.due_steady < 9000000000000000))
UNION ALL
-- For a day after the last 429, because whoever else uses the key may rest at night.
SELECT 'key_used_elsewhere', 'key_used_elsewhere' AS reason, 'key:' || k.key_name, NULL, NULL, NULL, NULL, 'rate_limited', 'key_used_elsewhere', NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', k.used_elsewhere_since_ms / 1000.0, 'unixepoch'), 'key:' || k.key_name,
       json_object('last_at', strftime('%Y-%m-%dT%H:%M:%fZ', k.rate_limited_at_ms / 1000.0, 'unixepoch')), 0
FROM wholesale_keys k WHERE k.used_elsewhere_since_ms IS NOT NULL AND k.rate_limited_at_ms > unixepoch() * 1000 - 86400000
UNION ALL
-- Reading the shop back tells within minutes which lines were refunded, unless the shop cannot be read.
SELECT 'storefront', 'awaits_read_back' AS reason, 'order:' || o.source || '/' || o.order_id, NULL, o.source, o.order_id, NULL,
       'awaits_read_back', 'awaits_read_back', NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.seen_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM storefront_orders o WHERE o.awaits_read_back = 1 AND o.seen_at_ms NOT BETWEEN unixepoch('subsec') * 1000 - 3600000 AND unixepoch('subsec') * 1000
UNION ALL
-- An order is usually read again within seconds. Where the shop cannot be read, what waits for that is not bought.
SELECT 'storefront', 'awaits_recheck' AS reason, 'recheck:' || o.source || '/' || o.order_id, NULL, o.source, o.order_id, NULL,
       'awaits_recheck', 'awaits_recheck', o.recheck_problem,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.recheck_since_ms / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM storefront_orders o WHERE o.recheck_since_ms IS NOT NULL AND o.recheck_since_ms NOT BETWEEN unixepoch('subsec') * 1000 - 600000 AND unixepoch('subsec') * 1000
UNION ALL
SELECT 'invalid_file', 'file_refused' AS reason, 'file:' || f.id, NULL, NULL, NULL, NULL, f.state, f.error_code, f.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(f.finished_at_ms, f.claimed_at_ms) / 1000.0, 'unixepoch'), NULL,
       json_object('file', f.name), 1
FROM files f WHERE f.state = 'rejected' AND f.acknowledged_at_ms IS NULL
UNION ALL
SELECT 'delivery', CASE WHEN d.given_up_reason = 'gone_in_shop' THEN 'gone_in_shop' WHEN d.given_up_reason = 'nobody_mailed' THEN 'nobody_mailed'
            ELSE 'result_given_up' END AS reason, 'delivery:' || d.request_id || ':' || d.sink, NULL, r.source, r.order_id, NULL,
       'given_up', 'given_up', d.last_error,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.given_up_at_ms / 1000.0, 'unixepoch'), NULL,
       json_object('sink', d.sink, 'tries', d.tries, 'file', (SELECT name FROM files WHERE number = -d.request_id)), 1
FROM deliveries d LEFT JOIN requests r ON r.id = d.request_id WHERE d.given_up_at_ms IS NOT NULL AND d.acknowledged_at_ms IS NULL
UNION ALL
-- A paid line that was not bought. Where another entry took its place, that one answers for the line.
SELECT e.state, CASE e.state WHEN 'rejected' THEN 'rejected' ELSE 'expired' END AS reason, e.reference, e.reference,
       r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, e.state), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE (e.state = 'rejected' OR e.state = 'expired') AND e.replaced = 0 AND e.taken_back = 0 AND e.acknowledged_at_ms IS NULL
  AND e.error_code IS NOT 'rejected_by_person'
UNION ALL
-- A paid line that an operator found to be bought, and whose units nobody has.
SELECT 'needs_manual_delivery', 'units_missing' AS reason, e.reference, e.reference,
       r.source, r.order_id, l.line_id, e.state, 'needs_manual_delivery', NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.settled_at_ms / 1000.0, 'unixepoch'), NULL,
       json_object('units_missing', e.units_missing, 'quantity', coalesce(e.quantity, 1), 'resolved_by', e.resolved_by,
                   'order_number', e.order_number), 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.units_missing > 0 AND e.replaced = 0 AND e.taken_back = 0 AND e.acknowledged_at_ms IS NULL
UNION ALL
-- What was delivered for a line was shown for another order, too: one of both customers has what the other one paid for.
SELECT 'shown_twice', 'shown_twice' AS reason, e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, 'shown_twice', e.in_question,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.in_question IS NOT NULL AND e.state = 'fulfilled' AND e.acknowledged_at_ms IS NULL
UNION ALL
-- A delivered order whose cost is in no sum.
SELECT 'uncounted_cost', 'uncounted_cost' AS reason, e.reference, e.reference, r.source, r.order_id, l.line_id, e.state, 'uncounted_cost', e.uncounted_cost,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 1
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.uncounted_cost IS NOT NULL AND e.state = 'fulfilled' AND e.acknowledged_at_ms IS NULL
UNION ALL
-- A line that was not accepted, until it comes again corrected: from then on its entry answers for it. The same mistake of the
-- same line in a later file takes its place: that is one thing to do. And what the worker flagged about an order of a shop. A
-- known line with other content (`conflict`) may have come from anywhere.
SELECT CASE WHEN j.file_id IS NULL AND j.line_number IS NULL AND j.code <> 'conflict' THEN 'storefront' ELSE 'invalid_line' END,
       CASE WHEN j.code = 'conflict' THEN 'other_content'
            WHEN j.file_id IS NOT NULL OR j.line_number IS NOT NULL THEN 'line_refused'
            -- About a shop as a whole.
            WHEN j.code = 'webhook_off' THEN 'webhook_off'
            WHEN j.code = 'signature_refused' THEN 'signature_refused'
            WHEN j.code = 'old_sale' THEN 'old_sale'
            WHEN j.code = 'other_shop' THEN 'other_shop'
            WHEN j.code = 'skus_lost' THEN 'skus_lost'
            WHEN j.code LIKE 'unusable_%' THEN 'delivery_unusable'
            WHEN j.code = 'other_worker' THEN 'other_worker'
            WHEN j.code = 'unknown_sku' THEN 'sku_unknown' ELSE 'changed_in_shop' END AS reason,
       'line:' || j.id, NULL, j.source, j.order_id, j.line_id, 'not_accepted', j.code, j.rule,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.created_at_ms / 1000.0, 'unixepoch'), NULL,
       json_object('line_number', j.line_number, 'field', j.field, 'count', CASE WHEN j.order_id IS NULL AND j.file_id IS NULL THEN j.value END), 1
FROM rejections j WHERE j.corrected_at_ms IS NULL AND j.taken_back = 0 AND j.acknowledged_at_ms IS NULL
  AND (j.file_id IS NULL OR NOT EXISTS (SELECT 1 FROM rejections n WHERE n.source = j.source AND n.order_id = j.order_id AND n.line_id = j.line_id
    AND n.code = j.code AND n.code <> 'duplicate_line' AND n.rule = j.rule AND n.file_id <> j.file_id AND n.id > j.id))
UNION ALL
-- Nothing was charged, and the worker tries again; but a customer has waited for an hour.
SELECT 'waiting', 'waits_long' AS reason, e.reference, e.reference,
       r.source, r.order_id, l.line_id, e.state, coalesce(e.error_code, 'waiting'), e.error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at_ms / 1000.0, 'unixepoch'), NULL, NULL, 0
FROM entries e LEFT JOIN lines l ON l.id = e.line_id LEFT JOIN requests r ON r.id = l.request_id
WHERE e.state = 'waiting' AND e.created_at_ms < unixepoch('subsec') * 1000 - 3600000;
