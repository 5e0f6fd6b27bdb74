-- 1: a delivery did not say what was refunded, and the order waits for being read back from the shop.
ALTER TABLE storefront_orders ADD COLUMN unread INTEGER NOT NULL DEFAULT 0 CHECK (unread = 0 OR unread = 1);
CREATE INDEX storefront_orders_unread ON storefront_orders (source, seen_at_ms) WHERE unread = 1;
