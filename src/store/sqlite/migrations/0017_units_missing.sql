-- How many units of an entry nobody has that a person found to be bought: its customer waits for them.
ALTER TABLE entries ADD COLUMN units_missing INTEGER NOT NULL DEFAULT 0 CHECK (units_missing >= 0);
UPDATE entries SET units_missing = max(0, coalesce(quantity, 1) - coalesce(json_array_length(units), 0))
  WHERE state = 'fulfilled' AND resolved_by IS NOT NULL AND operation IN ('gift_card_order', 'esim_order');
CREATE INDEX entries_to_deliver ON entries (settled_at_ms)
  WHERE units_missing > 0 AND replaced = 0 AND taken_back = 0 AND acknowledged_at_ms IS NULL;
