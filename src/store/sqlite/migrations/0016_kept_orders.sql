-- A shop's order as it was read, of which the SKU map did not know some lines: with a corrected map they can be ordered.
-- Only those lines are in it.
ALTER TABLE storefront_orders ADD COLUMN kept_order TEXT;
