-- When the newest state of an order was the shop's present one, as far as is known: when it was read there, or when it changed,
-- as a webhook told. What is older than rest.recheck_after_min is read once more before it is bought.
ALTER TABLE storefront_orders ADD COLUMN current_at_ms INTEGER NOT NULL DEFAULT 0;
UPDATE storefront_orders SET current_at_ms = seen_at_ms;

-- Since when a line waits for that, when the order is read next, and why it could not be read; null: nothing waits.
ALTER TABLE storefront_orders ADD COLUMN recheck_since_ms INTEGER;
ALTER TABLE storefront_orders ADD COLUMN recheck_at_ms INTEGER;
ALTER TABLE storefront_orders ADD COLUMN recheck_problem TEXT;
CREATE INDEX storefront_orders_rechecks ON storefront_orders (source, recheck_at_ms) WHERE recheck_since_ms IS NOT NULL;

-- When the entry was due before it began to wait for its order to be read again; null: it does not wait for that.
ALTER TABLE entries ADD COLUMN due_before_recheck_ms INTEGER;
