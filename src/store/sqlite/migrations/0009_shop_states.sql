-- What the newest state of an order says about buying it. Within the same second of the shop, `lines_left` (how many of each
-- line the customer keeps, as JSON; null: not read yet) and the number of refunds tell which of two states is older.
ALTER TABLE storefront_orders ADD COLUMN state TEXT NOT NULL DEFAULT 'paid'
  CHECK (state = 'unpaid' OR state = 'paid' OR state = 'on_hold' OR state = 'unknown_status' OR state = 'closed' OR state = 'deleted');
ALTER TABLE storefront_orders ADD COLUMN refund_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storefront_orders ADD COLUMN lines_left TEXT;
UPDATE storefront_orders SET state = 'closed' WHERE closed = 1;
ALTER TABLE storefront_orders DROP COLUMN closed;

-- Why the state of the shop's order forbids to buy the line now, and whether a person lifted that. Read by every claim.
ALTER TABLE lines ADD COLUMN shop_hold TEXT;
ALTER TABLE lines ADD COLUMN shop_hold_lifted INTEGER NOT NULL DEFAULT 0 CHECK (shop_hold_lifted IN (0, 1));

-- Who held the entry: null for a person, `shop` for the state of its order there, which also releases it.
ALTER TABLE entries ADD COLUMN held_by TEXT CHECK (held_by = 'shop');
