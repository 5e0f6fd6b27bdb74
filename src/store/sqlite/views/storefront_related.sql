-- New lines of a shop's order that look like the same purchase as another one: of copies, and of the parts into which plugins of
-- marketplaces split an order, beside the whole one. Each order finds the other by the marks of both, whichever came first. Where
-- one only names the other, and both have payments, these differ: then both are purchases.
-- A line is related when the other order has its SKU or product, too. Of a copy that is no part, every line is: one that came with
-- it is enough.
CREATE VIEW storefront_related AS
WITH related AS (
  SELECT a.source, a.order_id, b.order_id AS other_id,
         'part_of' IN (a.kind, b.kind) OR EXISTS (
           SELECT 1 FROM storefront_marks p WHERE p.source = a.source AND p.order_id = a.order_id AND p.kind = 'part_of') AS is_part,
         l.id, l.line_id, l.received_at_ms, l.extra, o.extra AS other_extra, oe.reference
  FROM storefront_marks a
    JOIN storefront_marks b ON b.source = a.source AND b.value = a.value AND b.order_id <> a.order_id AND (a.kind || b.kind) IN
      ('paymentpayment', 'keykey', 'isnames', 'namesis', 'ispart_of', 'part_ofis')
    JOIN requests r ON r.source = a.source AND r.order_id = a.order_id
    JOIN lines l ON l.request_id = r.id
    JOIN requests q ON q.source = b.source AND q.order_id = b.order_id
    JOIN lines o ON o.request_id = q.id AND o.extra ->> 'sku' IS NOT NULL
    JOIN entries oe ON oe.line_id = o.id AND oe.state NOT IN ('cancelled', 'expired', 'rejected', 'refunded')
  WHERE EXISTS (SELECT 1 FROM entries e WHERE e.line_id = l.id AND e.state = 'pending')
    AND ('names' NOT IN (a.kind, b.kind) OR 2 > (
      SELECT count(DISTINCT p.order_id) FROM storefront_marks p
      WHERE p.source = a.source AND p.kind = 'payment' AND p.order_id IN (a.order_id, b.order_id))))
SELECT source, order_id, other_id, line_id, received_at_ms,
       'it looks like the same purchase as order ' || other_id || ' of the shop, which was ordered under ' || reference
         || ': release it if it is another purchase, cancel it if not' AS why,
       'order ' || order_id || ' of the shop looks like the same purchase: its line ' || line_id || ' is held' AS why_other
FROM related
WHERE EXISTS (
  SELECT 1 FROM lines s JOIN requests r ON r.id = s.request_id
  WHERE (s.id = related.id OR (is_part = 0 AND r.source = related.source AND r.order_id = related.order_id))
    AND s.received_at_ms = related.received_at_ms
    AND (lower(trim(s.extra ->> 'sku')) = lower(trim(other_extra ->> 'sku')) OR s.extra ->> 'shop_product' = other_extra ->> 'shop_product'));
