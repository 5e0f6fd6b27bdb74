-- By it an order finds those whose source and order id differ from its own in capital letters only: their results must not
-- share a file on a disk that takes them for the same. Most shops number their orders, and cost this index nothing.
CREATE INDEX requests_with_capitals ON requests (lower(source), lower(order_id))
  WHERE source GLOB '*[A-Z]*' OR order_id GLOB '*[A-Z]*';
