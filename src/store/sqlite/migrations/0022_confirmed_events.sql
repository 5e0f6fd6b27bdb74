-- What an endpoint that is told events has confirmed about the order, as JSON: see core/result/result-events.ts.
ALTER TABLE deliveries ADD COLUMN confirmed_events TEXT;
