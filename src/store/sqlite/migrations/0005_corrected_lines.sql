-- What a rejected line named to buy, where that can be read: by it a line whose id was wrong is found again.
ALTER TABLE rejections ADD COLUMN product TEXT;
-- When the line came again and was accepted.
ALTER TABLE rejections ADD COLUMN corrected_at_ms INTEGER;
UPDATE rejections SET corrected_at_ms = created_at_ms WHERE code <> 'conflict' AND EXISTS (
  SELECT 1 FROM requests r JOIN lines l ON l.request_id = r.id
  WHERE r.source = rejections.source AND r.order_id = rejections.order_id AND l.line_id = rejections.line_id
    AND l.file_id IS NOT rejections.file_id AND l.received_at_ms > rejections.created_at_ms);
CREATE INDEX rejections_to_correct ON rejections (source, order_id, line_id, product) WHERE corrected_at_ms IS NULL;
