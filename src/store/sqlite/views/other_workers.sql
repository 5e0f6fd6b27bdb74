-- Another worker that buys for a shop is known by the results that it writes into the orders.

-- The shops that nothing is bought for until an operator has acknowledged the other worker.
CREATE VIEW other_workers AS
SELECT source FROM rejections WHERE order_id IS NULL AND file_id IS NULL AND code = 'other_worker' AND acknowledged_at_ms IS NULL;

-- Each line of a shop's order, and where another worker wrote: into the line's own result, or only into other orders of the shop.
CREATE VIEW other_worker_lines AS
SELECT l.id AS line_id, r.source, l.shop_hold,
       CASE WHEN EXISTS (SELECT 1 FROM json_tree(o.other_result) j
              WHERE j.path LIKE '$.lines[%].references' AND json_extract(o.other_result, replace(j.path, 'references', 'line_id')) = l.line_id
                AND json_extract(o.other_result, replace(j.path, 'references', 'state')) NOT IN ('held', 'pending')) THEN 'line'
            WHEN EXISTS (SELECT 1 FROM other_workers w WHERE w.source = r.source) THEN 'shop' END AS other_worker
FROM lines l JOIN requests r ON r.id = l.request_id
LEFT JOIN storefront_orders o ON o.source = r.source AND o.order_id = r.order_id
WHERE json_extract(l.extra, '$.sku') IS NOT NULL;
