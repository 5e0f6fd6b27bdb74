-- Bought lines of shops of whose paid order fewer pieces are left now, as long as nobody has decided how many the customer gets:
-- a row for each of their flags that is open, or one without. A line that came in the place of another one counts for that one.
-- While the order waits to be read back, only an open flag of a refund tells that.
CREATE VIEW pieces_in_question AS
SELECT e.reference, l.id AS line_id, CAST(l.extra ->> 'shop_quantity' AS INTEGER) AS bought_pieces, j.id AS flag_id
FROM entries e JOIN lines l ON l.id = e.line_id JOIN requests r ON r.id = l.request_id
  JOIN storefront_orders o ON o.source = r.source AND o.order_id = r.order_id
  LEFT JOIN rejections j ON j.source = r.source AND j.order_id = r.order_id AND j.line_id = l.line_id AND j.file_id IS NULL
    AND j.code IN ('changed_after_purchase', 'refunded_in_storefront') AND j.acknowledged_at_ms IS NULL
WHERE e.state = 'fulfilled' AND e.replaced = 0 AND o.state = 'paid' AND (o.lines_left IS NOT NULL OR j.code = 'refunded_in_storefront')
  AND l.extra ->> 'given_pieces' IS NULL
  AND (SELECT coalesce(max(value), 0) FROM json_each(o.lines_left) WHERE key = l.line_id
    OR key IN (SELECT line_id FROM lines WHERE same_as = l.id)) < CAST(l.extra ->> 'shop_quantity' AS INTEGER);
