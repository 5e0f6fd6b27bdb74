-- The newest state of a storefront's order that was ever seen, bought or not. Deliveries of a shop overtake each other:
-- an old "paid" that arrives after a newer "refunded" must buy nothing.
CREATE TABLE storefront_orders (
  source      TEXT NOT NULL CHECK (length(source) BETWEEN 1 AND 64),
  order_id    TEXT NOT NULL CHECK (length(order_id) BETWEEN 1 AND 128),
  -- When the shop last changed it, by the shop's own clock: only ever compared with itself.
  modified_ms INTEGER NOT NULL,
  -- 1: cancelled or refunded as a whole.
  closed      INTEGER NOT NULL CHECK (closed IN (0, 1)),
  seen_at_ms  INTEGER NOT NULL,
  PRIMARY KEY (source, order_id)
) STRICT, WITHOUT ROWID;
